import LarderJSON
import LarderModel
import LarderNormalize
import Testing

@Suite("The id in the answer to a create (case 16)")
struct CreatedIDTests {
    private static let uuid = "6f1c0a52-0000-4000-8000-0123456789ab"
    private let rules = EntityRules(
        NormalizeRules(
            byType: .standard,
            types: [TypeRule(type: "Todo", url: "/todos/{id}"), TypeRule(type: "User")]
        )
    )

    private func id(
        _ body: String,
        at pointer: String? = nil,
        location: String? = nil
    ) -> CreatedID? {
        let answer = CreatedID.Answer(
            body: Array(body.utf8),
            locationPath: location,
            path: "/todos"
        )
        return CreatedID(ofType: "Todo", in: answer, at: pointer, rules)
    }

    @Test("The value at the pointer counts first, in its JSON type")
    func pointer() {
        let body = #"{"data":{"new":42},"item":{"type":"Todo","id":7}}"#
        let number = id(body, at: "/data/new", location: "/todos/8")
        #expect(number?.key?.text == "Todo:42")
        #expect(number?.value == .number(JSONNumber(42)))
        let text = id(#"{"id":"a b"}"#, at: "/id")
        #expect(text?.key?.text == "Todo:a b")
        #expect(text?.value == .string("a b"))
    }

    @Test("Without a value there, it is the only entity of the type in the answer")
    func entity() {
        let one = #"{"type":"Todo","id":7,"by":{"type":"User","id":1}}"#
        #expect(id(one)?.key?.text == "Todo:7")
        #expect(id(one)?.value == .number(JSONNumber(7)))
        #expect(id(one, at: "/nothing", location: "/todos/8")?.key?.text == "Todo:7")
        let text = id(#"{"type":"Todo","id":"7"}"#)
        #expect(text?.value == .string("7"))
    }

    @Test("Of several entities none counts, and Location does")
    func location() {
        let two = #"[{"type":"Todo","id":7},{"type":"Todo","id":8}]"#
        #expect(id(two) == nil)
        #expect(id(two, location: "/todos/9")?.key?.text == "Todo:9")
        #expect(id("", location: "/todos/9")?.value == .string("9"))
        #expect(id("", location: "/users/9") == nil)
    }

    @Test(
        "An answer without an id tells none",
        arguments: ["", "[]", #"{"id":null}"#, #"{"id":1.5}"#, #"{"id":{}}"#, #"{"id":""}"#]
    )
    func nothing(body: String) {
        #expect(id(body, at: "/id") == nil)
    }

    @Test("A temporary id is no real one")
    func temporary() {
        #expect(id(#"{"id":"tmp:\#(Self.uuid)"}"#, at: "/id") == nil)
    }

    @Test("A thing that is no entity has the URL of Location, and the id at the pointer")
    func thing() throws {
        let url = try WebURL("https://x/things/9")
        let body = Array(#"{"id":9}"#.utf8)
        let answer = CreatedID.Answer(body: body, location: url, path: "/things")
        #expect(CreatedID(ofThingIn: answer, at: nil)?.value == .string(url.text))
        let pointed = CreatedID(ofThingIn: answer, at: "/id")
        #expect(pointed?.url == url)
        #expect(pointed?.value == .number(JSONNumber(9)))
        #expect(CreatedID(ofThingIn: .init(body: body, path: "/things"), at: "/id") == nil)
    }
}
