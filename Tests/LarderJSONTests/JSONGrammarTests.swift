import LarderJSON
import LarderModel
import Testing

/// The kinds of text of Nicolas Seriot's JSONTestSuite: `y_`, `n_`, and those of its `i_` that we
/// have settled.
///
/// https://github.com/nst/JSONTestSuite
@Suite("The JSON grammar")
struct JSONGrammarTests {
    @Test(
        "A text that RFC 8259 describes is accepted",
        arguments: [
            "null", "true", "false", "0", "-0", "1", "-1", "123", "0.5", "-0.0", "1e5", "1E+5",
            "1e-5",
            "123.456e78", "0e1", "0E+1", "1e999", "123123123123123123123123123",
            "[]", "{}", "[[]]", "[{}]", " [1 , 2\t,\r\n3 ] ", "\n\t\r null \n", "[null,1,\"1\",{}]",
            "{\"a\":1}", "{\"\":0}", "{\"a\":{\"b\":[1]}}", "{\"a\":1,\"a\":2}",
            "{\"a\\u0000b\":1}",
            "\"\"", "\"a\"", "\" \"", "\"\u{7F}\"", "\"é\"", "\"\u{20AC}\u{1D11E}\"",
            "\"\u{FFFF}\"",
            "\"\u{2028}\u{2029}\"", "\"\u{FEFF}\"", "\"\u{10FFFF}\"",
            #""\"\\\/\b\f\n\r\t""#, #""\u0000""#, #""\u00e9\u00E9""#, #""\uD834\uDd1e""#,
            #""\uD800""#, #""\uDC00""#, #""\uDC00\uD800""#, #""\uD800\n""#, #""\uD800\u0061""#,
            #""a/b""#, #"["a",0,"b"]"#, "\"eight...sixteen.\"",
        ]
    )
    func accepted(text: String) {
        #expect(JSONValidator.accepts(Array(text.utf8)))
    }

