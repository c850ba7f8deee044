import LarderAPI
import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Batches over the socket", .timeLimit(.minutes(5)))
struct BatchTests {
    private func ask(
        _ client: RawClient,
        _ ids: [String],
        _ headers: [String] = []
    ) async throws -> RawResponse {
        let body = APIEncoder().encode(BatchCommand(ids: ids))
        return try await client.ask("POST", "/v1/entries/batch", headers, body: body)
    }

    private func frames(_ response: RawResponse) throws -> [BatchFrame] {
        try response.lines.map { try BatchFrame(line: Array($0.utf8)) }
    }

    @Test("Each id has its frame in the order asked: found, missing, deleted; then the end")
    func order() async throws {
        try await ServerFixture.run { server in
            let rev = try await server.store("b", Array("hello".utf8), kind: .blob)
            let gone = try await server.store("gone", [], kind: .tombstone) { $0.status = 410 }
            let url = try ServerFixture.url("/42")
            server.upstream.answer(url, with: .json(#"{"n":1}"#))
            let client = try await server.connect()
            _ = try await client.ask("GET", "/v1/fetch?url=\(PercentCoding.encode(url.text))")
            let response = try await ask(client, ["x", url.text, "gone", "b"])
            #expect(response.status == 200)
            #expect(response.headers["Content-Type"] == "application/jsonl")
            let frames = try frames(response)
            #expect(frames.map(\.type) == ["miss", "snapshot", "deleted", "snapshot", "end"])
            #expect(frames[0] == .miss(MissFrame(try EntryID("x"))))
            let deletion = DeletedFrame(source: .cache, revision: gone, status: 410)
            #expect(frames[2] == .deleted(CachedDeletionFrame(try EntryID("gone"), deletion)))
            guard case .snapshot(let fetched) = frames[1], case .snapshot(let blob) = frames[3]
            else { return }
            #expect(fetched.entry.content == .json(Array(#"{"n":1}"#.utf8)))
            #expect(fetched.source == .cache)
            #expect(blob.revision == rev)
            #expect(blob.entry.content == .bytes(Array("hello".utf8)))
            #expect(server.upstream.asked.all.count == 1)
        }
    }

    @Test("JSON up to 1 MiB is inline; larger JSON, or other bytes, are an address")
    func largeBodies() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let json = "[\(String(repeating: "1,", count: 100_000))1]"
            let larger = "[\(String(repeating: "1,", count: 600_000))1]"
            for (id, text) in [("json", json), ("larger", larger)] {
                let put = try await client.ask("PUT", "/v1/entries/\(id)", body: Array(text.utf8))
                #expect(put.status == 201)
            }
            _ = try await client.ask("PUT", "/v1/entries/bytes", body: pattern(100_000))
            let frames = try frames(await ask(client, ["bytes", "json", "larger"]))
            let bodies = frames.compactMap { frame -> FrameBody? in
                guard case .snapshot(let snapshot) = frame else { return nil }
                return snapshot.entry.content
            }
            #expect(
                bodies == [
                    .href("/v1/entries/bytes"), .json(Array(json.utf8)),
                    .href("/v1/entries/larger"),
                ]
            )
        }
    }

    @Test("Bodies beyond a batch's byte limit are addresses, so that memory is bounded")
    func bytesMax() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let json = Array("[\(String(repeating: "1", count: 1_000_000))]".utf8)
            let ids = (0..<20).map { "j\($0)" }
            for id in ids { _ = try await client.ask("PUT", "/v1/entries/\(id)", body: json) }
            let frames = try frames(await ask(client, ids))
            var inline = 0
            for case .snapshot(let snapshot) in frames {
                if case .json(let bytes) = snapshot.entry.content { inline += bytes.count }
            }
            #expect(frames.count == 21)
            #expect(inline == Limits.batchBytesMax / json.count * json.count)
        }
    }

    @Test("A thousand ids are answered while others are served, as events too")
    func many() async throws {
        try await ServerFixture.run { server in
            let body = pattern(8_000)
            for number in 0..<1_000 where number.isMultiple(of: 2) {
                try await server.store("\(number)", body, kind: .blob)
            }
            let client = try await server.connect()
            let ids = (0..<1_000).map(String.init)
            let command = APIEncoder().encode(BatchCommand(ids: ids))
            let head = """
                POST /v1/entries/batch HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\
                Content-Length: \(command.count)\r\n\r\n
                """
            try await client.send(Array(head.utf8) + command)
            try await server.expectServing()
            let response = try await client.response()
            let events = try EventStream(response.body).events
            #expect(events.count == 1_001)
            #expect(events.map(\.type).prefix(4) == ["snapshot", "miss", "snapshot", "miss"])
            #expect(events.last?.type == "end")
        }
    }

    @Test(
        "A bad batch is a clear refusal",
        arguments: [
            (#"{"ids":["a","a"]}"#, ProblemKind.badRequest, "'a' is given twice"),
            (#"{"ids":["a"],"x":1}"#, .unknownMember, "'x'"),
            (#"{"ids":[]}"#, .badRequest, "ids"), ("", .badRequest, "ends too early"),
        ]
    )
    func refusals(body: String, kind: ProblemKind, named: String) async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let path = "/v1/entries/batch"
            let response = try await client.ask("POST", path, body: Array(body.utf8))
            #expect(response.status == 400)
            let problem = try response.problem()
            #expect(problem.kind == kind && problem.detail.contains(named), "\(problem.detail)")
        }
    }

    @Test("As application/json a batch is one array with its length")
    func array() async throws {
        try await ServerFixture.run { server in
            try await server.store("a", Array("hello".utf8), kind: .blob)
            let client = try await server.connect()
            let response = try await ask(client, ["a", "x"], ["Accept: application/json"])
            #expect(response.headers["Content-Type"] == "application/json")
            #expect(response.headers["Content-Length"] == String(response.body.count))
            let frames = try #require(try JSONValue(parsing: response.body).elements)
            #expect(frames.count == 3)
            #expect(response.text.hasPrefix(#"[{"type":"snapshot","#))
            #expect(response.text.contains(#",{"type":"miss","id":"x"},{"type":"end","#))
        }
    }

    @Test("An id named batch is an id like any other")
    func idNamedBatch() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            #expect(try await client.ask("PUT", "/v1/entries/batch", body: [1]).status == 201)
            #expect(try await client.ask("GET", "/v1/entries/batch").body == [1])
            let patch = try await client.ask("PATCH", "/v1/entries/batch")
            #expect(patch.headers["Allow"] == "POST, GET, HEAD, PUT, DELETE")
        }
    }

    @Test("Another account's rows are other rows")
    func accounts() async throws {
        try await ServerFixture.run { server in
            try await server.store("a", [1], kind: .blob)
            let client = try await server.connect()
            let body = Array(#"{"ids":["a"],"account":"work"}"#.utf8)
            let response = try await client.ask("POST", "/v1/entries/batch", body: body)
            #expect(try frames(response).map(\.type) == ["miss", "end"])
        }
    }
}
