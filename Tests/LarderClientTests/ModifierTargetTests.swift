import LarderClient
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Writes to entities through the client", .timeLimit(.minutes(5)))
struct ModifierTargetTests {
    private static func sent(_ modifier: Modifier) async throws -> ModifiersCommand {
        var command: ModifiersCommand?
        try await withDaemon { daemon, client in
            let receipt = try ModifierWriteTests.receipt()
            daemon.answer("/v1/modifiers", with: .reply(202, body: receipt.encoded()))
            try await client.write(modifier)
            command = try ModifiersCommand(json: try #require(daemon.requests.all.first).body)
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
        let named = ModifierCommand.Target.key(
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
                Modifier.Change(.add(["/likes": 1]), on: ModifierWriteTests.url),
                Modifier.Change(.add(["/given": 1]), onEntity: "User:7", origin: "example"),
                Modifier.Change(.set(["/a": 1]), on: .entity("User:8")),
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

    @Test(
        "What the daemon would refuse of an entity is refused before it is sent",
        arguments: [
            (Modifier(.set(["/a": 1]), onEntity: "User:7"), "no-request", 422),
            (Modifier(.nothing, onEntity: "User:7"), "no-request", 422),
            (Modifier(.put(1), onEntity: "User:7"), "bad-request", 422),
            (Modifier(.merge([1]), onEntity: "User:7"), "bad-request", 422),
            (Modifier(.delete, onEntity: "User"), "bad-id", 400),
            (Modifier(.delete, onEntity: "User:7", origin: "a b"), "bad-request", 400),
        ]
    )
    func refusedHere(modifier: Modifier, type: String, status: Int) async throws {
        try await withDaemon { daemon, client in
            do throws(LarderError) {
                try await client.write(modifier)
                Issue.record("there was no error")
            } catch {
                #expect(error.problem?.type == "urn:larder:\(type)")
                #expect(error.problem?.status == status)
            }
            #expect(daemon.requests.all.isEmpty)
        }
    }

    @Test("A modifier tells which entities it changes, and what each shows")
    func status() async throws {
        try await withDaemon { daemon, client in
            var report = try ModifierQueueTests.report()
            let entity = EntryID(
                EntityName(try EntityKey("User:7"), of: try OriginName("example"))
            )
            let entry = try EntryID(ModifierWriteTests.url)
            report.targets = [entity, entry]
            report.lanes = [.id(entity), .id(entry)]
            let (old, new) = (Array(#"{"name":"A"}"#.utf8), Array(#"{"name":"B"}"#.utf8))
            report.effects = [
                .init(
                    target: entity,
                    before: .json(old, isComplete: true),
                    after: .json(new, isComplete: true)
                ),
                .init(target: entry, before: .unknown, after: .unknown),
            ]
            daemon.answer("/v1/modifiers/like-42", with: .reply(200, body: report.encoded()))
            let found = try await client.modifier("like-42")
            let user = EntityID(key: "User:7", origin: "example")
            #expect(found.entities == [user])
            #expect(found.targets == [ModifierWriteTests.url])
            #expect(found.lanes == [.entity(user), .target(ModifierWriteTests.url)])
            #expect(found.effects.map(\.target) == ["User:7", ModifierWriteTests.url])
            #expect(found.effects.map(\.origin) == ["example", nil])
            #expect(found.effects.first?.before == .json(old, isComplete: true))
            #expect(found.effects.first?.after == .json(new, isComplete: true))
        }
    }

    @Test("The modifiers of an entity are listed by its lane")
    func list() async throws {
        try await withDaemon { daemon, client in
            let page = ModifierPage(items: [try ModifierQueueTests.report("a")], next: nil)
            daemon.answer(
                "/v1/modifiers?lane=key%3Aexample%2FUser%3A7&limit=1000",
                with: .reply(200, body: page.encoded())
            )
            let user = EntityID(key: "User:7", origin: "example")
            var ids: [String] = []
            for try await modifier in client.modifiers(lane: .entity(user)) {
                ids.append(modifier.id)
            }
            #expect(ids == ["a"])
        }
    }
}
