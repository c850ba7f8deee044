import LarderAPI
import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@testable import LarderClient

@Suite("Entities", .timeLimit(.minutes(5)))
struct EntityTests {
    private struct Author: Codable, Equatable {
        let id: Int
        let name: String
    }

    private func item(_ key: String, isDeleted: Bool = false) throws -> EntityItem {
        let entry = Entry(
            id: EntryID(EntityName(try EntityKey(key), of: try OriginName("example"))),
            kind: isDeleted ? .tombstone : .entity,
            storedAt: Timestamp(milliseconds: 1_000),
            revision: Revision(7),
            body: BodySummary(byteCount: 10, digest: Digest(high: 0, low: 0), isJSON: true)
        )
        return try #require(EntityItem(entry, accountedBytes: 300))
    }

    @Test("An entity comes by its key, decoded, with what the headers say")
    func read() async throws {
        try await withDaemon(account: "work") { daemon, client in
            let body = Array(#"{"id":7,"name":"Ada"}"#.utf8)
            daemon.answer(
                "/v1/entities/User%3Aa%252Fb?origin=example&expand=2&account=work",
                with: .reply(200, ["Larder-Rev": "9", "Larder-Pending": "1"], body: body)
            )
            let author = try await client.entity(
                "User:a/b",
                origin: "example",
                expanding: 2,
                as: Author.self
            )
            #expect(author.value == Author(id: 7, name: "Ada"))
            #expect(author.metadata.id == "User:a%2Fb")
            #expect(author.metadata.revision == 9)
            #expect(author.metadata.pending == 1)
        }
    }

    @Test("What is no key, what is unknown and what is deleted are told apart")
    func failures() async throws {
        try await withDaemon { daemon, client in
            daemon.answer(
                "/v1/entities/A%3A2",
                with: .problem(Problem(.deleted, "gone", status: 410))
            )
            daemon.answer("/v1/entities/A%3A3", with: .problem(Problem(.originNeeded, "whose")))
            daemon.answer("/v1/entities/A%3A4", with: .reply(200, body: Array("[]".utf8)))
            for (key, type) in [
                ("A", "urn:larder:bad-id"), ("A:1", "urn:larder:miss"),
                ("A:2", "urn:larder:deleted"), ("A:3", "urn:larder:origin-needed"),
            ] {
                await expectProblem(type) { () throws(LarderError) in try await client.entity(key) }
            }
            do throws(LarderError) {
                _ = try await client.entity("A:4", as: Author.self)
                Issue.record("it was decoded")
            } catch {
                guard case .decoding("A:4", _) = error else {
                    Issue.record("\(error)")
                    return
                }
            }
        }
    }

    @Test("An entity is set and deleted as its server's")
    func write() async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/entities/A%3A1?origin=example", with: .reply(201), .reply(204))
            let first = try await client.setEntity("A:1", origin: "example", to: #"{"id":1}"#)
            #expect(first == .created)
            let author = Author(id: 1, name: "Ada")
            #expect(try await client.setEntity("A:1", origin: "example", to: author) == .replaced)
            try await client.deleteEntity("A:1", origin: "example")
            let requests = daemon.requests.all
            #expect(requests.map(\.method) == ["PUT", "PUT", "DELETE"])
            #expect(requests[0].bodyText == #"{"id":1}"#)
            #expect(requests[0].headers["Content-Type"] == "application/json")
            let sent = try JSONValue(parsing: requests[1].body)
            #expect(sent["name"]?.string == "Ada")
        }
    }

    @Test("A list goes on page by page")
    func list() async throws {
        try await withDaemon { daemon, client in
            let first = Page(
                items: [try item("A:1"), try item("A:2", isDeleted: true)],
                next: "c"
            )
            let second = Page(items: [try item("A:3")], next: nil)
            let query = "/v1/entities?origin=example&type=A&limit=1000"
            daemon.answer(query, with: .reply(200, body: APIEncoder().encode(first)))
            daemon.answer(query + "&cursor=c", with: .reply(200, body: APIEncoder().encode(second)))
            var found: [EntityItem] = []
            for try await item in client.allEntities(origin: "example", type: "A") {
                found.append(item)
            }
            #expect(found.map(\.name.key) == ["A:1", "A:2", "A:3"])
            #expect(found.map(\.deleted) == [false, true, false])
            #expect(found[0].name.origin == "example")
            #expect(found[0].type == "A")
            #expect((found[0].bodyBytes, found[0].accountedBytes) == (10, 300))
            #expect(found[0].rev == 7)
        }
    }

    @Test("What an eviction takes of entities is told apart from entries")
    func evict() async throws {
        try await withDaemon { daemon, client in
            var report = EvictReport()
            report.ids = ["a"]
            report.entities = [.init(key: "A:1", origin: "example")]
            daemon.answer("/v1/evict", with: .reply(200, body: report.encoded()))
            var command = EvictCommand()
            (command.keys, command.origin) = (["A:1"], "example")
            #expect(try await client.evict(command) == report)
            let request = try await daemon.requests.element(0)
            #expect(request.bodyText == #"{"keys":["A:1"],"origin":"example"}"#)
        }
    }

    @Test("A watch names entities by their keys, and tells them so")
    func watch() async throws {
        try await withDaemon { daemon, client in
            let name = EntityName(try EntityKey("A:1"), of: try OriginName("example"))
            let user = EntryID(name)
            let change = ModifierChange(id: try ModifierID("m"), state: .dead, targets: [user])
            let frames: [WatchFrame] = [
                .put(
                    ChangeFrame(
                        Revision(6),
                        try EntryID("a"),
                        source: "network",
                        changed: [name.key]
                    )
                ),
                .put(ChangeFrame(Revision(6), user, source: "network")),
                .evict(EvictFrame(Revision(7), user, reason: "lru")),
                .modifier(ModifierFrame(Revision(8), change)),
            ]
            let lines = frames.map { OriginAnswer.Step.chunk($0.encodedLine()) }
            daemon.answer("/v1/watch", with: OriginAnswer([.fetchHead] + lines + [.chunk([])]))
            var options = WatchCommand()
            options.keys = ["A:1"]
            options.origin = "example"
            var events = client.watch(options).makeAsyncIterator()
            for frame in frames {
                guard case .frame(let told)? = try await events.next() else {
                    Issue.record("no frame")
                    return
                }
                #expect(told == frame)
            }
            let request = try await daemon.requests.element(0)
            #expect(request.bodyText == #"{"keys":["A:1"],"origin":"example"}"#)
        }
    }
}
