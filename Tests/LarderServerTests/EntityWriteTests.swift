import LarderAPI
import LarderEngine
import LarderJSON
import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

/// Modifiers of an entity by its key, over a scripted upstream, with a clock that stands still.
@Suite("Writes to entities over the socket", .timeLimit(.minutes(5)))
struct EntityWriteTests {
    private static let user = #"{"type":"User","id":7,"name":"Ada"}"#
    private static let own = "https://people.example.com/users/7"

    /// A daemon with an origin `people`, whose users have URLs of their own, beside `example`.
    private func run(
        _ rules: NormalizeRules.TypeMembers? = nil,
        _ body: (ServerFixture, RawClient) async throws -> Void
    ) async throws {
        try await ServerFixture.run(rules: rules) { server in
            var people = OriginSettings(
                name: try OriginName("people"),
                baseURL: try WebURL("https://people.example.com")
            )
            people.normalize = NormalizeRules(
                byType: .standard,
                types: [TypeRule(type: "User", url: "/users/{id}")]
            )
            _ = try await server.engine.origins.add(OriginCommand(people))
            try await body(server, try await server.connect())
        }
    }

    private func write(
        _ client: RawClient,
        to target: String,
        _ effect: String = #"{"type":"merge","value":{"name":"Countess"}}"#,
        id: String? = nil
    ) async throws -> RawResponse {
        let name = id.map { #""id":"\#($0)","# } ?? ""
        let json = #"{\#(name)"changes":[{"target":\#(target),"effect":\#(effect)}]}"#
        return try await client.ask("POST", "/v1/modifiers", body: Array(json.utf8))
    }

    @Test("A write by key shows, goes to the entity's URL, and is reverted if refused (case 28)")
    func life() async throws {
        try await run { server, client in
            let path = "/v1/entries/entity:people/User:7"
            _ = try await client.ask("PUT", path, body: Array(Self.user.utf8))
            let gate = Gate()
            server.upstream.answer(
                try WebURL(Self.own),
                with: .json(#"{"no":"no"}"#, status: 403).held(by: gate)
            )
            let accepted = try await write(
                client,
                to: #"{"id":"entity:people/User:7"}"#,
                id: "rename"
            )
            #expect(accepted.status == 202)
            #expect(accepted.headers["Location"] == "/v1/modifiers/rename")
            let shown = try await client.ask("GET", path)
            #expect(shown.text == #"{"type":"User","id":7,"name":"Countess"}"#)
            #expect(shown.headers["Larder-Pending"] == "1")
            #expect(shown.headers["Larder-Pending-Ids"] == "rename")
            #expect(try await client.ask("GET", path + "?show=base").text == Self.user)

            let sent = try await server.upstream.asked.element(0)
            #expect(sent.method == "PATCH")
            #expect(sent.url.text == Self.own)
            #expect(sent.body == Array(#"{"name":"Countess"}"#.utf8))
            #expect(sent.headers["Content-Type"] == "application/merge-patch+json")
            let lane = "/v1/modifiers?lane=\(PercentCoding.encode("id:entity:people/User:7"))"
            let listed: Page<ModifierReport> = try await client.ask("GET", lane).value()
            #expect(listed.items.map(\.id) == ["rename"])
            #expect(listed.items.first?.targets.map(\.id) == ["entity:people/User:7"])
            gate.open()
            let id = try ModifierID("rename")
            let settled = try await server.engine.modifiers.modifier(
                id,
                server.scope,
                wait: .seconds(3_600)
            )
            #expect(settled.state == .failed)
            #expect(settled.reason == .refused)
            let after = try await client.ask("GET", path)
            #expect(after.text == Self.user)
            #expect(after.headers["Larder-Pending"] == "0")
            #expect(after.headers["Larder-Failed"] == "1")
        }
    }

    @Test("The same write is one, another of its id is refused")
    func again() async throws {
        try await run { server, client in
            // Nothing is scripted, so it waits.
            for _ in 0..<2 {
                let target = #"{"id":"entity:people/User:7"}"#
                let answer = try await write(client, to: target, id: "rename")
                #expect(answer.status == 202)
            }
            let target = #"{"id":"entity:people/User:8"}"#
            let other = try await write(client, to: target, id: "rename")
            #expect(try other.problem().kind == .modifierExists)
            let all = try await client.ask("GET", "/v1/modifiers")
            #expect(try all.value(Page<ModifierReport>.self).items.count == 1)
        }
    }

    @Test("An entity's origin has to be there, and a write to it to have a URL")
    func refused() async throws {
        let delete = #"{"type":"delete"}"#
        try await run(.standard) { server, client in
            for (target, effect, status, kind) in [
                (#"{"id":"entity:none/User:7"}"#, delete, 404, ProblemKind.noSuchOrigin),
                (#"{"id":"entity:example/User:7"}"#, delete, 422, .noRequest),
                (#"{"id":"entity:people/Article:7"}"#, delete, 422, .noRequest),
                (
                    #"{"id":"entity:people/User:7"}"#, #"{"type":"put","value":"A"}"#, 422,
                    .badRequest
                ),
            ] {
                let answer = try await write(client, to: target, effect)
                #expect(answer.status == status, "\(target)")
                #expect(try answer.problem().kind == kind, "\(target)")
            }
            let all = try await client.ask("GET", "/v1/modifiers")
            #expect(try all.value(Page<ModifierReport>.self).items.isEmpty)
        }
    }
}