    @Test(
        "A text that RFC 8259 does not describe is refused",
        arguments: [
            "", " ", "\u{FEFF}", " \u{FEFF}null", "\u{FEFF}\u{FEFF}null", "nul", "nulll", "NULL",
            "True", "tru", "truth", "fals", "nil",
            "undefined", "NaN", "Infinity", "-Infinity", "-", "+1", "--1", "01", "-01", "00", "1.",
            ".5", "-.5", "1.e5", "1e", "1e+", "1E-", "1ee2", "1.2.3", "0x1", "1_000", "1 000", "1a",
            "-a", "0e", "0.e1", "2.e3", "1,", "\u{FF11}",
            "[", "]", "[1", "[1,", "[,1]", "[1,]", "[1,,2]", "[1 2]", "[1:2]", "[1}", "[]]", "[[]",
            "[\"a\"", "[a]", "['a']", "[*]", "[\u{0B}]", "[\u{0C}]", "[\u{A0}]", "[\u{2060}]",
            "{", "}", "{]", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}",
            "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\"::1}", "{a:1}", "{'a':1}", "{1:1}", "{null:1}",
            "{[]:1}", "{\"a\":1}}", "{\"a\":1}#", "{\"a\":/**/1}", "{\"a\":1}//", "{\"a\":}",
            "{:1}",
            "\"", "\"a", "\"\\\"", "\"\\", "\"\\x41\"", "\"\\'\"", "\"\\u\"", "\"\\u00\"",
            "\"\\u00G0\"", "\"\\U0041\"", "\"\\u-123\"", "\"\\\u{1F300}\"", "\"\\a\"", "\"\\0\"",
            "\"\n\"", "\"\t\"", "\"\u{0}\"", "\"\u{1F}\"", "\"a\"b", "\"a\" \"b\"", "1 1", "[][]",
            "\u{0}", "[1]\u{0}", "<null>", "# null", "null,", "(1)",
        ]
    )
    func refused(text: String) {
        #expect(!JSONValidator.accepts(Array(text.utf8)))
    }

    @Test(
        "A string that is not UTF-8 is refused",
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80],
            [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xF0, 0x9F, 0x92],
            [0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0xFF], [0xC3, 0xC3, 0xA9],
        ] as [[UInt8]]
    )
    func notUTF8(bytes: [UInt8]) {
        #expect(!JSONValidator.accepts([0x22] + bytes + [0x22]))
        #expect(!JSONValidator.accepts(bytes))
    }

    @Test("Every well-formed scalar is accepted in a string, at every offset within a word")
    func everyScalar() {
        var text: [UInt8] = []
        for value in stride(from: UInt32(0x20), through: 0x10FFFF, by: 7) {
            guard let scalar = Unicode.Scalar(value), scalar != "\"", scalar != "\\" else {
                continue
            }
            text += Array(String(Character(scalar)).utf8)
        }
        for shift in 0..<8 {
            let padding = [UInt8](repeating: 0x20, count: shift)
            #expect(JSONValidator.accepts(padding + [0x22] + text + [0x22]))
        }
    }

    @Test("Each byte at each place of a string is judged the same, in and between whole words")
    func everyByteEverywhere() {
        for length in 1...24 {
            for place in 0..<length {
                for byte in UInt8.min...UInt8.max {
                    var text = [UInt8](repeating: 0x61, count: length)
                    text[place] = byte
                    let plain = byte >= 0x20 && byte < 0x80 && byte != 0x22
                    // A backslash before an a is no escape.
                    let expected = plain && byte != 0x5C
                    let accepted = JSONValidator.accepts([0x22] + text + [0x22])
                    guard accepted == expected else {
                        Issue.record("byte \(byte) at \(place) of \(length): \(accepted)")
                        return
                    }
                }
            }
        }
    }

    @Test("Nesting is taken up to the limit and refused one deeper", arguments: ["[", "{\"a\":"])
    func nesting(opening: String) {
        func nested(_ depth: Int) -> [UInt8] {
            let closing = opening == "[" ? "]" : "}"
            let inner = opening == "[" ? "" : "1"
            return Array(
                (String(repeating: opening, count: depth) + inner
                    + String(repeating: closing, count: depth)).utf8
            )
        }
        let deepest = nested(Limits.jsonDepthMax)
        #expect(JSONValidator.accepts(deepest))
        #expect((try? JSONValue(parsing: deepest)) != nil)
        let deeper = nested(Limits.jsonDepthMax + 1)
        let offset = Limits.jsonDepthMax * opening.utf8.count
        #expect(throws: JSONError.tooDeep(at: offset)) { try JSONValue(parsing: deeper) }
        #expect(!JSONValidator.accepts(deeper))
        let frame = nested(Limits.frameDepthMax)
        #expect((try? JSONValue(parsing: frame, depthMax: Limits.frameDepthMax)) != nil)
    }

    @Test("A text that is cut anywhere is refused")
    func everyCut() {
        let text = Array(
            #" {"a":[1,-0.5e+10,"é\u00e9\n€",true,false,null,{}],"b":{"c":[]}}"#.utf8
        )
        #expect(JSONValidator.accepts(text))
        for end in text.indices {
            #expect(!JSONValidator.accepts(Array(text[..<end])), "cut at \(end)")
        }
    }

    @Test("An error says what is wrong and at which byte")
    func errors() {
        let cases: [(String, JSONError)] = [
            ("", .unexpectedEnd(at: 0)), ("[1,", .unexpectedEnd(at: 3)),
            ("[1 2]", .unexpectedByte(UInt8(ascii: "2"), at: 3)),
            ("nul!", .unexpectedByte(UInt8(ascii: "!"), at: 3)),
            ("{\"a\" 1}", .unexpectedByte(UInt8(ascii: "1"), at: 5)),
            ("\"a\u{1}\"", .controlCharacter(at: 2)), ("\"ab\\x\"", .badEscape(at: 3)),
            ("[01]", .badNumber(at: 1)), ("[1.]", .badNumber(at: 3)), ("-", .unexpectedEnd(at: 1)),
            ("{} x", .trailingBytes(at: 3)),
        ]
        for (text, expected) in cases {
            #expect(throws: expected) { try JSONValue(parsing: Array(text.utf8)) }
            #expect(
                expected.message.hasSuffix("byte \(expected.offset)") || expected.offset == 0
                    || expected.message.contains("at byte \(expected.offset)")
            )
        }
        #expect(throws: JSONError.badUTF8(at: 2)) {
            try JSONValue(parsing: [0x22, 0x61, 0xFF, 0x22])
        }
    }
}
