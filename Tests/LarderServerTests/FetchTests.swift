import LarderAPI
import LarderEngine
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Fetches over the socket", .timeLimit(.minutes(5)))
struct FetchTests {
    private func query(_ path: String, _ more: String = "") -> String {
        "/v1/fetch?url=\(PercentCoding.encode(ServerFixture.baseURL + path))\(more)"
    }

    @Test("A fetch streams frames as JSON Lines, by GET and by POST", arguments: ["GET", "POST"])
    func twoPhases(method: String) async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/42")
            server.upstream.answer(
                url,
                with: .json(#"{"n":1}"#, headers: ["ETag": "\"a1\""]),
                .json(#"{"n":2}"#),
                .reply(status: 304)
            )
            let client = try await server.connect()
            func fetch() async throws -> RawResponse {
                guard method == "POST" else { return try await client.ask("GET", query("/42")) }
                let command = APIEncoder().encode(FetchCommand(url: url.text))
                return try await client.ask("POST", "/v1/fetch", body: command)
            }
            let first = try await fetch()
            #expect(first.status == 200)
            #expect(first.headers["Content-Type"] == "application/jsonl")
            #expect(first.headers["Cache-Control"] == "no-store")
            #expect(first.headers["Transfer-Encoding"] == "chunked")
            #expect(try kinds(first) == ["network", "end network"])
            let second = try await fetch()
            #expect(try kinds(second) == ["cache", "network", "end network"])
            #expect(second.lines.first?.contains(#""body":{"n":1}"#) == true)
            #expect(second.lines.dropFirst().first?.contains(#""body":{"n":2}"#) == true)
        }
    }

    @Test("The cached answer is there before the network's")
    func cacheFirst() async throws {
        try await ServerFixture.run { server in
            let gate = Gate()
            let url = try ServerFixture.url("/42")
            server.upstream.answer(url, with: .json("1"), .json("2").held(by: gate))
            let client = try await server.connect()
            _ = try await client.ask("GET", query("/42"))
            try await client.send("GET \(query("/42")) HTTP/1.1\r\nHost: x\r\n\r\n")
            let seen = try await client.seen(#""source":"cache""#)
            #expect(!seen.contains(#""source":"network""#))
            gate.open()
            #expect(try kinds(await client.response()) == ["cache", "network", "end network"])
        }
    }

    @Test(
        "The media type of the stream is what was asked for",
        arguments: [
            ("application/x-ndjson", "application/x-ndjson"),
            ("text/html, application/x-ndjson;q=0.9", "application/x-ndjson"),
            ("application/jsonl", "application/jsonl"), ("*/*", "application/jsonl"),
            ("text/event-stream", "text/event-stream"),
            ("text/event-stream;q=0.1, application/jsonl;q=0.2", "application/jsonl"),
        ]
    )
    func mediaTypes(accepted: String, type: String) async throws {
        try await ServerFixture.run { server in
            server.upstream.answer(try ServerFixture.url("/42"), with: .json("1"))
            let client = try await server.connect()
            let response = try await client.ask("GET", query("/42"), ["Accept: \(accepted)"])
            #expect(response.headers["Content-Type"] == type)
        }
    }

    @Test("Without an answer there is a plain problem, after a cached one an error frame")
    func problems() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/42")
            let refusal = ScriptedAnswer.json(#"{"why":"no"}"#, status: 403)
            server.upstream.answer(url, with: refusal, .json("1"), refusal)
            let client = try await server.connect()
            let first = try await client.ask("GET", query("/42"))
            #expect(first.status == 502)
            let problem = try first.problem()
            #expect(problem.kind == .originStatus)
            #expect(problem.originStatus == 403)
            #expect(!problem.retryable)
            #expect(
                problem.quotedBody.map { String(decoding: $0, as: UTF8.self) } == #"{"why":"no"}"#
            )
            _ = try await client.ask("GET", query("/42"))
            let third = try await client.ask("GET", query("/42"))
            #expect(try kinds(third) == ["cache", "problem", "end error"])
            guard case .problem(let inFrame) = try third.frames().dropFirst().first else {
                Issue.record("no error frame")
                return
            }
            #expect(!inFrame.problem.requestID.isEmpty)
            #expect(inFrame.problem.requestID != problem.requestID)
        }
    }

    @Test("cache-only never asks, and a miss is a problem")
    func cacheOnly() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let miss = try await client.ask("GET", query("/42", "&policy=cache-only"))
            #expect(miss.status == 404)
            #expect(try miss.problem().kind == .miss)
            #expect(server.upstream.asked.all.isEmpty)
        }
    }

    @Test("A URL of no origin is refused")
    func unknownOrigin() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let response = try await client.ask("GET", "/v1/fetch?url=https://other.example/")
            #expect(response.status == 403)
            #expect(try response.problem().kind == .unknownOrigin)
        }
    }

    @Test("A client that hangs up does not end a flight that another client waits for")
    func hangUp() async throws {
        try await ServerFixture.run { server in
            let gate = Gate()
            let url = try ServerFixture.url("/42")
            server.upstream.answer(url, with: .json("1").held(by: gate))
            let one = try await server.connect()
            try await one.send("GET \(query("/42")) HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try await server.upstream.asked.element(0)
            let other = try await server.connect()
            try await other.send("GET \(query("/42")) HTTP/1.1\r\nHost: x\r\n\r\n")
            await untilJoined(server)
            await one.hangUp()
            try await server.expectServing()
            #expect(server.upstream.givenUp.all.isEmpty)
            gate.open()
            #expect(try kinds(await other.response()) == ["network", "end network"])
            #expect(server.upstream.asked.all.count == 1)
        }
    }

    @Test("The flight of a client that hung up goes on, and the next client joins it")
    func hangUpAlone() async throws {
        try await ServerFixture.run { server in
            let gate = Gate()
            let url = try ServerFixture.url("/42")
            server.upstream.answer(url, with: .json("1").held(by: gate))
            let one = try await server.connect()
            try await one.send("GET \(query("/42")) HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try await server.upstream.asked.element(0)
            await one.hangUp()
            try await server.expectServing()
            let other = try await server.connect()
            try await other.send("GET \(query("/42")) HTTP/1.1\r\nHost: x\r\n\r\n")
            await untilJoined(server)
            gate.open()
            #expect(try kinds(await other.response()) == ["network", "end network"])
            #expect(server.upstream.asked.all.count == 1)
            #expect(server.upstream.givenUp.all.isEmpty)
        }
    }

    /// Returns once a second client has joined the flight, which no answer tells before it ends.
    private func untilJoined(_ server: ServerFixture) async {
        while server.engine.monitor.stats().flights.joined == 0 { await Task.yield() }
    }

    private func kinds(_ response: RawResponse) throws -> [String] {
        try response.frames().map { frame in
            switch frame {
            case .snapshot(let snapshot): snapshot.source.rawValue
            case .unchanged: "unchanged"
            case .deleted: "deleted"
            case .problem: "problem"
            case .origin, .heartbeat, .other: frame.type
            case .end(let end): "end \(end.outcome.rawValue)"
            }
        }
    }
}
