import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

/// The raw route over a scripted upstream, with a clock that stands still.
@Suite("The raw route", .timeLimit(.minutes(5)))
struct RawTests {
    private static let headers = [
        "Content-Type": "text/plain", "ETag": "\"a\"", "Cache-Control": "max-age=60",
        "Last-Modified": "Tue, 14 Nov 2023 22:13:20 GMT", "X-Own": "1", "Set-Cookie": "s=1",
        "Content-Encoding": "br", "Age": "10",
    ]

    private func raw(
        _ server: ServerFixture,
        _ path: String,
        _ headers: [String] = [],
        method: String = "GET"
    ) async throws -> RawResponse {
        try await server.connect().ask(method, "/o/example\(path)", headers)
    }

    @Test("The origin's answer comes with its own head, and then from the cache")
    func answers() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a%2Fb//c?q=1&account=x")
            server.upstream.answer(url, with: .reply("body", headers: Self.headers))
            var response = try await raw(server, "/a%2Fb//c?q=1&account=x")
            #expect(response.status == 200)
            #expect(response.text == "body")
            response.headers.remove("Date")
            #expect(
                response.headers.fields.map { "\($0.name): \($0.value)" }.sorted() == [
                    "Accept-Ranges: bytes", "Age: 10", "Cache-Control: max-age=60",
                    "Cache-Status: larder; fwd=uri-miss; fwd-status=200; stored; ttl=50",
                    "Content-Encoding: br", "Content-Length: 4", "Content-Type: text/plain",
                    "ETag: \"a\"", "Larder-Pending: 0", "Larder-Rev: 1",
                    "Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT",
                    "Server: larderd/\(Version.text)",
                    "Set-Cookie: s=1", "X-Own: 1",
                ]
            )
            server.clock.advance(by: .seconds(70))
            let cached = try await raw(
                server,
                "/a%2Fb//c?q=1&account=x",
                ["Cache-Control: only-if-cached"]
            )
            #expect(cached.text == "body")
            #expect(cached.headers["Age"] == "80")
            #expect(cached.headers["Set-Cookie"] == nil)
            #expect(cached.headers["Cache-Status"] == "larder; hit; ttl=-20")
            #expect(cached.headers["Content-Encoding"] == "br")
            let entry = try await server.connect().ask(
                "GET",
                PercentCoding.entryPath(try EntryID(url))
            )
            #expect(entry.headers["Content-Encoding"] == "br")
            #expect(server.upstream.asked.all.map(\.url) == [url])
        }
    }

    @Test("HEAD is answered before the body is here, and a GET gets the body of the same request")
    func head() async throws {
        try await ServerFixture.run { server in
            let (url, gate) = (try ServerFixture.url("/a"), Gate())
            let fields = Self.headers.merging(["Content-Length": "4"]) { $1 }
            let pieces: [ScriptedAnswer.Piece] = [.hold(gate), .bytes(Array("body".utf8))]
            server.upstream.answer(url, with: .reply(pieces: pieces, 200, fields))
            async let answer = raw(server, "/a")
            _ = try await server.upstream.held.element(0)
            let head = try await raw(server, "/a", method: "HEAD")
            #expect((head.status, head.headers["Content-Length"]) == (200, "4"))
            #expect((head.headers["ETag"], head.headers["X-Own"]) == ("\"a\"", "1"))
            #expect(head.body.isEmpty && head.headers["Set-Cookie"] == nil)
            gate.open()
            #expect(try await answer.text == "body")
            #expect(server.upstream.asked.all.count == 1)
        }
    }

    @Test("HEAD waits for JSON in which entities may show that are newer")
    func headOfEntities() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let (url, gate) = (try ServerFixture.url("/a"), Gate())
            let pieces: [ScriptedAnswer.Piece] = [.hold(gate), .bytes(Array("[1]".utf8))]
            let fields = ["Content-Type": "application/json", "Content-Length": "9"]
            server.upstream.answer(url, with: .reply(pieces: pieces, 200, fields))
            async let head = raw(server, "/a", method: "HEAD")
            _ = try await server.upstream.held.element(0)
            gate.open()
            #expect(try await head.headers["Content-Length"] == "3")
        }
    }

    @Test("A condition that the client's copy meets is answered 304")
    func conditions() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(url, with: .reply("body", headers: Self.headers))
            let fromNetwork = try await raw(server, "/a", ["If-None-Match: \"a\""])
            #expect(fromNetwork.status == 304)
            #expect(fromNetwork.body.isEmpty)
            #expect(fromNetwork.headers["ETag"] == "\"a\"")
            let cached = "Cache-Control: only-if-cached"
            for (condition, status) in [
                ("If-None-Match: W/\"a\"", 304), ("If-None-Match: \"b\"", 200),
                ("If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT", 304),
                ("If-Modified-Since: Tue, 14 Nov 2023 22:13:19 GMT", 200),
            ] {
                let response = try await raw(server, "/a", [cached, condition])
                #expect(response.status == status, "\(condition)")
                #expect(response.text == (status == 200 ? "body" : ""), "\(condition)")
            }
        }
    }

    @Test("The client's condition is its own: the origin is asked with that of what is cached")
    func ownCondition() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(
                url,
                with: .reply("one", headers: ["ETag": "\"1\""]),
                .reply("two", headers: ["ETag": "\"2\""])
            )
            _ = try await raw(server, "/a")
            let response = try await raw(server, "/a", ["If-None-Match: \"0\""])
            #expect(response.text == "two")
            let asked = server.upstream.asked.all.map { $0.headers["If-None-Match"] }
            #expect(asked == [nil, "\"1\""])
        }
    }

    @Test("only-if-cached without a cached answer is 504, and sends no request")
    func onlyIfCached() async throws {
        try await ServerFixture.run { server in
            let response = try await raw(server, "/a", ["Cache-Control: only-if-cached"])
            let problem = try response.problem()
            #expect(problem.kind == .miss)
            #expect(response.status == 504)
            #expect(response.headers["Cache-Status"] == "larder; detail=miss")
            #expect(server.upstream.asked.all.isEmpty)
        }
    }

    @Test("no-cache has the network confirm, and takes nothing from the cache without it")
    func noCache() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(
                url,
                with: .reply("body", headers: Self.headers),
                .reply(status: 304),
                .failure(.timedOut(.head))
            )
            _ = try await raw(server, "/a")
            let confirmed = try await raw(server, "/a", ["Cache-Control: no-cache"])
            #expect(confirmed.text == "body")
            let status = "larder; fwd=request; fwd-status=304; stored; ttl=60"
            #expect(confirmed.headers["Cache-Status"] == status)
            let failed = try await raw(server, "/a", ["Cache-Control: no-cache"])
            #expect(failed.status == 504)
            #expect(try failed.problem().kind == .timeout)
        }
    }

    @Test("max-stale asks for what the origin wants to be revalidated, and shows it if that fails")
    func mustRevalidate() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let headers = ["Cache-Control": "max-age=60, must-revalidate"]
            server.upstream.answer(url, with: .reply("one", headers: headers))
            _ = try await raw(server, "/a")
            server.clock.advance(by: .seconds(70))
            server.upstream.answer(url, with: .reply("two", headers: headers))
            #expect(try await raw(server, "/a", ["Cache-Control: max-stale"]).text == "two")
            server.clock.advance(by: .seconds(70))
            server.upstream.answer(url, with: .failure(.timedOut(.head)))
            #expect(try await raw(server, "/a", ["Cache-Control: max-stale"]).text == "two")
            #expect(server.upstream.asked.all.count == 3)
        }
    }

    @Test("max-stale takes from the cache what is stale by so much, and asks for the rest")
    func maxStale() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(
                url,
                with: .reply("one", headers: ["Cache-Control": "max-age=60"])
            )
            _ = try await raw(server, "/a")
            server.clock.advance(by: .seconds(70))
            for control in ["max-stale", "max-stale=10"] {
                let response = try await raw(server, "/a", ["Cache-Control: \(control)"])
                #expect(response.text == "one")
                #expect(response.headers["Cache-Status"] == "larder; hit; ttl=-10")
            }
            #expect(server.upstream.asked.all.count == 1)
            server.upstream.answer(url, with: .reply("two"))
            let newer = try await raw(server, "/a", ["Cache-Control: max-stale=9"])
            #expect(newer.text == "two")
        }
    }

    @Test("no-store passes the answer on and keeps nothing of it")
    func noStore() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(url, with: .reply("body", headers: Self.headers))
            let response = try await raw(server, "/a", ["Cache-Control: no-store"])
            #expect(response.text == "body")
            #expect(response.headers["Larder-Rev"] == nil)
            #expect(response.headers["Set-Cookie"] == "s=1")
            #expect(response.headers["Transfer-Encoding"] == "chunked")
            #expect(server.upstream.asked.all.map(\.purpose) == [.passingOn])
            let cached = try await raw(server, "/a", ["Cache-Control: only-if-cached"])
            #expect(cached.status == 504)
        }
    }

    @Test("A cookie is for the one who asked, and not for who joined the same request")
    func cookieOfOne() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let gate = Gate()
            server.upstream.answer(
                url,
                with: .reply("one", headers: ["Set-Cookie": "s=1"]).held(by: gate),
                .reply("one")
            )
            let first = try await server.connect()
            try await first.send("GET /o/example/a HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try await server.upstream.asked.element(0)
            let second = try await server.connect()
            try await second.send("GET /o/example/a HTTP/1.1\r\nHost: x\r\n\r\n")
            try await server.expectServing()
            gate.open()
            let replies = [try await first.response(), try await second.response()]
            #expect(replies.map(\.text) == ["one", "one"])
            #expect(replies.map { $0.headers["Set-Cookie"] } == ["s=1", nil])
        }
    }

    @Test("A cookie of the origin's 304 is for the one who asked, with or without a body")
    func cookieOfConfirmation() async throws {
        try await ServerFixture.run { server in
            server.upstream.answer(
                try ServerFixture.url("/a"),
                with: .reply("body", headers: ["ETag": "\"a\""]),
                .reply(status: 304, headers: ["Set-Cookie": "s=2"]),
                .reply(status: 304, headers: ["Set-Cookie": "s=3"])
            )
            _ = try await raw(server, "/a")
            let whole = try await raw(server, "/a")
            #expect((whole.text, whole.headers["Set-Cookie"]) == ("body", "s=2"))
            let confirmed = try await raw(server, "/a", ["If-None-Match: \"a\""])
            #expect((confirmed.status, confirmed.headers["Set-Cookie"]) == (304, "s=3"))
            let cached = try await raw(server, "/a", ["Cache-Control: only-if-cached"])
            #expect(cached.headers["Set-Cookie"] == nil)
        }
    }

    @Test("A GET with a body is passed on, and is neither stored nor answered from the cache")
    func bodyOfGet() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let answers: [ScriptedAnswer] = [.reply("all"), .reply("one"), .reply("two")]
            for answer in answers { server.upstream.answer(url, with: answer) }
            #expect(try await raw(server, "/a").text == "all")
            let client = try await server.connect()
            for (body, text) in [("1", "one"), ("2", "two")] {
                let bytes = Array(body.utf8)
                let response = try await client.ask("GET", "/o/example/a", body: bytes)
                #expect(response.text == text)
                #expect(response.headers["Cache-Status"] == "larder; fwd=method; fwd-status=200")
                let sent = try #require(server.upstream.asked.all.last)
                #expect(sent.method == "GET")
                #expect(sent.body == bytes)
            }
            let cached = ["Cache-Control: only-if-cached"]
            #expect(try await client.ask("GET", "/o/example/a", cached, body: []).text == "all")
        }
    }

    @Test("A blank after the length of a body is no part of it")
    func blankAfterLength() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(url, with: .reply("one"))
            let client = try await server.connect()
            let head = "GET /o/example/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1 \r\n\r\n"
            try await client.send("\(head)1")
            #expect(try await client.response().text == "one")
            #expect(server.upstream.asked.all.last?.body == [0x31])
        }
    }

    @Test(
        "A GET with a body that is to be answered from the cache only asks no network",
        arguments: ["Cache-Control: only-if-cached", "Larder-Policy: cache-only"]
    )
    func bodyOfCachedGet(header: String) async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(url, with: .reply("all"))
            server.upstream.answer(url, with: .reply("one"))
            #expect(try await raw(server, "/a").text == "all")
            let client = try await server.connect()
            let response = try await client.ask("GET", "/o/example/a", [header], body: [0x31])
            #expect(response.status == 504)
            #expect(server.upstream.asked.all.count == 1)
        }
    }

    @Test("Another account sees other rows and asks for itself")
    func account() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(url, with: .reply("one"), .reply("two"))
            #expect(try await raw(server, "/a").text == "one")
            let cached = "Cache-Control: only-if-cached"
            let work = "Larder-Account: work"
            #expect(try await raw(server, "/a", [work, cached]).status == 504)
            #expect(try await raw(server, "/a", [work]).text == "two")
            #expect(try await raw(server, "/a", [cached]).text == "one")
            #expect(server.upstream.asked.all.map(\.headers) == [HeaderFields(), HeaderFields()])
        }
    }

    @Test("The raw route shares a request with other clients that fetch the same")
    func shared() async throws {
        try await ServerFixture.run { server in
            let gate = Gate()
            let url = try ServerFixture.url("/a")
            try await server.store(url.text, Array("old".utf8))
            server.upstream.answer(url, with: .reply("new").held(by: gate))
            async let raw = raw(server, "/a", ["User-Agent: another"])
            _ = try await server.upstream.asked.element(0)
            let client = try await server.connect()
            try await client.send("GET /v1/fetch?url=\(url.text) HTTP/1.1\r\nHost: x\r\n\r\n")
            // Who was shown the cache has asked the network before.
            try await client.seen("\"source\":\"cache\"")
            gate.open()
            #expect(try await raw.text == "new")
            #expect(try await client.response().frames().count == 3)
            #expect(server.upstream.asked.all.count == 1)
        }
    }

    @Test("Larder-Policy is the policy of the read, and one that does not exist is refused")
    func policy() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            try await server.store(url.text, Array("old".utf8))
            let only = try await raw(server, "/a", ["Larder-Policy: cache-only"])
            #expect(only.text == "old")
            server.upstream.answer(url, with: .reply("new"))
            let network = try await raw(server, "/a", ["Larder-Policy: network-only"])
            #expect(network.text == "new")
            #expect(server.upstream.asked.all.map(\.headers["Larder-Policy"]) == [nil])
            let wrong = try await raw(server, "/a", ["Larder-Policy: cache"])
            #expect(wrong.status == 400)
            #expect(try wrong.problem().hint.contains("cache-only"))
        }
    }

    @Test(
        "A raw request that is not possible is refused with a hint",
        arguments: [
            ("GET", "/o/none/x", 404, ProblemKind.unknownOrigin),
            ("GET", "/o/", 400, .badRequest),
            ("GET", "/o/example/../x", 400, .badURL),
            ("GET", "/o/example/%2e%2e/x", 400, .badURL),
            ("POST", "/o/example/../x", 400, .badURL),
            ("DELETE", "/o/none/x", 404, .unknownOrigin),
            ("OPTIONS", "/o/none/x", 404, .unknownOrigin),
            ("TRACE", "/o/example/x", 405, .methodNotAllowed),
        ]
    )
    func refusals(method: String, path: String, status: Int, kind: ProblemKind) async throws {
        try await ServerFixture.run { server in
            let response = try await server.connect().ask(method, path)
            let problem = try response.problem()
            #expect(response.status == status)
            #expect(problem.kind == kind)
            let allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
            #expect(response.headers["Allow"] == (status == 405 ? allowed : nil))
            #expect(server.upstream.asked.all.isEmpty)
        }
    }

    @Test("A 404 has the origin's own words, and those that are too long give a problem")
    func wordsOfDeletion() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let headers = ["X-Own": "1", "Content-Type": "application/json"]
            server.upstream.answer(
                url,
                with: .reply(#"{"code":7}"#, status: 404, headers: headers),
                .reply(String(repeating: "n", count: 70_000), status: 410, headers: headers),
                .reply(#"{"code":8}"#, status: 404, headers: headers),
                .reply(#"{"code":9}"#, status: 404, headers: headers)
            )
            let own = try await raw(server, "/a")
            #expect(own.status == 404 && own.text == #"{"code":7}"#)
            #expect(own.headers["X-Own"] == "1")
            let long = try await raw(server, "/a")
            #expect(long.status == 410)
            #expect(try long.problem().kind == .deleted)
            let path = "/v1/fetch?url=\(url.text)"
            let fetched = try await server.connect().ask("GET", path)
            #expect(try fetched.problem().kind == .deleted)
            let got = try await server.connect().ask("GET", "/v1/get?url=\(url.text)")
            #expect(try got.problem().kind == .deleted, "/v1/get has the daemon's problem")
        }
    }

    @Test("A fetch that joins a raw request hears of the deletion, not of the origin's words")
    func joinedDeletion() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let gate = Gate()
            server.upstream.answer(
                url,
                with: .json(#"{"v":1}"#, headers: ["Cache-Control": "no-cache"]),
                .reply("gone", status: 404).held(by: gate)
            )
            #expect(try await raw(server, "/a").status == 200)
            async let own = raw(server, "/a")
            _ = try await server.upstream.asked.element(1)
            async let joined = server.connect().ask(
                "GET",
                "/v1/fetch?url=\(url.text)&policy=network-first"
            )
            let stats = try await server.connect()
            while try await stats.ask("GET", "/v1/stats").text.contains(#""joined":0"#) {}
            gate.open()
            #expect(try await own.text == "gone")
            #expect(try await joined.problem().kind == .deleted)
        }
    }

    @Test("A redirect that the daemon does not follow is the origin's answer, unless a portal's")
    func foreignRedirect() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let elsewhere = ["Location": "https://files.example.net/a?sign=1"]
            let downgrade = ["Location": "http://api.example.com/a"]
            server.upstream.answer(
                url,
                with: .reply("there", status: 302, headers: elsewhere),
                .reply(status: 307, headers: downgrade),
                .reply(status: 302, headers: ["Location": "//files.example.net/b"]),
                .reply(status: 302, headers: elsewhere),
                .reply(status: 302, headers: elsewhere)
            )
            let found = try await raw(server, "/a")
            #expect(found.status == 302 && found.text == "there")
            #expect(found.headers["Location"] == elsewhere["Location"])
            let lower = try await raw(server, "/a")
            #expect(lower.status == 307)
            #expect(lower.headers["Location"] == downgrade["Location"])
            let hostOnly = try await raw(server, "/a")
            #expect(hostOnly.headers["Location"] == "https://files.example.net/b")
            for path in ["/v1/fetch", "/v1/get"] {
                let response = try await server.connect().ask("GET", "\(path)?url=\(url.text)")
                #expect(try response.problem().kind == .redirectRefused, "\(path)")
            }
            #expect(server.upstream.asked.all.count == 5)
        }
    }

    @Test("An origin's refusal that is longer than what is quoted comes whole")
    func longRefusal() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let words = String(repeating: "no ", count: 50_000)
            server.upstream.answer(
                url,
                with: .reply(words, status: 400),
                .reply(words, status: 400, headers: ["WWW-Authenticate": "Basic"])
            )
            let response = try await raw(server, "/a")
            #expect(response.status == 400)
            #expect(response.text == words)
            #expect(response.headers["WWW-Authenticate"] == "Basic")
            #expect(server.upstream.asked.all.map(\.purpose) == [.read, .passingOn])
        }
    }
}
