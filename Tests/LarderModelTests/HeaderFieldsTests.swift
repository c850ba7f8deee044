import LarderModel
import Testing

@Suite("Header fields")
struct HeaderFieldsTests {
    @Test("Names compare without case and keep their order")
    func names() {
        var fields = HeaderFields()
        fields.append("Vary", "Accept")
        fields.append("ETag", "\"a\"")
        fields.append("vary", "Origin")
        #expect(fields["VARY"] == "Accept")
        #expect(fields.list("vary") == "Accept, Origin")
        #expect(fields["Age"] == nil)
        #expect(fields.list("Age") == nil)
        #expect(fields.fields.map(\.name) == ["Vary", "ETag", "vary"])
        fields.set("etag", "\"b\"")
        #expect(fields.fields.map(\.value) == ["Accept", "Origin", "\"b\""])
        fields.remove("VARY")
        #expect(fields == HeaderFields([HeaderFields.Field(name: "etag", value: "\"b\"")]))
    }

    @Test("Header fields read back from their lines")
    func lines() {
        var fields = HeaderFields()
        #expect(HeaderFields(lines: fields.lines) == fields)
        fields.append("A", "1")
        fields.append("B", "")
        fields.append("a", "x: y")
        fields.append("Note", "é")
        #expect(fields.lines == "A: 1\nB: \na: x: y\nNote: é\n")
        #expect(HeaderFields(lines: fields.lines) == fields)
        #expect(HeaderFields(lines: "no colon\nA: 1\n").fields.map(\.name) == ["A"])
    }

    @Test(
        "A value comes back byte by byte",
        arguments: ["\u{301}x", " x", "x ", "\t", "a\u{301}:", "\u{2028}", "\u{85}", "e\u{301}"]
    )
    func lineValues(value: String) {
        var fields = HeaderFields()
        fields.append("A", value)
        fields.append("B", value)
        #expect(HeaderFields(lines: fields.lines) == fields)
    }

    @Test(
        "No value can begin another line",
        arguments: ["1\nB: 2", "1\r\nB: 2", "1\rB: 2", "1\n\u{301}B: 2", "\n", "\r\n"]
    )
    func lineBreaks(value: String) {
        var fields = HeaderFields()
        fields.append("A", value)
        let read = HeaderFields(lines: fields.lines)
        #expect(read.fields.map(\.name) == ["A"])
        let spaced = value.utf8.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
        #expect(read["A"].map { Array($0.utf8) } == spaced)
    }

    @Test(
        "The essence of a media type has no parameters, blanks and capitals",
        arguments: [
            ("application/json", "application/json"), ("", ""), (";a", ""),
            (" Application/Merge-Patch+JSON\t; charset=UTF-8; a", "application/merge-patch+json"),
            ("text/html;\u{301}x", "text/html"), ("text/\u{212A}", "text/\u{212A}"),
        ]
    )
    func mediaEssence(type: String, essence: String) {
        #expect(type.mediaEssence == essence)
    }

    @Test("Two fields are the same when their bytes are")
    func equality() {
        func fields(_ value: String) -> HeaderFields {
            HeaderFields([HeaderFields.Field(name: "A", value: value)])
        }
        #expect(fields("x") == fields("x"))
        #expect(fields("\u{E9}") != fields("e\u{301}"))
        #expect(Set([fields("\u{E9}"), fields("e\u{301}"), fields("\u{E9}")]).count == 2)
        // Name and value are hashed apart.
        let pair = HeaderFields.Field(name: "A", value: "BC")
        #expect(pair != HeaderFields.Field(name: "AB", value: "C"))
    }

    @Test("The byte count of header fields has names, values and separators")
    func byteCount() {
        var fields = HeaderFields()
        #expect(fields.byteCount == 0)
        fields.append("A", "é")
        fields.append("BC", "")
        #expect(fields.byteCount == 1 + 2 + 4 + 2 + 4)
    }

    @Test("Only ASCII letters are the same in both cases")
    func caseFolding() {
        #expect("ETag".isEqual(to: "etAG"))
        #expect(!"ETag".isEqual(to: "ETags"))
        #expect(!"É".isEqual(to: "é"))
        #expect(!"@".isEqual(to: "`"))
        #expect(!"[".isEqual(to: "{"))
    }
}
