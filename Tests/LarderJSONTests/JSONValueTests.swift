import LarderJSON
import Testing

@Suite("A JSON value")
struct JSONValueTests {
    private func parse(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }

    @Test("Each kind of value is read")
    func kinds() throws {
        #expect(try parse("null") == .null)
        #expect(try parse("true") == .bool(true))
        #expect(try parse(" 42 ") == .number(JSONNumber(42)))
        #expect(try parse("\"a\"") == .string("a"))
        #expect(try parse("[false,[]]") == .array([.bool(false), .array([])]))
        #expect(
            try parse(#"{"a":1,"b":{}}"#)
                == .object([
                    JSONMember(name: "a", value: .number(JSONNumber(1))),
                    JSONMember(name: "b", value: .object([])),
                ])
        )
    }

    @Test(
        "Escapes become the text that they stand for",
        arguments: [
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041\u00e9\u20AC""#, "Aé€"),
            (#""\uD834\uDD1E!""#, "\u{1D11E}!"), (#""\u0000""#, "\u{0}"),
            (#""\uD800""#, "\u{10F000}"), (#""\uD800x""#, "\u{10F000}x"),
            (#""\uD800\u0041""#, "\u{10F000}A"), (#""\uDC00\uD800""#, "\u{10F400}\u{10F000}"),
            (#""\uD800\uD834\uDD1E""#, "\u{10F000}\u{1D11E}"), (#""é\né""#, "é\né"),
            (#""\uDBFC\uDFFF""#, "\u{10F3FC}\u{10F7FF}"),
            ("\"\u{10F3FF}\"", "\u{10F3FC}\u{10F7FF}"),
            (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
        ]
    )
    func escapes(text: String, expected: String) throws {
        let string = try #require(try parse(text).string)
        #expect(Array(string.utf8) == Array(expected.utf8))
    }

    @Test("Of a name that is there twice the last member counts")
    func duplicates() throws {
        let value = try parse(#"{"a":1,"b":2,"\u0061":3}"#)
        #expect(value["a"]?.integer == 3)
        #expect(value["b"]?.integer == 2)
        #expect(value["c"] == nil)
        #expect(try parse("[1]")["a"] == nil)
    }

    @Test("Names and texts are compared byte by byte, not by Unicode's equivalence")
    func equivalence() throws {
        let value = try parse("{\"e\u{301}\":1,\"\u{E9}\":2}")
        #expect(value["e\u{301}"]?.integer == 1)
        #expect(value["\u{E9}"]?.integer == 2)
        #expect(try parse("\"e\u{301}\"") != parse("\"\u{E9}\""))
    }

    @Test("Numbers keep what was written")
    func numbers() throws {
        #expect(try parse("9223372036854775807").integer == .max)
        #expect(try parse("-9223372036854775808").integer == .min)
        #expect(try parse("9223372036854775808").integer == nil)
        #expect(try parse("1.0").integer == nil)
        #expect(try parse("1e2").integer == nil)
        #expect(try parse("1.0") != parse("1"))
        #expect(try parse("\"1\"").integer == nil)
    }
}
