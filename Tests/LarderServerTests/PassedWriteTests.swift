import LarderAPI
import LarderEngine
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

/// Writes that the raw route passes on, over a scripted upstream, with a clock that stands still.
@Suite("Writes that are passed on", .timeLimit(.minutes(5)))
struct PassedWriteTests {
    static let path = "/o/example/a"

    private func write(
        _ server: ServerFixture,
        _ method: String = "POST",
        _ headers: [String] = [],
        _ body: String = "x"
    ) async throws -> RawResponse {
        try await server.connect().ask(method, Self.path, headers, body: Array(body.utf8))
    }

    private func cached(
        _ server: ServerFixture,
        _ headers: [String] = []
    ) async throws -> RawResponse {
        let only = "Cache-Control: only-if-cached"
        return try await server.connect().ask("GET", Self.path, [only] + headers)
    }

    /// The part of Cache-Status that a fresh answer has.
    private func isFresh(_ response: RawResponse) -> Bool {
        response.headers["Cache-Status"] == "larder; hit; ttl=60"
    }

    private static let fresh = ["Cache-Control": "max-age=60"]

    @Test("The origin gets the client's own fields, and the client gets the origin's answer")
    func fields() async throws {
        try await ServerFixture.run { server in
            let answer: [String: String] = [
                "Content-Type": "text/plain", "X-Own": "1", "Set-Cookie": "s=1",
                "Content-Encoding": "br", "Location": "/b", "Connection": "x-hop", "X-Hop": "2",
                "Keep-Alive": "timeout=5", "Larder-Rev": "9",
            ]
            let url = try ServerFixture.url("/a")
            server.upstream.answer(url, with: .reply("made", status: 201, headers: answer))
            let own = [
                "Authorization: Bearer t", "Cookie: a=b", "User-Agent: test/1", "Accept: */*",
                "Content-Type: text/plain", "If-Match: \"a\"", "Prefer: return=minimal",
                "Accept-Encoding: gzip", "Range: bytes=0-1", "X-Own: 1", "X-Own: 2",
                "Idempotency-Key: k", "Content-Encoding: gzip",
            ]
            let others = [
                "Larder-Client: c", "Larder-Policy: cache-only", "Larder-Other: 1", "TE: trailers",
                "Connection: x-hop, keep-alive", "X-Hop: 1", "Keep-Alive: timeout=9",
                "Proxy-Authorization: Basic x", "Expect: 100-continue",
            ]
            let before = server.store.totals
            let client = try await server.connect()
            let head = (own + others).map { "\($0)\r\n" }.joined()
            try await client.send(
                "POST \(Self.path) HTTP/1.1\r\nHost: larder\r\n\(head)Content-Length: 4\r\n\r\n"
            )
            #expect(try await client.response(to: "POST").status == 100)
            try await client.send("body")
            let response = try await client.response(to: "POST")
            #expect(response.status == 201)
            #expect(response.text == "made")
            let fields = response.withoutDate.headers.fields.map { "\($0.name): \($0.value)" }
            #expect(
                fields.sorted() == [
                    "Cache-Status: larder; fwd=method; fwd-status=201", "Content-Encoding: br",
                    "Content-Type: text/plain", "Larder-Pending: 0", "Location: /b",
                    "Server: larderd/\(Version.text)", "Set-Cookie: s=1",
                    "X-Own: 1", "transfer-encoding: chunked",
                ]
            )
            let sent = try #require(server.upstream.asked.all.first)
            #expect(server.upstream.asked.all.count == 1)
            #expect(sent.method == "POST")
            #expect(sent.url == url)
            #expect(sent.body == Array("body".utf8))
            #expect(sent.headers.fields.map { "\($0.name): \($0.value)" } == own)
            #expect(server.store.totals == before)
            #expect(server.store.modifiers.totals.count == 0)
        }
    }

    @Test(
        "A write may be repeated on a dead connection as a modifier may",
        arguments: [
            ("PUT", [], true), ("DELETE", [], true), ("POST", [], false), ("PATCH", [], false),
            ("PATCH", ["Content-Type: application/merge-patch+json"], true),
            ("POST", ["If-Match: \"a\""], false), ("PUT", ["If-Match: \"a\""], false),
            ("PUT", ["If-None-Match: *"], false), ("POST", ["X-Key: k"], true),
            ("POST", ["Idempotency-Key: k"], false),
        ]
    )
    func repeatable(method: String, headers: [String], isRepeatable: Bool) async throws {
        let adjust: (inout OriginSettings) -> Void = { settings in
            settings.modifiers.idempotency.header = "X-Key"
            settings.modifiers.idempotency.isHonoured = true
        }
        try await ServerFixture.run(adjusting: adjust) { server in
            server.upstream.answer(try ServerFixture.url("/a"), with: .reply(status: 204))
            #expect(try await write(server, method, headers).status == 204)
            #expect(server.upstream.asked.all.map(\.isRepeatable) == [isRepeatable])
        }
    }

    @Test(
        "A 2xx and a 3xx make the URL with its variants stale, and no other answer does",
        arguments: [
            (200, false), (204, false), (303, false), (304, false), (400, true), (404, true),
            (503, true),
        ]
    )
    func stale(status: Int, staysFresh: Bool) async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let varying = Self.fresh.merging(["Vary": "Accept-Language"]) { $1 }
            server.upstream.answer(
                url,
                with: .reply("plain", headers: Self.fresh),
                .reply("de", headers: varying),
                .reply("no", status: status)
            )
            let client = try await server.connect()
            let german = ["Accept-Language: de"]
            #expect(try await client.ask("GET", Self.path).text == "plain")
            let network = german + ["Cache-Control: no-cache"]
            #expect(try await client.ask("GET", Self.path, network).text == "de")
            #expect(isFresh(try await cached(server)))
            #expect(isFresh(try await cached(server, german)))
            #expect(try await write(server).status == status)
            #expect(isFresh(try await cached(server)) == staysFresh)
            #expect(isFresh(try await cached(server, german)) == staysFresh)
            #expect(try await cached(server, german).text == "de")
        }
    }

    @Test("Location and Content-Location of the same origin are made stale (RFC 9111 4.4)")
    func staleLocations() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for name in ["b", "c", "d"] {
                let url = try ServerFixture.url("/\(name)")
                server.upstream.answer(url, with: .reply(name, headers: Self.fresh))
                #expect(try await client.ask("GET", "/o/example/\(name)").text == name)
            }
            let elsewhere = ["Location": "https://other.example/b", "Content-Location": ":"]
            let places = ["Location": "/b", "Content-Location": "c"]
            let url = try ServerFixture.url("/a")
            for (headers, staysFresh) in [(elsewhere, true), (places, false)] {
                server.upstream.answer(url, with: .reply("done", status: 201, headers: headers))
                #expect(try await write(server).status == 201)
                for name in ["b", "c", "d"] {
                    let only = ["Cache-Control: only-if-cached"]
                    let shown = try await client.ask("GET", "/o/example/\(name)", only)
                    #expect(isFresh(shown) == (staysFresh || name == "d"), "\(name)")
                }
            }
        }
    }

    @Test("A read that started before the answer does not overwrite it (P-06)")
    func overtaken() async throws {
        try await ServerFixture.run { server in
            let (url, gate) = (try ServerFixture.url("/a"), Gate())
            server.upstream.answer(
                url,
                with: .reply("old", headers: Self.fresh).held(by: gate),
                .reply("done"),
                .reply("new", headers: Self.fresh)
            )
            let reader = try await server.connect()
            try await reader.send("GET \(Self.path) HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try await server.upstream.asked.element(0)
            #expect(try await write(server, "PUT").text == "done")
            gate.open()
            #expect(try await reader.response().text == "new")
            #expect(try await cached(server).text == "new")
        }
    }

    @Test("A write without a clear answer leaves nothing fresh, and is not told as repeatable")
    func unclear() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(
                url,
                with: .reply("plain", headers: Self.fresh),
                .failure(.brokenOff(reason: "reset"))
            )
            #expect(try await server.connect().ask("GET", Self.path).text == "plain")
            let response = try await write(server)
            #expect(response.status == 502)
            let problem = try response.problem()
            #expect(problem.kind == .badAnswer)
            #expect(problem.detail.hasSuffix("it may have received the POST"))
            #expect(!problem.retryable)
            #expect(try await !isFresh(cached(server)))
        }
    }

    @Test("A write that cannot have left is told as one, and changes nothing")
    func unreachable() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(
                url,
                with: .reply("plain", headers: Self.fresh),
                .failure(.closed(host: "x", hasLeft: false))
            )
            #expect(try await server.connect().ask("GET", Self.path).text == "plain")
            let response = try await write(server)
            #expect(response.status == 502)
            #expect(try response.problem().kind == .unreachable)
            #expect(try response.problem().retryable)
            #expect(isFresh(try await cached(server)))
        }
    }

    @Test("An origin that says nothing for its timeout is told as 504, and the request is given up")
    func timeout() async throws {
        let adjust: (inout OriginSettings) -> Void = { $0.fetch.timeout = .seconds(7) }
        try await ServerFixture.run(adjusting: adjust) { server in
            server.upstream.answer(
                try ServerFixture.url("/a"),
                with: .reply("late").held(by: Gate())
            )
            let client = try await server.connect()
            client.begin(
                Array("POST \(Self.path) HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx".utf8)
            )
            try await server.clock.sleepers(until: .seconds(7))
            server.clock.advance(by: .seconds(7))
            let response = try await client.response(to: "POST")
            #expect(response.status == 504)
            #expect(try response.problem().kind == .timeout)
            _ = try await server.upstream.givenUp.element(0)
        }
    }

    @Test("No write leaves for an origin that was set offline")
    func offline() async throws {
        try await ServerFixture.run { server in
            let name = try OriginName("example")
            _ = try await server.engine.origins.setOffline(name, true, for: 0)
            let response = try await write(server)
            #expect(response.status == 503)
            #expect(try response.problem().kind == .offline)
            #expect(server.upstream.asked.all.isEmpty)
        }
    }

    @Test("The answer of a captive portal is no answer, and no further write goes to the portal")
    func captive() async throws {
        try await ServerFixture.run { server in
            server.upstream.answerOthers { _ in .reply("<html>", status: 511) }
            for count in 1...2 {
                let response = try await write(server)
                #expect(response.status == 502)
                #expect(try response.problem().kind == .captive)
                let writes = server.upstream.asked.all.filter { $0.method == "POST" }
                #expect(writes.count == 1, "\(count)")
            }
            server.upstream.answerOthers { _ in .reply("yes") }
            #expect(try await write(server).text == "yes")
        }
    }

    @Test("A client that hangs up gives the write up")
    func hangUp() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(url, with: .reply("late").held(by: Gate()))
            let client = try await server.connect()
            client.begin(Array("DELETE \(Self.path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
            _ = try await server.upstream.asked.element(0)
            await client.hangUp()
            #expect(try await server.upstream.givenUp.element(0).method == "DELETE")
            try await server.expectServing()
        }
    }

    @Test("The origin's own credential is sent, and another one of the client is refused")
    func credentials() async throws {
        let adjust: (inout OriginSettings) -> Void = { settings in
            settings.headers.append("Authorization", "Bearer own")
        }
        try await ServerFixture.run(adjusting: adjust) { server in
            server.upstream.answerOthers { _ in .reply("yes") }
            let response = try await write(server, "PUT", ["Authorization: Bearer t"])
            #expect(response.status == 400)
            #expect(try response.problem().detail.contains("Authorization"))
            #expect(server.upstream.asked.all.isEmpty)
            #expect(try await write(server, "PUT").status == 200)
            let sent = try #require(server.upstream.asked.all.first)
            #expect(sent.origin.headers["Authorization"] == "Bearer own")
        }
    }

    @Test("Each account's write carries the credential of the account")
    func accounts() async throws {
        try await ServerFixture.run { server in
            server.upstream.answerOthers { _ in .reply("yes") }
            let set = try await server.connect().ask(
                "PUT",
                "/v1/origins/example/credential",
                ["Content-Type: application/json"],
                body: Array(#"{"account":"work","value":"Bearer work"}"#.utf8)
            )
            #expect(set.status < 300)
            #expect(try await write(server, "PUT", ["Larder-Account: work"]).status == 200)
            #expect(try await write(server, "PUT").status == 200)
            let sent = server.upstream.asked.all.map { $0.origin.headers["Authorization"] }
            #expect(sent == ["Bearer work", nil])
        }
    }

    @Test("OPTIONS is passed on, changes nothing here, and waits for no write")
    func options() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let gate = Gate()
            server.upstream.answer(
                url,
                with: .reply("plain", headers: Self.fresh),
                .reply(status: 204).held(by: gate),
                .reply(status: 204, headers: ["Allow": "GET, PUT"])
            )
            #expect(try await server.connect().ask("GET", Self.path).text == "plain")
            let later = ["Prefer: respond-async"]
            #expect(try await write(server, "POST", later).status == 202)
            _ = try await server.upstream.asked.element(1)
            let response = try await server.connect().ask("OPTIONS", Self.path, later)
            #expect(response.status == 204)
            #expect(response.headers["Allow"] == "GET, PUT")
            #expect(isFresh(try await cached(server)))
            gate.open()
        }
    }

    @Test("A URL with an id that is not known yet is refused, as the origin cannot know it")
    func temporaryID() async throws {
        try await ServerFixture.run { server in
            server.upstream.answerOthers { _ in .reply("yes") }
            let path = "/o/example/todos/tmp:01234567-89ab-4cde-8f01-23456789abcd"
            let response = try await server.connect().ask("PUT", path, body: [1])
            #expect(response.status == 422)
            #expect(try response.problem().hint.contains("respond-async"))
            #expect(server.upstream.asked.all.isEmpty)
        }
    }

    @Test("A method of another protocol goes to the origin with its body (S34)")
    func methodOfWebDAV() async throws {
        try await ServerFixture.run { server in
            server.upstream.answerOthers { _ in .reply("<multistatus/>", status: 207) }
            let url = ServerFixture.baseURL + "/a"
            for (method, target) in [("PROPFIND", Self.path), ("REPORT", url), ("MKCOL", url)] {
                let response = try await server.connect().ask(method, target, body: [1, 2])
                #expect(response.status == 207)
                #expect(response.text == "<multistatus/>")
                let sent = try #require(server.upstream.asked.all.last)
                #expect(sent.method == method && sent.body == [1, 2])
                #expect(sent.isRepeatable == (method != "MKCOL"))
            }
            #expect(try await server.connect().ask("PROPFIND", "/v1/entries").status == 405)
        }
    }

    @Test("TRACE and CONNECT are refused, whatever the form of their target")
    func refused() async throws {
        try await ServerFixture.run { server in
            let url = ServerFixture.baseURL + "/a"
            for (method, target, status) in [
                ("TRACE", Self.path, 405), ("TRACE", url, 405), ("CONNECT", Self.path, 405),
                ("CONNECT", "api.example.com:443", 404),
            ] {
                let response = try await server.connect().ask(method, target)
                #expect(response.status == status, "\(method) \(target)")
                let allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
                #expect(response.headers["Allow"] == (status == 405 ? allowed : nil))
            }
            #expect(server.upstream.asked.all.isEmpty)
        }
    }
}

