import LarderJSON
import LarderModel
import LarderNormalize
import Testing

@Suite("Entities as effects and URLs see them")
struct EntityValueTests {
    private func body(_ text: String, _ key: String = "A:1") throws -> EntityBody {
        var store = try PlainStore()
        _ = try store.put(text)
        guard case .present(let body, _) = try store.held(EntityKey(key)) else {
            throw PlainStore.Unsplit()
        }
        return body
    }

    private func text(_ body: EntityBody, key: String = "A:1") throws -> String {
        let rebuilder = Rebuilder(EntityRules(NormalizeRules()), bytesMax: 1 << 20)
        let held = HeldEntity.present(body, EntityStamp(version: nil, fetch: 1))
        let outcome = try rebuilder.show(EntityKey(key)) { _ in held }
        guard case .shown(let answer) = outcome else { throw PlainStore.Unsplit() }
        return String(decoding: answer.bytes, as: UTF8.self)
    }

    @Test("A view of an entity keeps the bytes of what no effect changed, and its references")
    func view() throws {
        let base = try body(
            #"{"type":"A","id":1,"n":1.0,"l":[ {"type":"B","id":1} ],"x":"\ud800","\ud801":2}"#
        )
        let effects = [
            try Effect(parsing: Array(#"{"type":"merge","value":{"liked":true,"n":1}}"#.utf8)),
            try Effect(parsing: Array(#"{"type":"add","value":{"/id":1}}"#.utf8)),
        ]
        let entity = try #require(EntityValue(base, effects))
        guard case .json(let value) = View.of(.json(entity.value), effects).content else {
            Issue.record("no effect shows")
            return
        }
        let view = try #require(entity.body(value))
        #expect(
            try text(view)
                == #"{"type":"A","id":2,"n":1.0,"l":[ "B:1" ],"x":"\ud800","\ud801":2,"liked":true}"#
        )
        #expect(view.references.map(\.key.text) == ["B:1"])
        #expect(try EntityBody(view.bytes).memberNames == view.memberNames)
        #expect(entity.body(entity.value)?.bytes == base.bytes)
        #expect(entity.body(.array([])) == nil)
    }

    @Test("A list with references can be changed, and nothing of a server's is taken for one")
    func references() throws {
        let base = try body(
            #"{"type":"A","id":1,"l":[{"type":"B","id":1},{"\uffff":"B:2"},{"\uFFFF\uffff":1}]}"#
        )
        let effect = try Effect(parsing: Array(#"{"type":"list_add","value":{"/l":[7]}}"#.utf8))
        let entity = try #require(EntityValue(base, [effect]))
        guard case .json(let value) = View.of(.json(entity.value), [effect]).content else {
            Issue.record("the effect does not show")
            return
        }
        let view = try #require(entity.body(value))
        #expect(view.references.map(\.key.text) == ["B:1"])
        #expect(
            try text(view)
                == "{\"type\":\"A\",\"id\":1,\"l\":[\"B:1\",{\"\u{FFFF}\":\"B:2\"},{\"\u{FFFF}\u{FFFF}\":1},7]}"
        )
    }

    /// What an entity is by an effect.
    private func view(_ text: String, _ effect: String) throws -> EntityBody {
        let effect = try Effect(parsing: Array(effect.utf8))
        let entity = try #require(EntityValue(try body(text), [effect]))
        guard case .json(let value) = View.of(.json(entity.value), [effect]).content else {
            throw PlainStore.Unsplit()
        }
        return try #require(entity.body(value))
    }

    @Test("A merge into a reference is done to another entity, and the reference stays")
    func mergeIntoReference() throws {
        let view = try view(
            #"{"type":"A","id":1,"by":{"type":"U","id":1}}"#,
            #"{"type":"merge","value":{"by":{"name":"N"}}}"#
        )
        #expect(try text(view) == #"{"type":"A","id":1,"by":"U:1"}"#)
        #expect(view.references.map(\.key.text) == ["U:1"])
        let held = HeldEntity.present(view, EntityStamp(version: nil, fetch: 1))
        for (value, isTaken) in [(#"{"name":"N"}"#, false), ("null", true), ("1", true)] {
            let effect = #"{"type":"merge","value":{"by":\#(value)}}"#
            #expect(held.takes(try Effect(parsing: Array(effect.utf8))) == isTaken)
        }
    }

    @Test("Content of an effect is never read as a reference, whatever names it has")
    func forgedReference() throws {
        for name in ["\u{FFFF}", "\u{FFFF}0", "\u{FFFF}1", "\u{FFFF}01"] {
            let view = try view(
                #"{"type":"A","id":1,"\uffff0":2,"by":{"type":"U","id":1}}"#,
                #"{"type":"set","value":{"set":{"/x":{"\#(name)":"B:2"}}}}"#
            )
            #expect(view.references.map(\.key.text) == ["U:1"])
            #expect(try text(view).contains(#""x":{"\#(name)":"B:2"}"#))
        }
    }

    @Test("An entity with a long name of marks is no larger as a value")
    func longMarks() throws {
        let name = String(repeating: "\u{FFFF}", count: 10_000)
        let list = Array(repeating: #"{"type":"B","id":1}"#, count: 1_000).joined(separator: ",")
        let entity = try #require(
            EntityValue(try body(#"{"type":"A","id":1,"\#(name)":1,"l":[\#(list)]}"#), [])
        )
        var json = JSONWriter()
        json.value(entity.value)
        #expect(json.bytes.count < 100_000)
        #expect(entity.body(entity.value)?.references.map(\.key.text) == ["B:1"])
    }

    @Test("Members that a value cannot tell apart are not lost: no effect is applied")
    func surrogateNames() throws {
        let base = try body(#"{"type":"A","id":1,"\ud800":1,"\ud801":2}"#)
        #expect(EntityValue(base, []).map(\.value) == nil)
    }

    @Test("An entity's own URL leads to its key, and back")
    func urls() throws {
        let rules = NormalizeRules(
            byType: .standard,
            types: [
                TypeRule(type: "Book", key: EntityKeyRule([.member("isbn")]), url: "/b/{isbn}"),
                TypeRule(type: "Tag", url: "/tags/{id}"),
                TypeRule(
                    type: "Seat",
                    key: EntityKeyRule([.member("row"), .member("no")]),
                    url: "/seats/{no}/{row}"
                ),
                TypeRule(type: "Me", key: EntityKeyRule([]), url: "/me"),
                TypeRule(type: "Plain"),
                TypeRule(type: "Café", url: "/cafés/{id}"),
            ]
        )
        try rules.validate()
        let compiled = EntityRules(rules)
        for (path, key) in [
            ("/caf%C3%A9s/1", "Café:1"), ("/tags/...", "Tag:..."),
            ("/b/1%2F2", "Book:1%2F2"), ("/tags/%C3%A9", "Tag:é"), ("/me", "Me:{}"),
            ("/seats/7/A", #"Seat:{"row"%3A"A","no"%3A7}"#),
            ("/seats/7/%0A%09%22", #"Seat:{"row"%3A"\n\t\"","no"%3A7}"#),
        ] {
            #expect(compiled.key(ofPath: path)?.text == key)
            #expect(compiled.path(of: try EntityKey(key)) == path)
        }
        #expect(compiled.key(ofPath: "/b") == nil)
        #expect(compiled.key(ofPath: "/b/") == nil)
        for key in [
            "Tag:.", "Tag:..", #"Seat:{"row"%3A"..","no"%3A7}"#, #"Seat:{"row"%3A"","no"%3A7}"#,
        ] {
            #expect(compiled.path(of: try EntityKey(key)) == nil)
        }
        #expect(compiled.path(of: try EntityKey("Plain:1")) == nil)
        #expect(compiled.path(of: try EntityKey("Seat:1")) == nil)
        // It is the key that an answer's object has.
        let splitter = Splitter(compiled)
        for (row, segment) in [
            ("A", "A"), (#"\u0008\t\n\f\r\u0001\"/"#, "%08%09%0A%0C%0D%01%22%2F"),
        ] {
            let seat = Array(#"{"type":"Seat","no":"7","row":"\#(row)"}"#.utf8)
            guard case .split(let split) = splitter.split(seat, path: "/") else {
                Issue.record("it is whole")
                return
            }
            #expect(split.keys == [compiled.key(ofPath: "/seats/7/\(segment)")])
        }
    }
}
