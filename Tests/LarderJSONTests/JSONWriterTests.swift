import LarderJSON
import Testing

@Suite("The JSON writer")
struct JSONWriterTests {
    private func written(_ body: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter()
        body(&json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test("Members stand in the order of the calls, compact, with their commas")
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
        let value = try JSONValue(parsing: Array(written { $0.double(number) }.utf8))
        #expect(value.double == number)
    }

    @Test("Every scalar comes back through a string")
    func everyScalar() throws {
        var text = ""
        for value in stride(from: UInt32(0), through: 0x10FFFF, by: 5) {
            if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
        }
        let value = try JSONValue(parsing: Array(written { $0.string(text) }.utf8))
        #expect(value == .string(text))
    }

    @Test("A writer goes on behind given bytes")
    func appending() {
        var json = JSONWriter(appendingTo: Array("data: ".utf8))
        json.integer(1)
        #expect(json.bytes == Array("data: 1".utf8))
    }
}
