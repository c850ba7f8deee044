import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

import struct LarderClient.EntityItem
import struct LarderClient.WatchOptions

@testable import LarderClient

@Suite("Entities", .timeLimit(.minutes(5)))
struct EntityTests {
    private struct Author: Codable, Equatable {
        let id: Int
        let name: String
    }

    private func item(_ key: String, isDeleted: Bool = false) throws -> EntityListItem {
        EntityListItem(
            name: EntityName(try EntityKey(key), of: try OriginName("example")),
            isDeleted: isDeleted,
            byteCount: 10,
            accountedBytes: 300,
            storedAt: Timestamp(milliseconds: 1_000),
            lastUsed: 5,
            revision: Revision(7)
        )
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
            let first = EntityPage(
                items: [try item("A:1"), try item("A:2", isDeleted: true)],
                next: "c"
            )
            let second = EntityPage(items: [try item("A:3")], next: nil)
            let query = "/v1/entities?origin=example&type=A&limit=1000"
            daemon.answer(query, with: .reply(200, body: first.encoded()))
            daemon.answer(query + "&cursor=c", with: .reply(200, body: second.encoded()))
            var found: [EntityItem] = []
            for try await item in client.allEntities(origin: "example", type: "A") {
                found.append(item)
            }
            #expect(found.map(\.key) == ["A:1", "A:2", "A:3"])
            #expect(found.map(\.isDeleted) == [false, true, false])
            #expect(found[0].id == EntityID(key: "A:1", origin: "example"))
            #expect(found[0].type == "A")
            #expect((found[0].byteCount, found[0].accountedBytes) == (10, 300))
            #expect(found[0].revision == 7)
        }
    }

    @Test("What an eviction takes of entities is told apart from entries")
    func evict() async throws {
        try await withDaemon { daemon, client in
            let entity = EntityName(try EntityKey("A:1"), of: try OriginName("example"))
            let report = EvictReport(
                evicted: 2,
                bytes: 600,
                skipped: 0,
                ids: [try EntryID("a"), EntryID(entity)]
            )
            daemon.answer("/v1/evict", with: .reply(200, body: report.encoded()))
            let found = try await client.evict(.keys(["A:1"], origin: "example"))
            #expect(found.ids == ["a"])
            #expect(found.entities == [EntityID(key: "A:1", origin: "example")])
            let request = try await daemon.requests.element(0)
            #expect(request.bodyText == #"{"keys":["A:1"],"origin":"example"}"#)
        }
    }

    @Test("A watch names entities by their keys, and tells them so")
    func watch() async throws {
        try await withDaemon { daemon, client in
            let name = EntityName(try EntityKey("A:1"), of: try OriginName("example"))
            let user = EntryID(name)
            var put = WatchFrame.EntryEvent(
                revision: Revision(6),
                id: try EntryID("a"),
                source: "network"
            )
            put.changed = [name.key]
            let frames: [WatchFrame] = [
                .put(put), .put(.init(revision: Revision(6), id: user, source: "network")),
                .evict(.init(revision: Revision(7), id: user, reason: "lru")),
                .modifier(
                    .init(
                        revision: Revision(8),
                        ModifierChange(id: try ModifierID("m"), state: .dead, targets: [user])
                    )
                ),
            ]
            let lines = frames.map { OriginAnswer.Step.chunk($0.encodedLine()) }
            daemon.answer("/v1/watch", with: OriginAnswer([.fetchHead] + lines + [.chunk([])]))
            var options = WatchOptions()
            options.keys = ["A:1"]
            options.origin = "example"
            var events = client.watch(options).makeAsyncIterator()
            var told: [WatchEvent] = []
            for _ in frames { told.append(try #require(try await events.next())) }
            guard case .put(let page) = told[0], case .put(let entity) = told[1],
                case .evicted("A:1", "example", "lru") = told[2],
                case .modifier(let modifier) = told[3]
            else {
                Issue.record("\(told)")
                return
            }
            #expect((page.id, page.origin) == ("a", nil))
            #expect(page.changedKeys == ["A:1"])
            #expect((entity.id, entity.origin) == ("A:1", "example"))
            #expect(modifier.targets == [])
            #expect(modifier.entities == [EntityID(key: "A:1", origin: "example")])
            let request = try await daemon.requests.element(0)
            #expect(request.bodyText == #"{"keys":["A:1"],"origin":"example"}"#)
        }
    }

    @Test("A lane of an entity reads back as it was")
    func lane() throws {
        let lane = Modifier.Lane.entity(EntityID(key: "A:1", origin: "example"))
        #expect(try lane.wire.text == "key:example/A:1")
        #expect(Modifier.Lane(try lane.wire) == lane)
    }
}
