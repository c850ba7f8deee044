import LarderJSON
import LarderModel
import LarderWire
import Testing

@Suite("Targets of a modifier's changes")
struct ModifierTargetTests {
    private static func command(_ json: String) throws(Problem) -> ModifierCommand {
        try ModifiersCommand(json: Array(json.utf8)).modifiers[0]
    }

    private static func json(
        _ target: String,
        _ effect: String = #"{"type":"merge","value":{"name":"Ada"}}"#,
        _ rest: String = ""
    ) -> String {
        #"{"changes":[{"target":\#(target),"effect":\#(effect)}]\#(rest)}"#
    }

    private static let user = #"{"id":"entity:example/User:7"}"#

    @Test("A target is named by its id, and written in its one spelling")
    func targets() throws {
        for (id, spelling) in [
            ("entity:example/User:7", "entity:example/User:7"),
            ("entity:example/User:a/b", "entity:example/User:a%2Fb"),
            ("entity:example/Book:tmp:1", "entity:example/Book:tmp:1"),
            ("HTTPS://A.example:443/1", "https://a.example/1"),
        ] {
            let command = try Self.command(Self.json(#"{"id":"\#(id)"}"#))
            #expect(command.changes.map(\.target.description) == [spelling])
            let text = String(decoding: command.encodedJSON(), as: UTF8.self)
            #expect(text.contains(#""target":{"id":"\#(spelling)"},"#), "\(text)")
            #expect(try Self.command(text) == command)
        }
    }

    @Test(
        "The request of an entity's change is derived, except for the URL",
        arguments: [
            (#"{"type":"put","value":{"a":1.50}}"#, "PUT", "application/json", #"{"a":1.50}"#),
            (
                #"{"type":"merge","value":{"name":null}}"#, "PATCH",
                "application/merge-patch+json", #"{"name":null}"#
            ),
            (
                #"{"type":"patch","value":[{"op":"remove","path":"/a"}]}"#, "PATCH",
                "application/json-patch+json", #"[{"op":"remove","path":"/a"}]"#
            ),
            (#"{"type":"delete"}"#, "DELETE", nil, nil),
        ] as [(String, String, String?, String?)]
    )
    func derived(effect: String, method: String, type: String?, body: String?) throws {
        let command = try Self.command(Self.json(Self.user, effect))
        #expect(command.request.method == method)
        #expect(command.request.url == nil)
        #expect(command.request.headers["Content-Type"] == type)
        #expect(command.request.body == (body.map { .bytes(Array($0.utf8)) } ?? .none))
        #expect(!String(decoding: command.encodedJSON(), as: UTF8.self).contains("request"))
        #expect(try Self.command(String(decoding: command.encodedJSON(), as: UTF8.self)) == command)
    }

    @Test("A request that is given is kept, whatever the effect is")
    func given() throws {
        let rest = #","request":{"method":"POST","url":"https://api.example.com/users/7/seen"}"#
        let effect = #"{"type":"add","value":{"/seen":1}}"#
        let command = try Self.command(Self.json(Self.user, effect, rest))
        #expect(command.request.method == "POST")
        #expect(command.request.url?.text == "https://api.example.com/users/7/seen")
        #expect(try Self.command(String(decoding: command.encodedJSON(), as: UTF8.self)) == command)
    }

    @Test(
        "Of an entity, too, only a single put, merge, patch or delete says what to send",
        arguments: [
            json(user, #"{"type":"set","value":{"set":{"/a":1}}}"#),
            json(user, #"{"type":"add","value":{"/a":1}}"#),
            json(user, #"{"type":"list_add","value":{"/a":[1]}}"#),
            json(user, #"{"type":"none"}"#),
            #"{"changes":[{"target":\#(user),"effect":{"type":"delete"}},"#
                + #"{"target":{"id":"entity:example/User:8"},"effect":{"type":"delete"}}]}"#,
        ]
    )
    func noRequest(json: String) {
        expect(json, .noRequest, 422, "no request")
    }

    @Test(
        "A target that is a name says that it is not a URL if the modifier has no request",
        arguments: ["notes/1", "Todo:2"]
    )
    func nameWithoutRequest(name: String) {
        let target = #"{"id":"\#(name)"}"#
        for effect in [#"{"type":"delete"}"#, #"{"type":"add","value":{"/a":1}}"#] {
            expect(Self.json(target, effect), .noRequest, 422, "'\(name)' is a name and not a URL")
        }
    }

    @Test(
        "A value that is not a target is refused with its name and place",
        arguments: [
            (#"{}"#, .badRequest, "id"), (#"{"id":7}"#, .badRequest, "target.id"),
            (#"{"id":""}"#, .badID, "empty"),
            (#"{"id":"entity:User:7"}"#, .badID, "'entity:User:7'"),
            (#"{"id":"entity:example/User:%zz"}"#, .badID, "%zz"),
            (#"{"key":"User:7"}"#, .unknownMember, "key"),
            (#"{"id":"notes/1","origin":"example"}"#, .unknownMember, "origin"),
        ] as [(String, ProblemKind, String)]
    )
    func badTargets(target: String, kind: ProblemKind, part: String) {
        expect(Self.json(target), kind, 400, part)
        expect(Self.json(target), kind, 400, "changes[0]")
    }

    @Test(
        "An entity does not become what is no object",
        arguments: ["put", "merge"],
        ["null", "1", #""Ada""#, "[]", "true"]
    )
    func misfits(type: String, value: String) {
        let effect = #"{"type":"\#(type)","value":\#(value)}"#
        expect(
            Self.json(Self.user, effect),
            .badRequest,
            422,
            "'entity:example/User:7' is an entity"
        )
        // An entry's body may be anything.
        let ofEntry = Self.json(#"{"id":"https://a.example/1"}"#, effect)
        #expect(throws: Never.self) { try Self.command(ofEntry) }
    }

    @Test("An entity in two changes is refused, and the same key of another origin is not")
    func twice() throws {
        func json(_ second: String) -> String {
            let delete = #""effect":{"type":"delete"}"#
            let request = #"{"method":"POST","url":"https://a.example/"}"#
            return #"{"changes":[{"target":\#(Self.user),\#(delete)},"#
                + #"{"target":\#(second),\#(delete)}],"request":\#(request)}"#
        }
        expect(json(Self.user), .badRequest, 400, "twice")
        #expect(try Self.command(json(#"{"id":"entity:other/User:7"}"#)).changes.count == 2)
    }

    private func expect(_ json: String, _ kind: ProblemKind, _ status: Int, _ part: String) {
        do throws(Problem) {
            _ = try Self.command(json)
            Issue.record("it was taken: \(json)")
        } catch {
            #expect(error.kind == kind)
            #expect(error.status == status)
            #expect(error.detail.contains(part), "\(error.detail)")
        }
    }
}
