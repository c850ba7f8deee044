import LarderJSON
import LarderModel
import Testing

@Suite("A JSON pointer")
struct JSONPointerTests {
    @Test(
        "The examples of RFC 6901 lead where it says",
        arguments: [
            ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"),
            ("/c%d", "2"), ("/e^f", "3"), ("/g|h", "4"), (#"/i\j"#, "5"), (#"/k"l"#, "6"),
            ("/ ", "7"), ("/m~0n", "8"),
        ]
    )
    func examples(text: String, expected: String) throws {
        let document = try json(
            #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"#
                + #""m~n":8}"#
        )
        let pointer = try JSONPointer(text)
        #expect(document.value(at: pointer) == (try json(expected)))
        #expect(pointer.text == text)
        #expect(document.value(at: .whole) == document)
    }

    @Test(
        "A text becomes tokens, and they become the text",
        arguments: [
            ("", []), ("/", [""]), ("//", ["", ""]), ("/a/b", ["a", "b"]), ("/~01", ["~1"]),
            ("/~10~00", ["/0~0"]), ("/é/€", ["é", "€"]), ("/a/", ["a", ""]),
        ]
    )
    func tokens(text: String, tokens: [String]) throws {
        #expect(try JSONPointer(text).tokens == tokens)
        #expect(JSONPointer(tokens: tokens).text == text)
    }

    @Test(
        "A text that is no pointer is refused",
        arguments: [
            ("a", .noSlash), ("#/a", .noSlash), (" /a", .noSlash), ("/~", .badEscape),
            ("/a~2", .badEscape), ("/~/a", .badEscape), ("/~~0", .badEscape),
        ] as [(String, JSONPointerError)]
    )
    func refused(text: String, error: JSONPointerError) {
        #expect(throws: error) { try JSONPointer(text) }
    }

    @Test("A pointer is taken up to the limits and refused beyond them")
    func limits() throws {
        let deepest = String(repeating: "/", count: Limits.jsonDepthMax)
        #expect(try JSONPointer(deepest).tokens.count == Limits.jsonDepthMax)
        #expect(throws: JSONPointerError.tooDeep) { try JSONPointer(deepest + "/") }
        let longest = "/" + String(repeating: "a", count: Limits.jsonPointerBytesMax - 1)
        #expect(try JSONPointer(longest).text == longest)
        #expect(throws: JSONPointerError.tooLong) { try JSONPointer(longest + "a") }
    }

    @Test(
        "An index is digits without a leading zero",
        arguments: [
            ("0", 0), ("7", 7), ("10", 10), ("00", nil), ("01", nil), ("-", nil), ("-1", nil),
            ("+1", nil), ("1.0", nil), ("1e0", nil), ("", nil), (" 1", nil), ("\u{FF11}", nil),
            ("99999999999999999999", nil),
        ] as [(String, Int?)]
    )
    func index(token: String, index: Int?) {
        #expect(JSONPointer.index(token) == index)
    }

    @Test("The meaning of a token depends on the value that it is applied to")
    func meaning() throws {
        let document = try json(#"{"0":"member","list":["element"],"a":1,"a":2,"text":"t"}"#)
        func text(_ pointer: String) throws -> String? {
            document.value(at: try JSONPointer(pointer))?.text
        }
        #expect(try text("/0") == #""member""#)
        #expect(try text("/list/0") == #""element""#)
        #expect(try text("/list/1") == nil)
        #expect(try text("/list/-") == nil)
        #expect(try text("/list/00") == nil)
        #expect(try text("/list/length") == nil)
        #expect(try text("/a") == "2")
        #expect(try text("/text/0") == nil)
        #expect(try text("/none") == nil)
    }

    @Test("Pointers compare by their bytes, and know what lies within them")
    func comparison() throws {
        #expect(try JSONPointer("/é") != JSONPointer("/e\u{301}"))
        #expect(try Set([JSONPointer("/a/b"), JSONPointer("/a/b"), JSONPointer("/ab")]).count == 2)
        let parent = try JSONPointer("/a")
        #expect(JSONPointer.whole.isAbove(parent))
        #expect(parent.isAbove(parent.appending("b")))
        #expect(!parent.isAbove(parent))
        #expect(!parent.isAbove(try JSONPointer("/ab")))
    }
}
