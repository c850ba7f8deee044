import LarderAPI
import LarderEngine
import LarderModel
import LarderServer
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@Suite("How requests are cut, joined and ended", .bothWays, .timeLimit(.minutes(5)))
struct FramingTests {
    /// Requests of every kind of route, and what they ask for.
    static let requests: [(method: String, bytes: [UInt8])] = [
        ("PUT", put("a", body: "one")),
        ("GET", get("/v1/entries/a")),
        ("HEAD", [UInt8]("HEAD /v1/entries/a HTTP/1.1\r\nHost: x\r\n\r\n".utf8)),
        ("GET", get("/v1/health")),
        ("PUT", chunkedPut("b", ["x", "yz", String(repeating: "ü", count: 500)])),
        ("GET", get("/v1/entries/b")),
        ("GET", get("/v1/entries/missing")),
        ("GET", get("/nothing")),
        ("POST", post("/v1/evict", body: #"{"ids":["a"],"dry_run":true}"#)),
        ("GET", get("/v1/entries?limit=1")),
        ("DELETE", [UInt8]("DELETE /v1/entries/a HTTP/1.1\r\nHost: x\r\n\r\n".utf8)),
        ("GET", get("/v1/entries/a")),
    ]

    private static func get(_ path: String) -> [UInt8] {
        Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
    }

    private static func put(_ id: String, body: String) -> [UInt8] {
        let length = "Content-Length: \(body.utf8.count)"
        return Array("PUT /v1/entries/\(id) HTTP/1.1\r\nHost: x\r\n\(length)\r\n\r\n\(body)".utf8)
    }

    private static func post(_ path: String, body: String) -> [UInt8] {
        let length = "Content-Length: \(body.utf8.count)"
        return Array("POST \(path) HTTP/1.1\r\nHost: x\r\n\(length)\r\n\r\n\(body)".utf8)
    }

    private static func chunkedPut(_ id: String, _ pieces: [String]) -> [UInt8] {
        let chunks = (pieces + [""]).map { piece in
            "\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n"
        }
        let head = "PUT /v1/entries/\(id) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        return Array((head + chunks.joined()).utf8)
    }

    /// An answer without what differs from one server to the next.
    private func essence(_ response: RawResponse) throws -> RawResponse {
        var response = response
        if response.status >= 400, !response.body.isEmpty {
            var problem = try response.problem()
            problem.requestID = ""
            response.body = problem.encoded()
            response.headers.remove("Content-Length")
        }
        return response
    }

    /// The answers to all requests on one connection, sent as `send` does it.
    private func answers(
        _ send: (RawClient, [UInt8]) async throws -> Void
    ) async throws -> [RawResponse] {
        var answers: [RawResponse] = []
        try await ServerFixture.run { server in
            let client = try await server.connect()
            try await send(client, Self.requests.flatMap(\.bytes))
            for (method, _) in Self.requests {
                answers.append(try essence(try await client.response(to: method)))
            }
        }
        return answers
    }

    private func oneByOne() async throws -> [RawResponse] {
        var answers: [RawResponse] = []
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for (method, bytes) in Self.requests {
                try await client.send(bytes)
                answers.append(try essence(try await client.response(to: method)))
            }
        }
        return answers
    }

    @Test("Requests one by one are answered as they should be")
    func statuses() async throws {
        let answers = try await oneByOne()
        let statuses = [201, 200, 200, 200, 201, 200, 404, 404, 200, 200, 204, 404]
        #expect(answers.map(\.status) == statuses)
        #expect(answers[5].text == "xyz" + String(repeating: "ü", count: 500))
        #expect(answers.allSatisfy { $0.headers["Connection"] == nil })
    }

    @Test("Pipelined requests get the same answers as single ones, in their order")
    func pipelined() async throws {
        let expected = try await oneByOne()
        let answers = try await answers { client, bytes in try await client.send(bytes) }
        #expect(answers == expected)
    }

    @Test("Requests byte by byte are answered like whole ones")
    func byteByByte() async throws {
        let expected = try await oneByOne()
        let answers = try await answers { client, bytes in
            for byte in bytes { try await client.send([byte]) }
        }
        #expect(answers == expected)
    }

    @Test(
        "Requests cut anywhere are answered like whole ones",
        arguments: 1...8 as ClosedRange<UInt64>
    )
    func cutAnywhere(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let expected = try await oneByOne()
        let answers = try await answers { client, bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...(seed.isMultiple(of: 2) ? 9 : 120), using: &random)
                try await client.send(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
        }
        #expect(answers == expected)
    }

    @Test("A pipeline longer than what is held is answered whole, and never read too far ahead")
    func longPipeline() async throws {
        try await ServerFixture.run { server in
            let gate = Gate()
            server.upstream.answer(try ServerFixture.url("/1"), with: .json("1").held(by: gate))
            let client = try await server.connect()
            let fetch = "GET /v1/fetch?url=\(ServerFixture.baseURL)/1 HTTP/1.1\r\nHost: x\r\n\r\n"
            try await client.send(fetch)
            _ = try await server.upstream.asked.element(0)
            // 2 MiB of puts behind a fetch that hangs: more than is held and the socket takes.
            let body = String(repeating: "x", count: 4_000)
            let puts = (0..<500).flatMap { Self.put("a\($0)", body: body) }
            let taken = client.begin(puts + Self.get("/v1/entries/a499"))
            try await server.expectServing()
            #expect(taken.all.isEmpty)
            gate.open()
            #expect(try await client.response().status == 200)
            for _ in 0..<500 { #expect(try await client.response(to: "PUT").status == 201) }
            #expect(try await client.response().text == body)
        }
    }

    @Test("A client that asks for more than it reads gets all of it, in order")
    func unreadPipeline() async throws {
        try await ServerFixture.run { server in
            let bodies = [pattern(60_000, seed: 1), pattern(60_000, seed: 2)]
            try await server.store("a0", bodies[0])
            try await server.store("a1", bodies[1])
            let client = try await server.connect()
            // 36 MB of answers, asked for in one go.
            let count = 600
            client.begin((0..<count).flatMap { Self.get("/v1/entries/a\($0 % 2)") })
            try await server.expectServing()
            // Few of them are read before the client takes some.
            #expect(await server.engine.monitor.status(connections: 0).cache.hits < 20)
            for index in 0..<count {
                #expect(try await client.response().body == bodies[index % 2])
            }
        }
    }

    // MARK: The end of a connection

    @Test("Connection: close is respected and returned, and no later request is accepted")
    func close() async throws {
        for path in ["/v1/entries/missing", "/v1/entries/a", "/v1/health"] {
            try await ServerFixture.run { server in
                try await server.store("a", [1])
                let client = try await server.connect()
                let closing = "GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                try await client.send(Array(closing.utf8) + Self.put("b", body: "x"))
                let response = try await client.response()
                #expect(response.headers["Connection"] == "close")
                #expect(try await client.rest().isEmpty)
                let other = try await server.connect()
                #expect(try await other.ask("GET", "/v1/entries/b").status == 404)
            }
        }
    }

    @Test("HTTP/1.0 is answered in its own version and ends with the connection")
    func http10() async throws {
        try await ServerFixture.run { server in
            try await server.store("a", [1])
            let url = try ServerFixture.url("/1")
            server.upstream.answer(url, with: .json("1"))
            for path in ["/v1/entries/a", "/v1/health", "/v1/fetch?url=\(url.text)"] {
                for header in ["", "Connection: keep-alive\r\n"] {
                    let client = try await server.connect()
                    try await client.send("GET \(path) HTTP/1.0\r\n\(header)\r\n")
                    let response = try await client.response()
                    #expect(response.status == 200)
                    #expect(response.version == "HTTP/1.0")
                    #expect(response.headers["Transfer-Encoding"] == nil)
                    #expect(response.headers["Connection"] == "close")
                    #expect(try await client.rest().isEmpty)
                    if path.contains("fetch") { break }
                }
            }
        }
    }

    @Test("A request that would change the protocol is answered as if it did not, and is the last")
    func upgrade() async throws {
        try await ServerFixture.run { server in
            try await server.store("a", [1])
            for request in [
                "GET /v1/entries/a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
                "GET /v1/health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
                "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
            ] {
                let client = try await server.connect()
                client.begin(Array(request.utf8) + pattern(400_000))
                let response = try await client.response()
                #expect([200, 404].contains(response.status))
                #expect(response.headers["Connection"] == "close")
            }
            try await server.expectServing()
        }
    }

    // MARK: Bodies

    @Test("A client that waits for it is told to go on, unless its body is not wanted")
    func expectContinue() async throws {
        try await ServerFixture.run(maxEntryBytes: 1_000) {
            server in
            let client = try await server.connect()
            let put = "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            try await client.send("\(put)Content-Length: 3\r\n\r\n")
            #expect(try await client.response(to: "PUT").status == 100)
            try await client.send("one")
            #expect(try await client.response(to: "PUT").status == 201)
            #expect(try await client.ask("GET", "/v1/entries/a").text == "one")

            try await client.send("\(put)Content-Length: 1001\r\n\r\n")
            let refused = try await client.response(to: "PUT")
            #expect(refused.status == 413)
            #expect(refused.headers["Connection"] == "close")
            #expect(try refused.problem().kind == .entryTooLarge)
            #expect(try await client.rest().isEmpty)
        }
    }

    @Test("A client of HTTP/1.0 is not told to go on, and a blank after the value is no part of it")
    func expectOfVersions() async throws {
        try await ServerFixture.run { server in
            let fields = "Host: x\r\nContent-Length: 3\r\nExpect: 100-continue \r\n\r\n"
            let older = try await server.connect()
            try await older.send("PUT /v1/entries/a HTTP/1.0\r\n\(fields)")
            try await server.expectServing()
            try await older.send("one")
            #expect(try await older.response(to: "PUT").status == 201)
            let newer = try await server.connect()
            try await newer.send("PUT /v1/entries/a HTTP/1.1\r\n\(fields)")
            #expect(try await newer.response(to: "PUT").status == 100)
        }
    }

    @Test("A body that is too long is refused by its length, and by its bytes when it hides that")
    func tooLong() async throws {
        try await ServerFixture.run(maxEntryBytes: 200_000) {
            server in
            let body = pattern(3_000_000)
            let byLength = try await server.connect()
            let path = "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\n"
            byLength.begin(Array("\(path)Content-Length: \(body.count)\r\n\r\n".utf8) + body)
            let byChunks = try await server.connect()
            let size = String(body.count, radix: 16)
            byChunks.begin(
                Array("\(path)Transfer-Encoding: chunked\r\n\r\n\(size)\r\n".utf8) + body
            )
            for client in [byLength, byChunks] {
                let refused = try await client.response(to: "PUT")
                #expect(refused.status == 413)
                #expect(try refused.problem().kind == .entryTooLarge)
                #expect(refused.headers["Connection"] == "close")
                #expect(try await client.rest().isEmpty)
            }
            let other = try await server.connect()
            #expect(try await other.ask("GET", "/v1/entries/a").status == 404)
            let most = pattern(200_000)
            #expect(try await other.ask("PUT", "/v1/entries/a", body: most).status == 201)
            #expect(try await other.ask("GET", "/v1/entries/a").body == most)
            try await server.store.settle()
            #expect(server.store.totals.entries == 1)
        }
    }

    @Test("Large bodies pass both ways whole")
    func largeBodies() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for size in [65_535, 65_536, 65_537, 131_072, 5_000_001] {
                let body = pattern(size, seed: UInt64(size))
                #expect(try await client.ask("PUT", "/v1/entries/a", body: body).status < 300)
                #expect(try await client.ask("GET", "/v1/entries/a").body == body)
            }
        }
    }

    @Test("A put whose client hangs up before its end leaves nothing", arguments: [0, 5, 400_000])
    func truncatedBody(sent: Int) async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let head = "PUT /v1/entries/a HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n"
            try await client.send(Array(head.utf8) + pattern(sent))
            let before = server.store.totals
            await client.hangUp()
            let other = try await server.connect()
            #expect(try await other.ask("GET", "/v1/entries/a").status == 404)
            server.server.drain()
            try await server.ended.wait()
            try await server.store.settle()
            #expect(server.store.totals.entries == 0)
            #expect(server.store.totals.bytes <= before.bytes)
        }
    }
}
