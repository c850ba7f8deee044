import LarderJSON
import Testing

@Suite("The JSON writer")
struct JSONWriterTests {
    private func written(_ body: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter()
        body(&json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test("Members are written in the order of the calls, compact, with their commas")
    func members() {
        let text = written { json in
            json.object { json in
                json.member("z", 1)
                json.member("a", "x")
                json.member("none", String?.none)
                json.member("flag", true)
                json.member("rate", 0.25)
                json.member("no_rate", Double?.none)
                json.member("list", ["p", "q"])
                json.member("empty", [String]())
                json.member("inner") { $0.member("k", -7) }
                json.name("raw")
                json.verbatim(Array(#"{"b" : 1}"#.utf8))
                json.name("array")
                json.beginArray()
                json.object { _ in }
                json.null()
                json.bool(false)
                json.integer(UInt64.max)
                json.endArray()
                json.member("last", 2)
            }
        }
        #expect(
            text == #"{"z":1,"a":"x","none":null,"flag":true,"rate":0.25,"no_rate":null,"#
                + #""list":["p","q"],"empty":[],"inner":{"k":-7},"raw":{"b" : 1},"#
                + #""array":[{},null,false,18446744073709551615],"last":2}"#
        )
    }

    @Test("Strings are escaped where JSON needs it and nowhere else")
    func escapes() {
        let text = written {
            $0.string("a\"\\/\u{8}\u{9}\u{A}\u{C}\u{D}\u{0}\u{1F}\u{7F}é€\u{1D11E}")
        }
        #expect(text == "\"a\\\"\\\\/\\b\\t\\n\\f\\r\\u0000\\u001f\u{7F}é€\u{1D11E}\"")
    }

    @Test("A number that is not finite is null", arguments: [Double.nan, .infinity, -.infinity])
    func notFinite(number: Double) {
        #expect(written { $0.double(number) } == "null")
    }

    @Test(
        "Doubles read back as they were",
        arguments: [0, 0.1, 1e-7, 1e300, -2.5, 2.2250738585072014e-308, 123_456_789]
    )
    func doubles(number: Double) throws {
        let text = written { $0.double(number) }
        #expect(try JSONValue(parsing: Array(text.utf8)).kindText == "a number")
        #expect(Double(text) == number)
    }

    @Test(
        "Halves of surrogate pairs come back as they were, in names and in strings",
        arguments: [
            #"{"\ud800":1,"\ud801":"\udfff\ud800x"}"#, #"["\ud800\u0041"]"#,
            #"{"\udbfc\udc00":"\udbfd\udfff"}"#,
        ]
    )
    func halves(text: String) throws {
        let value = try JSONValue(parsing: Array(text.utf8))
        #expect(written { $0.value(value) } == text.replacing("\\u0041", with: "A"))
    }

    @Test("A member under half a surrogate pair survives a merge of another one")
    func mergedHalves() throws {
        let base = try JSONValue(parsing: Array(#"{"\ud800":1,"\ud801":2}"#.utf8))
        let patch = try JSONValue(parsing: Array(#"{"\ud800":3}"#.utf8))
        guard case .json(let merged, _) = Effect.merge(patch).applied(to: .json(base)) else {
            Issue.record("the merge gives no JSON")
            return
        }
        #expect(written { $0.value(merged) } == #"{"\ud800":3,"\ud801":2}"#)
    }

    @Test("Every scalar that stands for itself comes back through a string")
    func everyScalar() throws {
        var text = ""
        for value in stride(from: UInt32(0), through: 0x10FFFF, by: 5) {
            // Halves of surrogate pairs: two of them side by side are one scalar.
            guard !(0x10F000..<0x10F800).contains(value) else { continue }
            if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
        }
        let value = try JSONValue(parsing: Array(written { $0.string(text) }.utf8))
        #expect(value == .string(text))
    }
}
