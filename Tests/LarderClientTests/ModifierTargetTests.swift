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

    @Test(
        "An entity travels by its key, with or without an origin",
        arguments: [nil, "example"] as [String?]
    )
    func key(origin: String?) async throws {
        let rename = Modifier(.merge(["name": "Ada"]), onEntity: "User:a/b", origin: origin)
        let command = try await Self.sent(rename).modifiers[0]
        let named = LarderWire.ModifierCommand.Target.key(
            try EntityKey("User:a%2Fb"),
            origin: try origin.map { try OriginName($0) }
        )
        #expect(command.changes.map(\.target) == [named])
        #expect(command.request.method == "PATCH")
        #expect(command.request.url == nil)
        #expect(command.request.body == .bytes(Array(#"{"name":"Ada"}"#.utf8)))
    }

    @Test("One modifier changes an entry and entities, and has the request that is given")
    func several() async throws {
        let like = Modifier(
            changes: [
                .init(.add(["/likes": 1]), on: ModifierWriteTests.url),
                .init(.add(["/given": 1]), onEntity: "User:7", origin: "example"),
                .init(.set(["/a": 1]), onEntity: "User:8"),
            ],
            request: .init("POST", ModifierWriteTests.url + "/likes")
        )
        let command = try await Self.sent(like).modifiers[0]
        #expect(
            command.changes.map(\.target) == [
                .id(try EntryID(ModifierWriteTests.url)),
                .key(try EntityKey("User:7"), origin: try OriginName("example")),
                .key(try EntityKey("User:8"), origin: nil),
            ]
        )
        #expect(command.request.url?.text == ModifierWriteTests.url + "/likes")
    }

    @Test("The modifiers of an entity are listed by its lane")
    func list() async throws {
        try await withDaemon { daemon, client in
            let page = Page(items: [ModifierQueueTests.report("a")])
            daemon.answer(
                "/v1/modifiers?lane=key%3Aexample%2FUser%3A7&limit=1000",
                with: .reply(200, body: ModifierQueueTests.body(page))
            )
            var ids: [String] = []
            for try await modifier in client.modifiers(lane: "key:example/User:7") {
                ids.append(modifier.id)
            }
            #expect(ids == ["a"])
        }
    }
}
