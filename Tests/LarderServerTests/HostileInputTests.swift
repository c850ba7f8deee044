import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Invalid requests", .bothWays, .timeLimit(.minutes(5)))
struct HostileInputTests {
    @Test("Random bytes get a problem or a closed connection, and the next client is served")
    func randomBytes() async throws {
        try await ServerFixture.run { server in
            for seed in 0..<30 as Range<UInt64> {
                let client = try await server.connect()
                client.begin(pattern(Int(seed) * 100 + 1, seed: seed) + Array("\r\n\r\n".utf8))
                let response = try await client.response()
                #expect(response.status == 400, "seed \(seed)")
                #expect(response.headers["Connection"] == "close")
                _ = try response.problem()
                #expect(try await client.rest().isEmpty)
            }
            try await server.expectServing()
        }
    }

    @Test(
        "Requests with a few bytes changed are answered or closed",
        arguments: 0..<40 as Range<UInt64>
    )
    func changedBytes(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        var bytes = Array(
            """
            PUT /v1/entries/a?ttl=1h HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n\
            Content-Length: 3\r\n\r\noneGET /v1/entries/a HTTP/1.1\r\nHost: x\r\n\r\n\
            PUT /v1/entries/b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
            GET /v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n
            """.utf8
        )
        for _ in 0...Int.random(in: 0..<3, using: &random) {
            let index = Int.random(in: 0..<bytes.count, using: &random)
            bytes[index] = UInt8.random(in: 0...255, using: &random)
        }
        let sent = bytes
        try await ServerFixture.run { server in
            let client = try await server.connect()
            try await client.send(sent)
            try await server.expectServing()
            // Whatever is missing for a whole request never comes.
            await client.hangUp()
            try await server.expectServing()
        }
    }

    static let heads = [
        "GET / HTTP/2.0\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA b: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n\u{0}: x\r\n\r\n",
        "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}\u{3}\u{3}\r\n\r\n",
    ]

    @Test(
        "A head that breaks the rules of HTTP is refused",
        arguments: heads
    )
    func badHeads(request: String) async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            try await client.send(request)
            let response = try await client.response()
            #expect(response.status == 400)
            #expect(try response.problem().kind == .badRequest)
            #expect(response.headers["Connection"] == "close")
            #expect(try await client.rest().isEmpty)
            let other = try await server.connect()
            #expect(try await other.ask("GET", "/v1/entries/a").status == 404)
        }
    }

    @Test("A body that breaks the rules of chunks is refused and leaves nothing")
    func badChunks() async throws {
        try await ServerFixture.run { server in
            for chunks in ["x\r\n", "3\r\nabcdef\r\n", "-1\r\n", "fffffffffffffffff\r\n"] {
                let client = try await server.connect()
                let head =
                    "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                try await client.send("\(head)2\r\nok\r\n\(chunks)")
                let response = try await client.response(to: "PUT")
                #expect(response.status == 400, "\(chunks)")
                #expect(response.headers["Connection"] == "close")
                #expect(try await client.rest().isEmpty)
            }
            let other = try await server.connect()
            #expect(try await other.ask("GET", "/v1/entries/a").status == 404)
        }
    }

    @Test("A head over 64 KiB or with too many fields is 431 and closed, however it is made")
    func largeHeads() async throws {
        try await ServerFixture.run { server in
            let long = String(repeating: "x", count: 200_000)
            let many = (0..<300).map { "A\($0): x\r\n" }.joined()
            let total = (0..<100).map { "A\($0): \(long.prefix(2_000))\r\n" }.joined()
            let spaces = String(repeating: " ", count: 200_000)
            for request in [
                "GET /v1/entries/\(long) HTTP/1.1\r\nHost: x\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: x\r\nA: \(long)\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: x\r\n\(long): x\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: x\r\n\(many)\r\n",
                "GET / HTTP/1.1\r\nHost: x\r\n\(total)\r\n",
                "GET / HTTP/1.1\r\nHost: x\r\nA: \(spaces)x\r\n\r\n",
            ] {
                let client = try await server.connect()
                client.begin(Array(request.utf8))
                let response = try await client.response()
                #expect(response.status == 431, "\(request.prefix(30))")
                #expect(try response.problem().kind == .headTooLarge)
                #expect(response.headers["Connection"] == "close")
                #expect(try await client.rest().isEmpty)
            }
            try await server.expectServing()
        }
    }

    @Test("A head just within the limits is taken")
    func headsWithinLimits() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let id = String(repeating: "x", count: Limits.idBytesMax)
            let fields = (0..<200).map { "A\($0): \(String(repeating: "y", count: 200))" }
            #expect(
                try await client.ask("PUT", "/v1/entries/\(id)", fields, body: [1]).status == 201
            )
            #expect(try await client.ask("GET", "/v1/entries/\(id)", fields).body == [1])
            let tooLong = try await client.ask("GET", "/v1/entries/\(id)x")
            #expect(try tooLong.problem().kind == .badID)
        }
    }

    @Test("Half a request is harmless when its client leaves")
    func halfRequests() async throws {
        try await ServerFixture.run { server in
            let whole =
                "POST /v1/fetch HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{\"url\":\"https"
            for count in stride(from: 1, to: whole.utf8.count, by: 7) {
                let client = try await server.connect()
                try await client.send(Array(whole.utf8.prefix(count)))
                await client.hangUp()
            }
            try await server.expectServing()
            #expect(server.upstream.asked.all.isEmpty)
        }
    }

    @Test("Garbage after a request does not spoil its answer")
    func garbageBehind() async throws {
        try await ServerFixture.run { server in
            let gate = Gate()
            server.upstream.answer(try ServerFixture.url("/1"), with: .json("1").held(by: gate))
            let client = try await server.connect()
            let fetch = "GET /v1/fetch?url=\(ServerFixture.baseURL)/1 HTTP/1.1\r\nHost: x\r\n\r\n"
            try await client.send(Array(fetch.utf8) + pattern(1_000) + Array("\r\n\r\n".utf8))
            _ = try await server.upstream.asked.element(0)
            gate.open()
            let response = try await client.response()
            #expect(response.lines.last?.contains(#""type":"end""#) == true)
            #expect(try await client.response().status == 400)
            #expect(try await client.rest().isEmpty)
        }
    }

    @Test("Bodies that are no command are refused with what is wrong")
    func badCommands() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let bodies = [
                "", "{", "[]", "null", "{\"url\":1}", "{\"url\":\"https://api.example.com/\",}",
                "\u{0}", String(repeating: "[", count: 100_000),
            ]
            for body in bodies {
                for path in ["/v1/fetch", "/v1/evict"] {
                    let response = try await client.ask("POST", path, body: Array(body.utf8))
                    #expect(response.status == 400)
                    _ = try response.problem()
                }
            }
        }
    }
}
