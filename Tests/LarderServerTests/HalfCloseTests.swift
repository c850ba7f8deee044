import LarderAPI
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Clients that send no more", .bothWays, .timeLimit(.minutes(5)))
struct HalfCloseTests {
    private static func get(_ path: String) -> String {
        "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n"
    }

    private func open(_ client: RawClient) async throws -> Int {
        let response = try await client.ask("GET", "/v1/stats")
        return Int(try StatsReport(decoding: response.body).connections.open)
    }

    @Test("Clients that end their sending get every answer that they asked for, then the end")
    func answered() async throws {
        try await ServerFixture.run { server in
            let gate = Gate()
            let url = try ServerFixture.url("/1")
            server.upstream.answer(url, with: .json("1").held(by: gate))
            try await server.store("a", [7])
            for path in ["/v1/entries/a", "/v1/health", "/v1/openapi.json"] {
                let client = try await server.connect()
                try await client.send(Self.get(path))
                try await client.endSending()
                #expect(try await client.response().status == 200)
                #expect(try await client.rest().isEmpty)
            }
            let client = try await server.connect()
            try await client.send(
                Self.get("/v1/fetch?url=\(url.text)") + Self.get("/v1/entries/a")
                    + Self.get("/v1/openapi.json")
            )
            try await client.endSending()
            _ = try await server.upstream.asked.element(0)
            try await server.expectServing()
            gate.open()
            #expect(try await client.response().lines.last?.contains("network") == true)
            #expect(try await client.response().body == [7])
            #expect(try await client.response().status == 200)
            #expect(try await client.rest().isEmpty)
        }
    }

    @Test("A request whose rest never comes is told so", arguments: ["GET / HT", "half"])
    func cutOff(kind: String) async throws {
        try await ServerFixture.run { server in
            let put = "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"
            let client = try await server.connect()
            try await client.send(kind == "half" ? put : kind)
            try await client.endSending()
            let response = try await client.response()
            #expect(response.status == 400)
            #expect(response.headers["Connection"] == "close")
            #expect(try await client.rest().isEmpty)
            let other = try await server.connect()
            #expect(try await other.ask("GET", "/v1/entries/a").status == 404)
        }
    }

    @Test("A client that has sent no request is closed")
    func idle() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            try await client.endSending()
            #expect(try await client.rest().isEmpty)
        }
    }

    @Test(
        "A stream and a long wait go on, until their client is gone altogether",
        arguments: [
            "/v1/fetch?url=https://api.example.com/1&follow=true", "/v1/watch?id=a",
            "/v1/watch?id=b&timeout=1h", "/v1/modifiers?state=unsettled&wait=1h",
        ]
    )
    func streams(path: String) async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/1")
            server.upstream.answer(url, with: .json("1"))
            if path.contains("modifiers") {
                let body = Array(
                    #"{"hold":"1h","changes":[{"target":{"id":"https://api.example.com/1"},"effect":{"type":"delete"}}]}"#
                        .utf8
                )
                let client = try await server.connect()
                #expect(try await client.ask("POST", "/v1/modifiers", body: body).status == 202)
                await client.hangUp()
            }
            let other = try await server.connect()
            let client = try await server.connect()
            try await client.send(Self.get(path))
            try await client.endSending()
            if path.contains("follow") { try await client.seen(#""body":1"#) }
            // Until it is accepted.
            while try await open(other) < 2 {}
            for _ in 0..<20 { #expect(try await open(other) >= 2) }
            if path == "/v1/watch?id=a" {
                #expect(try await other.ask("PUT", "/v1/entries/a", body: [1]).status == 201)
                try await client.seen(#""type":"put""#)
            }
            await client.hangUp()
            // The kernel says so at once; no heartbeat is waited for, as the clock stands still.
            while try await open(other) > 1 {}
        }
    }

    @Test("Invalid bytes after requests are answered last, after those requests")
    func garbageBehind() async throws {
        try await ServerFixture.run { server in
            try await server.store("a", [7])
            let gate = Gate()
            let url = try ServerFixture.url("/1")
            server.upstream.answer(url, with: .json("1").held(by: gate))
            let client = try await server.connect()
            let good = Self.get("/v1/entries/a") + Self.get("/v1/health")
            try await client.send(
                Self.get("/v1/fetch?url=\(url.text)") + good + "no HTTP\r\n\r\n"
                    + Self.get("/v1/entries/a")
            )
            _ = try await server.upstream.asked.element(0)
            try await server.expectServing()
            gate.open()
            #expect(try await client.response().lines.last?.contains("network") == true)
            #expect(try await client.response().body == [7])
            #expect(try await client.response().status == 200)
            let refusal = try await client.response()
            #expect(refusal.status == 400)
            #expect(refusal.headers["Connection"] == "close")
            #expect(try await client.rest().isEmpty)
        }
    }
}
