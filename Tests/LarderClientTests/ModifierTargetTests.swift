import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Writes to entities through the client", .timeLimit(.minutes(5)))
struct ModifierTargetTests {
    private static func sent(_ modifier: Modifier) async throws -> LarderWire.ModifiersCommand {
        var command: LarderWire.ModifiersCommand?
        try await withDaemon { daemon, client in
            let receipt = try ModifierWriteTests.receipt()
            daemon.answer("/v1/modifiers", with: .reply(202, body: receipt.encodedJSON()))
            try await client.write(modifier)
            command = try LarderWire.ModifiersCommand(
                json: try #require(daemon.requests.all.first).body
            )
        }
        return try #require(command)
    }

    @Test("An entity travels by its id")
    func entity() async throws {
        let id = LarderClient.entityID("User:a/b", of: "example")
        let command = try await Self.sent(Modifier(.merge(["name": "Ada"]), on: id)).modifiers[0]
        #expect(command.changes.map(\.target.description) == ["entity:example/User:a%2Fb"])
        #expect(command.request.method == "PATCH")
        #expect(command.request.url == nil)
        #expect(command.request.body == .bytes(Array(#"{"name":"Ada"}"#.utf8)))
    }

    @Test("A single modifier changes an entry and entities, and has the given request")
    func several() async throws {
        let ids = [ModifierWriteTests.url, "entity:example/User:7", "entity:other/User:8"]
        let like = Modifier(
            changes: [
                .init(.add(["/likes": 1]), on: ids[0]), .init(.add(["/given": 1]), on: ids[1]),
                .init(.set(["/a": 1]), on: ids[2]),
            ],
            request: .init("POST", ModifierWriteTests.url + "/likes")
        )
        let command = try await Self.sent(like).modifiers[0]
        #expect(command.changes.map(\.target.description) == ids)
        #expect(command.request.url?.text == ModifierWriteTests.url + "/likes")
    }

    @Test("The modifiers of an entity are listed by its lane")
    func list() async throws {
        try await withDaemon { daemon, client in
            let page = Page(items: [ModifierQueueTests.report("a")])
            daemon.answer(
                "/v1/modifiers?lane=id%3Aentity%3Aexample%2FUser%3A7&limit=1000",
                with: .reply(200, body: ModifierQueueTests.body(page))
            )
            var ids: [String] = []
            for try await modifier in client.modifiers(lane: "id:entity:example/User:7") {
                ids.append(modifier.id)
            }
            #expect(ids == ["a"])
        }
    }
}
