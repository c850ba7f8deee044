import LarderJSON
import LarderModel
import Testing

@Suite("Real ids in place of temporary ones (case 16)")
struct IDReplacementTests {
    private static let uuid = "6f1c0a52-0000-4000-8000-0123456789ab"
    private static let name = "tmp:\(uuid)"

    private func replacement(_ value: JSONValue) throws -> IDReplacement {
        IDReplacement([try #require(TemporaryID(Self.name)): value])
    }

    @Test("A string that is only the name becomes the id in its JSON type, others get its text")
    func json() throws {
        let text = """
            {"id":"\(Self.name)","list":["{{id:\(Self.name)}}","see {{id:\(Self.name)}}!"],\
            "\(Self.name)":"tmp:1"}
            """
        let number = try replacement(.number(JSONNumber(42)))
        let made = String(decoding: number.replaced(inJSON: Array(text.utf8)), as: UTF8.self)
        #expect(made == #"{"id":42,"list":[42,"see 42!"],"42":"tmp:1"}"#)
        let string = try replacement(.string("a/b"))
        let other = String(decoding: string.replaced(inJSON: Array(text.utf8)), as: UTF8.self)
        #expect(other == #"{"id":"a/b","list":["a/b","see a/b!"],"a/b":"tmp:1"}"#)
    }

    @Test("A name behind an escape of JSON is found, too")
    func escaped() throws {
        let bytes = Array(#"{"id":"tmp\u003a\#(Self.uuid)"}"#.utf8)
        #expect(IDReplacement.names(inJSON: bytes).map(\.text) == [Self.name])
        let made = try replacement(.number(JSONNumber(7))).replaced(inJSON: bytes)
        #expect(String(decoding: made, as: UTF8.self) == #"{"id":7}"#)
    }

    @Test(
        "In a URL the id is percent-encoded",
        arguments: [
            "tmp:\(uuid)", "tmp%3A\(uuid)", "{{id:tmp:\(uuid)}}", "%7B%7Bid:tmp:\(uuid)%7D%7D",
        ]
    )
    func url(name: String) throws {
        let url = try WebURL("https://x/todos/\(name)/tags?of=\(name)")
        let made = try replacement(.string("a/b c")).replaced(in: url)
        #expect(made?.text == "https://x/todos/a%2Fb%20c/tags?of=a%2Fb%20c")
    }

    @Test("The marked name alone after the base URL becomes the address of a thing")
    func address() throws {
        var replacement = try replacement(.string("9"))
        let name = try #require(TemporaryID(Self.name))
        replacement.addresses[name] = try WebURL("https://x/api/things/9")
        let whole = try WebURL("https://x/api/{{id:\(Self.name)}}")
        #expect(replacement.replaced(in: whole)?.text == "https://x/api/things/9")
        let part = try WebURL("https://x/api/{{id:\(Self.name)}}/tags")
        #expect(replacement.replaced(in: part)?.text == "https://x/api/9/tags")
    }

    @Test("The effects of a modifier get the real id")
    func effect() throws {
        let text = #"{"type":"list_add","value":{"/items":[{"id":"\#(Self.name)","n":1.50}]}}"#
        let effect = try Effect(parsing: Array(text.utf8))
        let made = try replacement(.number(JSONNumber(42))).replaced(in: effect)
        let expected = #"{"type":"list_add","value":{"/items":[{"id":42,"n":1.50}]}}"#
        #expect(String(decoding: made.bytes, as: UTF8.self) == expected)
    }

    @Test(
        "In a JSON pointer an id is part of one token, also where it has a slash or a tilde",
        arguments: [
            (
                #"{"type":"set","value":{"set":{"/done/NAME":true},"unset":["/open/NAME"]}}"#,
                #"{"type":"set","value":{"set":{"/done/a~1b~0":true},"unset":["/open/a~1b~0"]}}"#
            ),
            (
                #"{"type":"add","value":{"/votes/{{id:NAME}}/up":1}}"#,
                #"{"type":"add","value":{"/votes/a~1b~0/up":1}}"#
            ),
            (
                #"{"type":"list_add","value":{"/of/NAME":["NAME"]}}"#,
                #"{"type":"list_add","value":{"/of/a~1b~0":["a/b~"]}}"#
            ),
            (
                #"{"type":"merge","value":{"/NAME":"/NAME"}}"#,
                #"{"type":"merge","value":{"/a/b~":"/a/b~"}}"#
            ),
        ]
    )
    func pointers(text: String, expected: String) throws {
        let named = text.replacing("NAME", with: Self.name)
        let effect = try Effect(parsing: Array(named.utf8))
        let made = try replacement(.string("a/b~")).replaced(in: effect)
        #expect(String(decoding: made.bytes, as: UTF8.self) == expected)
    }

    @Test("The pointers of a JSON Patch get the id as a part of one token, in a body, too")
    func patches() throws {
        let text = """
            [{"op":"move","from":"/a/NAME","path":"/b/NAME"},\
            {"op":"add","path":"/c","value":{"path":"/NAME"}}]
            """
        let expected = """
            [{"op":"move","from":"/a/x~1y","path":"/b/x~1y"},\
            {"op":"add","path":"/c","value":{"path":"/x/y"}}]
            """
        let body = text.replacing("NAME", with: Self.name)
        let replacement = try replacement(.string("x/y"))
        let made = replacement.replaced(inJSON: Array(body.utf8), isPatch: true)
        #expect(String(decoding: made, as: UTF8.self) == expected)
        let effect = try Effect(parsing: Array(#"{"type":"patch","value":\#(body)}"#.utf8))
        let renamed = String(decoding: replacement.replaced(in: effect).bytes, as: UTF8.self)
        #expect(renamed == #"{"type":"patch","value":\#(expected)}"#)
    }
}
