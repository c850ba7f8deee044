import LarderClient
import LarderModel
import LarderTestSupport
import Testing

@Suite("The client and the real server", .timeLimit(.minutes(10)))
struct RealServerTests {
    /// Runs `body` with a server and a client of it.
    private func withServer(
        maxEntryBytes: Int64 = 64 << 20,
        adjusting adjust: (inout OriginSettings) throws -> Void = { _ in },
        _ body: (ServerFixture, LarderClient) async throws -> Void
    ) async throws {
        try await ServerFixture.run(maxEntryBytes: maxEntryBytes, adjusting: adjust) { server in
            let client = LarderClient(socket: .path(server.socketPath))
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(server, client))
            } catch {
                result = .failure(error)
            }
            await client.shutdown()
            try result.get()
        }
    }

    @Test(
        "A pin with refresh says when it is asked for, and a short interval is refused (S38, S41)"
    )
    func refresh() async throws {
        try await withServer { server, client in
            let url = "\(ServerFixture.baseURL)/a"
            server.upstream.answer(try WebURL(url), with: .json("[1]"))
            _ = try await client.pin(url, refresh: .seconds(3_600))
            for try await pin in client.pins() {
                #expect(pin.refreshing.refresh == .seconds(3_600))
                #expect(pin.refreshing.nextRefreshAt != nil)
                #expect(pin.refreshing.refreshPausedBy == nil)
            }
            #expect(try await client.explain(url).refreshing.refresh == .seconds(3_600))
            do throws(LarderError) {
                _ = try await client.pin(url, refresh: .seconds(1))
                Issue.record("it was taken")
            } catch {
                #expect("\(error)".contains("'1s' is not within 5s to 30d"), "\(error)")
            }
        }
    }

    // MARK: Created entities

    private struct Todo: Codable, Sendable {
        var title: String
        var done: Bool?
    }

    private static func addRules(to origin: inout OriginSettings) {
        origin.normalize = NormalizeRules(
            byType: .standard,
            types: [TypeRule(type: "Todo", url: "/todos/{id}")]
        )
    }

    @Test("A created entity is modified by its temporary id before and after it has the real id")
    func created() async throws {
        try await withServer(adjusting: Self.addRules) { server, client in
            let (list, gate) = (try ServerFixture.url("/todos"), Gate())
            let (made, done) = (#"{"type":"Todo","id":42,"title":"eggs"}"#, #""done":true}"#)
            server.upstream.answer(list, with: .json(made, status: 201).held(by: gate))
            server.upstream.answerOthers { _ in .json("\(made.dropLast()),\(done)") }
            let created = try await client.create(
                "Todo",
                of: "example",
                ["type": "Todo", "title": "eggs"],
                by: .init("POST", list.text, body: ["title": "eggs"])
            )
            let unknown = try await client.realID(of: created)
            #expect(unknown == nil)
            let early = try await client.modify(created.id, as: Todo.self) { $0.done = true }
            gate.open()
            let wait = Duration.seconds(60)
            let real = try await client.realID(of: created, waitingFor: wait)
            #expect(real == "entity:example/Todo:42")
            let first = try await client.modifier(try #require(early).id, waitingFor: wait)
            #expect(first.state == .confirmed)
            #expect(first.request.url == "\(list)/42")
            let late = try await client.modify(created.id, as: Todo.self) { $0.title = "jam" }
            let second = try await client.modifier(try #require(late).id, waitingFor: wait)
            #expect(second.state == .confirmed)
            #expect(second.targets.map(\.id) == ["entity:example/Todo:42"])
        }
    }

    @Test("A created entity shows in a list, with the temporary id and then with the real one")
    func createdInList() async throws {
        try await withServer(adjusting: Self.addRules) { server, client in
            let (list, gate) = (try ServerFixture.url("/todos"), Gate())
            let made = ScriptedAnswer.json(#"{"type":"Todo","id":42,"title":"eggs"}"#, status: 201)
            server.upstream.answer(list, with: .json(#"{"items":[]}"#), made.held(by: gate))
            _ = try await client.data(for: list.text)
            let created = try await client.create(
                "Todo",
                of: "example",
                ["type": "Todo", "title": "eggs"],
                by: .init("POST", list.text, body: ["title": "eggs"]),
                into: "/items"
            )
            let early = String(decoding: try await client.entry(list.text).bytes, as: UTF8.self)
            let name = created.placeholder.dropFirst(5).dropLast(2)
            #expect(early.contains("eggs") && early.contains(#""id":"\#(name)""#), "\(early)")
            gate.open()
            let real = try await client.realID(of: created, waitingFor: .seconds(60))
            #expect(real == "entity:example/Todo:42")
            let late = String(decoding: try await client.entry(list.text).bytes, as: UTF8.self)
            #expect(late.contains("eggs") && late.contains(#""id":42"#), "\(late)")
        }
    }

    // MARK: A client's own changes

    /// Puts, removes, and writes under ids that begin with `prefix`, each id once: a watch may tell
    /// two changes of one id as one.
    private func change(_ prefix: String, by client: LarderClient) async throws {
        try await client.put("\(prefix)/1", bytes: [1])
        try await client.put("\(prefix)/2", bytes: [1], isPinned: true)
        try await client.remove("\(prefix)/old")
        var write = Modifier(.put(["n": 1]), on: "\(ServerFixture.baseURL)/\(prefix)")
        write.id = prefix
        write.hold = .seconds(3_600)
        try await client.write(write)
    }

    @Test("A client's watch marks all changes of this client, and none of another, as its own")
    func ownChanges() async throws {
        try await withServer { server, client in
            let other = LarderClient(socket: .path(server.socketPath))
            for prefix in ["own", "foreign"] { try await client.put("\(prefix)/old", bytes: [1]) }
            var events = client.watch().makeAsyncIterator()
            // The first event says where the watch begins.
            _ = try await events.next()
            try await change("own", by: client)
            try await change("foreign", by: other)
            try await other.put("end", bytes: [])
            var own: [String] = []
            var foreign: [String] = []
            while true {
                let (told, isOwn): (String, Bool)
                switch try #require(try await events.next()) {
                case .frame(.put(let change)):
                    (told, isOwn) = ("put \(change.id)", change.isOwn == true)
                case .frame(.delete(let change)):
                    (told, isOwn) = ("delete \(change.id)", change.isOwn == true)
                case .frame(.modifier(let write)):
                    (told, isOwn) = ("modifier \(write.id)", write.isOwn == true)
                default: continue
                }
                if told == "put end" { break }
                if isOwn { own.append(told) } else { foreign.append(told) }
            }
            let expected = { (prefix: String) in
                [
                    "delete \(prefix)/old", "modifier \(prefix)", "put \(prefix)/1",
                    "put \(prefix)/2", "put \(ServerFixture.baseURL)/\(prefix)",
                ]
            }
            #expect(own.sorted() == expected("own").sorted())
            #expect(foreign.sorted() == expected("foreign").sorted())
            await other.shutdown()
        }
    }

    // MARK: Early refusals

    /// How the bytes of a put are given.
    enum Given: CaseIterable {
        case atOnce
        case announcedChunks
        case chunks
    }

    @Test(
        "A refusal that comes before the end of a body is told, at each size of the body",
        arguments: Given.allCases,
        [256 << 10, 320 << 10, 1 << 20, 4 << 20, 5 << 20, 64 << 20]
    )
    func earlyRefusal(given: Given, count: Int) async throws {
        let repetitions = count > 8 << 20 ? 3 : 20
        try await withServer(maxEntryBytes: 100_000) { _, client in
            let bytes = [UInt8](repeating: 7, count: count)
            for _ in 0..<repetitions {
                await expectProblem("urn:larder:entry-too-large") { () throws(LarderError) in
                    switch given {
                    case .atOnce: return try await client.put("a", bytes: bytes)
                    case .announcedChunks:
                        let chunks = Pieces(bytes: bytes)
                        return try await client.put("a", chunks: chunks, byteCount: count)
                    case .chunks: return try await client.put("a", chunks: Pieces(bytes: bytes))
                    }
                }
            }
            let receipt = try await client.put("a", bytes: [1])
            #expect(receipt.isNew && receipt.etag != nil && receipt.rev != nil)
        }
    }
}

/// Bytes in chunks of 64 KiB.
private struct Pieces: AsyncSequence, Sendable {
    let bytes: [UInt8]

    func makeAsyncIterator() -> Iterator {
        Iterator(rest: bytes[...])
    }

    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<UInt8>

        mutating func next() async -> [UInt8]? {
            guard !rest.isEmpty else { return nil }
            let piece = Array(rest.prefix(65_536))
            rest = rest.dropFirst(65_536)
            return piece
        }
    }
}
