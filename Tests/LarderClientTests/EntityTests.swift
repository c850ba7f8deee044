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

    @Test("An entity comes by its id, decoded, with what the headers say")
    func read() async throws {
        try await withDaemon(account: "work") { daemon, client in
            let body = Array(#"{"id":7,"name":"Ada"}"#.utf8)
            daemon.answer(
                "/v1/entries/entity%3Aexample%2FUser%3Aa%252Fb?expand=2&account=work",
                with: .reply(200, ["Larder-Rev": "9", "Larder-Pending": "1"], body: body)
            )
            let author = try await client.entity(
                LarderClient.entityID("User:a/b", of: "example"),
                expanding: 2,
                as: Author.self
            )
            #expect(author.value == Author(id: 7, name: "Ada"))
            #expect(author.metadata.id == "entity:example/User:a%2Fb")
            #expect(author.metadata.revision == 9)
            #expect(author.metadata.pending == 1)
        }
    }

    @Test("An id that is not an entity's, an unknown and a deleted entity throw distinct errors")
    func failures() async throws {
        try await withDaemon { daemon, client in
            let path = "/v1/entries/entity%3Aa%2FA%3A"
            daemon.answer(path + "2", with: .problem(Problem(.deleted, "gone", status: 410)))
            daemon.answer(path + "4", with: .reply(200, body: Array("[]".utf8)))
            for (id, type) in [
                ("entity:a/A", "urn:larder:bad-id"), ("entity:a/A:1", "urn:larder:miss"),
                ("entity:a/A:2", "urn:larder:deleted"),
            ] {
                await expectProblem(type) { () throws(LarderError) in try await client.entity(id) }
            }
            do throws(LarderError) {
                _ = try await client.entity("entity:a/A:4", as: Author.self)
                Issue.record("it was decoded")
            } catch {
                guard case .decoding("entity:a/A:4", _) = error else {
                    Issue.record("\(error)")
                    return
                }
            }
        }
    }

    @Test("An entity is set as its server has it")
    func write() async throws {
        try await withDaemon { daemon, client in
            daemon.answer("/v1/entries/entity%3Aexample%2FA%3A1", with: .reply(201), .reply(204))
            let id = LarderClient.entityID("A:1", of: "example")
            #expect(try await client.setEntity(id, to: #"{"id":1}"#).isNew)
            let author = Author(id: 1, name: "Ada")
            #expect(try await !client.setEntity(id, to: author).isNew)
            let requests = daemon.requests.all
            #expect(requests.map(\.method) == ["PUT", "PUT"])
            #expect(requests[0].bodyText == #"{"id":1}"#)
            #expect(requests[0].headers["Content-Type"] == "application/json")
            let sent = try JSONValue(parsing: requests[1].body)
            #expect(sent["name"]?.string == "Ada")
        }
    }

    @Test("A watch names entities by their ids, and tells them so")
    func watch() async throws {
        try await withDaemon { daemon, client in
            let name = EntityName(try EntityKey("A:1"), of: try OriginName("example"))
            let user = EntryID(name)
            let change = ModifierChange(id: try ModifierID("m"), state: .failed, targets: [user])
            let frames: [WatchFrame] = [
                .put(
                    ChangeFrame(
                        Revision(6),
                        try EntryID("a"),
                        source: "network",
                        changed: [user]
                    )
                ),
                .put(ChangeFrame(Revision(6), user, source: "network")),
                .evict(EvictFrame(Revision(7), user, reason: "lru")),
                .modifier(ModifierFrame(Revision(8), change)),
            ]
            let lines = frames.map { OriginAnswer.Step.chunk($0.encodedLine()) }
            daemon.answer("/v1/watch", with: OriginAnswer([.fetchHead] + lines + [.chunk([])]))
            var options = WatchCommand()
            options.ids = ["entity:example/A:1"]
            var events = client.watch(options).makeAsyncIterator()
            for frame in frames {
                guard case .frame(let told)? = try await events.next() else {
                    Issue.record("no frame")
                    return
                }
                #expect(told == frame)
            }
            let request = try await daemon.requests.element(0)
            #expect(request.bodyText == #"{"ids":["entity:example/A:1"]}"#)
        }
    }
}
