import LarderAPI
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import NIOCore
import NIOHTTP1
import Testing

@testable import LarderServer

@Suite("Plain reads, answered ahead of the parser", .timeLimit(.minutes(5)))
struct FastPathGetTests {
    static let plain = "GET /v1/entries/a%20b?account=work HTTP/1.1\r\nHost: larder\r\n"

    /// Fields that change nothing of the answer.
    static let harmlessFields = [
        "", "User-Agent: a/1 (b; c)\r\n", "accept: */*\r\nAccept-Encoding: gzip, br\r\n",
        "Connection: keep-alive\r\n", "Accept-Language: de\r\n", "Accept: \r\n",
    ]

    private func read(_ text: String) -> FastPathGet? {
        Array(text.utf8).withUnsafeBytes { FastPathGet($0) }
    }

    // MARK: What is one

    @Test(
        "A plain read has one Host, and no field that changes its meaning",
        arguments: harmlessFields
    )
    func found(fields: String) throws {
        let request = Self.plain + fields + "\r\n"
        let found = try #require(read(request + "GET /v1/health HTTP/1.1\r\n"))
        #expect(found.length == request.utf8.count)
        #expect(
            Array(request.utf8)[found.target] == Array("/v1/entries/a%20b?account=work".utf8)[...]
        )
        for count in 0..<request.utf8.count {
            #expect(read(String(decoding: request.utf8.prefix(count), as: UTF8.self)) == nil)
        }
    }

    /// Requests that are no plain reads, each for one reason.
    static let parsed =
        [
            "HEAD /v1/entries/a HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET http://larder/v1/entries/a HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/a HTTP/1.0\r\nHost: larder\r\n\r\n",
            "GET  /v1/entries/a HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/a  HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/a HTTP/1.1\nHost: larder\n\n",
            "GET /v1/entries/a HTTP/1.1\r\n\r\n",
            "GET /v1/entries/a HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET /v1/entries/a HTTP/1.1\r\nHost: a b\r\n\r\n",
            "GET /v1/entries/a HTTP/1.1\r\nHost : a\r\n\r\n",
            "GET /v1/entries/a HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
            "GET /v1/entries/a#b HTTP/1.1\r\nHost: larder\r\n\r\n",
            "GET /v1/entries/\u{E4} HTTP/1.1\r\nHost: larder\r\n\r\n",
            "\r\nGET /v1/entries/a HTTP/1.1\r\nHost: larder\r\n\r\n",
        ]
        + [
            "If-None-Match: \"a\"", "Connection: close", "Connection: Upgrade", "Upgrade: h2c",
            "Content-Length: 0", "Transfer-Encoding: chunked", "Expect: 100-continue",
            "Range: bytes=0-", "Larder-Account: a", "Accept: a\tb", "Accept: a\u{7F}",
            "User-Agent: " + String(repeating: "a", count: 4_096), "Cache-Control: no-cache",
        ].map { "\(plain)\($0)\r\n\r\n" }

    @Test(
        "Everything else is the parser's",
        arguments: parsed
    )
    func others(request: String) {
        #expect(read(request) == nil)
    }

    // MARK: Their answers

    /// What a plain read is answered, and what the parser's way answers at the same moment.
    private func answers(
        _ client: RawClient,
        _ path: String
    ) async throws -> (plain: RawResponse, parsed: RawResponse) {
        let plain = try await client.ask("GET", path)
        return (plain, try await client.ask("GET", path, ["Larder-Test: 1"]))
    }

    private func readyHits(_ client: RawClient) async throws -> Int64 {
        let answer = try await client.ask("GET", "/v1/stats")
        return try StatsReport(decoding: answer.body).lookups.ready
    }

    @Test("From the second one on they are kept, counted, and the parser's, until the row changes")
    func kept() async throws {
        try await ServerFixture.run(isOneLoop: true) { server in
            let client = try await server.connect()
            try await server.store("a", pattern(100)) {
                $0.freshUntil = ManualClock.start.advanced(by: .seconds(60))
            }
            for count in 1...4 {
                let (plain, parsed) = try await answers(client, "/v1/entries/a")
                #expect(plain == parsed && plain.status == 200)
                #expect(try await readyHits(client) == max(0, count - 2))
            }
            try await server.store("a", pattern(101))
            for _ in 1...2 {
                let (plain, parsed) = try await answers(client, "/v1/entries/a")
                #expect(plain == parsed && plain.body == pattern(101))
            }
            #expect(try await readyHits(client) == 3)
            let stats = try StatsReport(decoding: await client.ask("GET", "/v1/stats").body)
            #expect(stats.lookups.hits == 12)
            #expect(stats.readyAnswers.missing == 2)
            #expect(stats.readyAnswers.stale == 1)
            #expect(stats.readyAnswers.bytes > 101)
            server.clock.advance(by: .seconds(1))
            _ = try await answers(client, "/v1/entries/a")
            let later = try StatsReport(decoding: await client.ask("GET", "/v1/stats").body)
            #expect(later.readyAnswers.expired == 1)
            #expect(later.readyAnswers.bytes == stats.readyAnswers.bytes)
        }
    }

    @Test("A ready answer is used until an entity, any write or an origin changes")
    func rebuilt() async throws {
        let adjust = { (origin: inout OriginSettings) in origin.normalize = AgreementTests.rules }
        try await ServerFixture.run(isOneLoop: true, adjusting: adjust) { server in
            let life = try await ScriptedLife(server)
            try await life.cache("/users/7", AgreementTests.user(7, "Ann"))
            try await life.cache("/list", AgreementTests.list("Ann"))
            let client = try await server.connect()
            let path = PercentCoding.entryPath(try ScriptedLife.id("/list"))
            /// How many of five reads were of ready bytes, and what they showed.
            func read() async throws -> (ready: Int64, text: String) {
                let before = try await readyHits(client)
                var texts: Set<String> = []
                for _ in 0..<5 {
                    let (plain, parsed) = try await answers(client, path)
                    #expect(plain == parsed && plain.status == 200)
                    texts.insert(plain.text)
                }
                #expect(texts.count == 1)
                return (try await readyHits(client) - before, texts.first ?? "")
            }
            // Of the first one nobody knows that it is asked for again.
            #expect(try await read() == (3, AgreementTests.list("Ann")))
            #expect(try await read() == (5, AgreementTests.list("Ann")))
            try await life.cache("/users/7", AgreementTests.user(7, "Bea"))
            #expect(try await read() == (4, AgreementTests.list("Bea")))
            let merge = #"{"type":"merge","value":{"name":"Cleo"}}"#
            let id = try await life.accept("User:7", merge)
            #expect(try await read() == (0, AgreementTests.list("Cleo")))
            try await life.cancel(id)
            #expect(try await read().text == AgreementTests.list("Bea"))
            #expect(try await read() == (5, AgreementTests.list("Bea")))
            try await life.evict(#""ids":["entity:example/User:8"]"#)
            let (plain, parsed) = try await answers(client, path)
            #expect(plain.withoutRequestID == parsed.withoutRequestID && plain.status == 404)
            try await life.cache("/list", AgreementTests.list("Bea"))
            #expect(try await read().ready >= 4)
            let other = Array(#"{"base_url":"https://other.example"}"#.utf8)
            #expect(try await client.ask("PUT", "/v1/origins/other", body: other).status == 201)
            #expect(try await read().ready == 4)
        }
    }

    @Test(
        "Date, Age and ttl of plain reads are right at each moment",
        arguments: [0, 1, 499, 998, 999]
    )
    func time(offset: Int) async throws {
        try await ServerFixture.run(isOneLoop: true) { server in
            let client = try await server.connect()
            server.clock.advance(by: .milliseconds(offset))
            try await server.store("a", pattern(10)) {
                $0.freshUntil = $0.storedAt.advanced(by: .milliseconds(1_500))
            }
            try await server.store("b", pattern(10), kind: .blob) {
                $0.freshUntil = $0.storedAt.advanced(by: .milliseconds(1_301))
            }
            for step in [0, 1, 200, 299, 1, 1, 498, 1, 1, 298, 1, 1, 199, 1, 1_000, 1, 998, 1, 1] {
                server.clock.advance(by: .milliseconds(step))
                for path in ["/v1/entries/a", "/v1/entries/b"] {
                    for _ in 0..<3 {
                        let (plain, parsed) = try await answers(client, path)
                        #expect(plain.withoutRequestID == parsed.withoutRequestID)
                    }
                }
            }
        }
    }

    @Test("Several in a row, cut anywhere and mixed with others, are answered as one by one")
    func cut() async throws {
        try await ServerFixture.run(isOneLoop: true) { server in
            for id in ["a", "b"] { try await server.store(id, pattern(50)) }
            let requests = [
                ("GET", "/v1/entries/a", ""), ("GET", "/v1/entries/b", "Larder-Test: 1\r\n"),
                ("GET", "/v1/entries/a", "Accept: */*\r\n"), ("GET", "/v1/entries/missing", ""),
                ("HEAD", "/v1/entries/a", ""), ("GET", "/v1/entries/b", ""),
                ("GET", "/v1/entries/a", "If-None-Match: *\r\n"),
            ]
            let text = requests.map { method, path, fields in
                "\(method) \(path) HTTP/1.1\r\nHost: larder\r\n\(fields)\r\n"
            }
            let client = try await server.connect()
            var expected: [RawResponse] = []
            for (text, (method, _, _)) in zip(text, requests) {
                for _ in 0..<3 {
                    try await client.send(text)
                    let answer = try await client.response(to: method).withoutRequestID
                    expected.append(answer)
                }
                let last = expected.suffix(3)
                #expect(last.allSatisfy { $0 == last.first })
                expected.removeLast(2)
            }
            let bytes = Array(text.joined().utf8)
            for place in stride(from: 0, through: bytes.count, by: 5) {
                try await client.send(Array(bytes[..<place]))
                try await client.send(Array(bytes[place...]))
                for (answer, (method, _, _)) in zip(expected, requests) {
                    #expect(try await client.response(to: method).withoutRequestID == answer)
                }
            }
            for byte in bytes { try await client.send([byte]) }
            for (answer, (method, _, _)) in zip(expected, requests) {
                #expect(try await client.response(to: method).withoutRequestID == answer)
            }
        }
    }

    @Test(
        "Every sequence of requests gets the same answers with plain reads and without",
        arguments: SimulationSeeds.first(6)
    )
    func life(seed: UInt64) async throws {
        try await ServerFixture.run { server in
            var random = SeededRandom(seed: seed)
            let clients = [try await server.connect(), try await server.connect()]
            let ids = ["a", "b", "c", "d"]
            var accepted = 0
            for step in 0..<40 {
                let id = random.pick(ids)
                let path = "/v1/entries/\(id)"
                let client = random.pick(clients)
                switch random.next() % 10 {
                case 0..<3:
                    let time = Int(random.next() % 3_000)
                    let isBlob = random.next() % 2 == 0
                    try await server.store(
                        id,
                        pattern(Int(random.next() % 300), seed: random.next()),
                        kind: isBlob ? .blob : .fetched
                    ) {
                        $0.freshUntil = $0.storedAt.advanced(by: .milliseconds(time))
                    }
                case 3: _ = try await client.ask("DELETE", path)
                case 4: server.clock.advance(by: .milliseconds(Int(random.next() % 1_500)))
                case 5:
                    let json = Array(#"{"n":\#(random.next() % 100)}"#.utf8)
                    _ = try await client.ask("PUT", path, body: json)
                case 6:
                    accepted += 1
                    let effect = #"{"type":"put","value":{"w":\#(random.next() % 100)}}"#
                    let request = #"{"method":"POST","url":"\#(ServerFixture.baseURL)/x"}"#
                    let change = #"{"target":{"id":"\#(id)"},"effect":\#(effect)}"#
                    let json =
                        #"{"id":"m\#(accepted)","hold":"1h","changes":[\#(change)],"request":\#(request)}"#
                    _ = try await client.ask("POST", "/v1/modifiers", body: Array(json.utf8))
                case 7: _ = try await client.ask("DELETE", "/v1/modifiers/m\(accepted)")
                case 8:
                    _ = try await client.ask(
                        "POST",
                        "/v1/pins",
                        body: Array(#"{"id":"\#(id)"}"#.utf8)
                    )
                default: _ = try await client.ask("DELETE", "/v1/pins/\(id)")
                }
                for id in ids {
                    for client in clients {
                        let (plain, parsed) = try await answers(client, "/v1/entries/\(id)")
                        let (one, other) = (plain.withoutRequestID, parsed.withoutRequestID)
                        #expect(
                            one == other,
                            "\(SimulationSeeds.advice(seed)), step \(step), \(id)"
                        )
                    }
                }
            }
            #expect(try await readyHits(clients[0]) > 0)
        }
    }

    // MARK: What they hold

    @Test("A ready answer of one user is not used for another")
    func users() throws {
        let ready = ResponseCache(bytesMax: 1 << 20)
        let target = "/v1/entries/a"
        #expect(ready.note(target, 1) == nil)
        #expect(ready.note(target, 2) == nil)
        let asked = try #require(ready.note(target, 1))
        let temporary = try TemporaryStore()
        let reader = try temporary.store.makeReader()
        let (id, now) = (try EntryID("a"), ManualClock.start)
        let scope = temporary.store.key(for: .shared)
        let stamp = reader.stamping { try? reader.entry(scope, id, now: now) }.stamp
        let moments = now..<now.advanced(by: .seconds(1))
        let answer = ResponseCache.Answer(
            asked,
            try #require(stamp),
            moments,
            ["Larder-Rev": "1"],
            ByteBuffer(string: "a")
        )
        ready.keep(answer, to: asked)
        Array(target.utf8).withUnsafeBytes { target in
            #expect(ready.find(target, 1) === answer)
            #expect(ready.find(target, 2) == nil)
        }
    }

    @Test("Ready answers hold no more than they may, those that were used last")
    func bound() async throws {
        try await ServerFixture.run(isOneLoop: true) { server in
            let client = try await server.connect()
            // 8 MiB hold some of these, and never all.
            for number in 0..<300 { try await server.store("\(number)", pattern(60_000)) }
            for _ in 0..<3 {
                for number in 0..<300 {
                    let answer = try await client.ask("GET", "/v1/entries/\(number)")
                    #expect(answer.body == pattern(60_000))
                    _ = try await client.ask("GET", "/v1/entries/0")
                }
            }
            let ready = try await readyHits(client)
            // The one that is asked for all the time stays.
            #expect(ready >= 890 && ready < 1_000)
        }
    }
}

extension RawResponse {
    /// The same, where it is a problem, without what names the request.
    fileprivate var withoutRequestID: RawResponse {
        guard status >= 400, var problem = try? Problem(decoding: body) else { return self }
        problem.requestID = ""
        var other = self
        other.body = problem.encoded()
        other.headers.remove("Content-Length")
        return other
    }
}