/// Writes that follow queued writes of the same URL.
@Suite("Writes that are passed on after queued ones", .timeLimit(.minutes(5)))
struct PassedLaneTests {
    private static let later = ["Prefer: respond-async"]
    private static let path = PassedWriteTests.path

    private func begin(_ server: ServerFixture, _ method: String) async throws -> RawClient {
        let client = try await server.connect()
        client.begin(
            Array("\(method) \(Self.path) HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx".utf8)
        )
        return client
    }

    @Test("A write waits for queued writes of its URL, and leaves after them (S34)")
    func waits() async throws {
        try await ServerFixture.run { server in
            let gate = Gate()
            server.upstream.answer(
                try ServerFixture.url("/a"),
                with: .reply(status: 204).held(by: gate)
            )
            // The read after the queued write may come before the next write.
            server.upstream.answerOthers { $0.method == "PUT" ? .reply("second") : .reply("read") }
            server.upstream.answer(try ServerFixture.url("/b"), with: .reply("other"))
            let queued = try await server.connect().ask("POST", Self.path, Self.later, body: [1])
            #expect(queued.status == 202)
            _ = try await server.upstream.asked.element(0)
            let client = try await begin(server, "PUT")
            try await server.clock.sleepers(until: FetchSettings().timeout)
            let other = try await server.connect().ask("POST", "/o/example/b", body: [1])
            #expect(other.text == "other", "another lane is free")
            #expect(server.upstream.asked.all.map(\.method) == ["POST", "POST"])
            gate.open()
            #expect(try await client.response(to: "PUT").text == "second")
        }
    }

    @Test(
        "If they do not leave within the timeout, the write is answered 503 with Retry-After (S34)"
    )
    func timeout() async throws {
        let adjust: (inout OriginSettings) -> Void = { $0.fetch.timeout = .seconds(7) }
        try await ServerFixture.run(adjusting: adjust) { server in
            let gate = Gate()
            server.upstream.answer(
                try ServerFixture.url("/a"),
                with: .reply(status: 204).held(by: gate)
            )
            let queued = try await server.connect().ask("POST", Self.path, Self.later, body: [1])
            #expect(queued.status == 202)
            _ = try await server.upstream.asked.element(0)
            let client = try await begin(server, "PUT")
            try await server.clock.sleepers(until: .seconds(7))
            server.clock.advance(by: .seconds(7))
            let response = try await client.response(to: "PUT")
            #expect(response.status == 503)
            #expect(response.headers["Retry-After"] != nil)
            let problem = try response.problem()
            #expect(problem.detail.contains("queued writes"))
            #expect(problem.hint.contains("cachectl queue"))
            #expect(server.upstream.asked.all.count == 1)
            gate.open()
        }
    }
}
