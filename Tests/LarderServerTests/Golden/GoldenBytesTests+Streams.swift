import Glibc
import LarderEngine
import LarderModel
import LarderServer
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

extension GoldenBytesTests {
    private static func query(_ path: String, _ more: String = "") -> String {
        "/v1/fetch?url=\(PercentCoding.encode(ServerFixture.baseURL + path))\(more)"
    }

    @Test("Fetches")
    func fetches() async throws {
        try await Transcript.check("fetch.http", timeout: .milliseconds(1)) { said in
            try await Self.fetchFrames(said)
            try await Self.fetchProblems(said)
            try await Self.follow(said)
        }
    }

    private static func fetchFrames(_ said: Transcript) async throws {
        let url = try ServerFixture.url("/42")
        said.server.upstream.answer(
            url,
            with: .json(#"{"n":1}"#, headers: ["ETag": "\"a1\""]),
            .json(#"{"n":2}"#, headers: ["ETag": "\"a2\""]),
            .reply(status: 304),
            .reply("bytes", headers: ["Content-Type": "text/plain"]),
            .json(#"{"why":"no"}"#, status: 403),
            .reply(status: 410)
        )
        try await said.ask("An answer of the network", "GET", query("/42"))
        said.server.clock.advance(by: .seconds(5))
        try await said.ask("An answer of the cache and another of the network", "GET", query("/42"))
        try await said.ask(
            "A confirmed answer as events",
            "GET",
            query("/42"),
            ["Accept: text/event-stream"]
        )
        try await said.ask(
            "An answer that is no JSON, by POST",
            "POST",
            "/v1/fetch",
            ["Accept: application/x-ndjson"],
            body: #"{"url":"\#(url.text)","headers":{"Accept-Language":"de"}}"#
        )
        try await said.ask("A refusal after a cached answer", "GET", query("/42"))
        try await said.ask("A deletion after a cached answer", "GET", query("/42"))
        try await said.ask("A deleted answer", "GET", query("/42", "&policy=cache-only"))
        said.server.upstream.answer(try ServerFixture.url("/43"), with: .json("[1]"))
        try await said.ask(
            "All frames as one document",
            "GET",
            query("/43"),
            ["Accept: application/json"]
        )
        let get = query("/43", "&policy=cache-only").replacing("/v1/fetch?", with: "/v1/get?")
        try await said.ask("The body alone", "GET", get)
        try await said.ask("The head of the body", "HEAD", get)
        try await said.ask(
            "A browser that is back after the end",
            "GET",
            query("/43"),
            ["Last-Event-ID: end"]
        )
    }

    private static func fetchProblems(_ said: Transcript) async throws {
        let upstream = said.server.upstream
        try await said.ask("Nothing is cached", "GET", query("/a", "&policy=cache-only"))
        try await said.ask("The URL of no origin", "GET", "/v1/fetch?url=https://other.example/")
        try await said.ask("A URL that is none", "GET", "/v1/fetch?url=ftp://example.com/")
        try await said.ask("A parameter is missing", "GET", "/v1/fetch")
        try await said.ask("A parameter is given twice", "GET", query("/a", "&policy=a&policy=b"))
        try await said.ask("A policy that is none", "GET", query("/a", "&policy=cache-frist"))
        let post = query("/a", "&method=POST&body_text=x")
        try await said.ask("A POST that may change something", "GET", post)
        try await said.ask(
            "What is followed is no document",
            "GET",
            query("/a", "&follow=true"),
            ["Accept: application/json"]
        )
        for (title, answer) in [
            ("The origin refuses", ScriptedAnswer.json(#"{"why":"no"}"#, status: 403)),
            (
                "The origin redirects elsewhere",
                .reply(status: 302, headers: ["Location": "https://elsewhere.example/"])
            ),
            (
                "The origin's address is private",
                .failure(.addressRefused(host: "api.example.com", address: "10.0.0.1"))
            ),
            ("The origin breaks off", .failure(.brokenOff(reason: "the connection was closed"))),
            ("The origin is too slow", .failure(.timedOut(.head))),
            ("A portal answers", .reply("sign in", status: 511)),
            ("There are no files", .failure(.shortage(reason: "too many open files"))),
            ("The origin has no such thing", .reply("no", status: 404)),
        ] {
            let name = title.replacing(" ", with: "-")
            upstream.answer(try ServerFixture.url("/\(name)"), with: answer)
            try await said.ask(title, "GET", query("/\(name)"))
        }
        try await said.ask("The origin is not reached", "GET", query("/away"))
        try await said.server.setOffline(true)
        try await said.ask("The origin is offline", "GET", query("/away"))
        try await said.server.setOffline(false)
    }

    /// A fetch that stays open: what is written by others, what its origin does, heartbeats, the
    /// end.
    private static func follow(_ said: Transcript) async throws {
        let server = said.server
        server.upstream.answer(try ServerFixture.url("/44"), with: .json("1"), .json("2"))
        let follower = try await server.connect()
        let target = query("/44", "&follow=true")
        try await follower.send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
        try await follower.seen(#""body":1"#)
        _ = try await said.client.ask("GET", query("/44"))
        try await follower.seen(#""body":2"#)
        try await said.server.setOffline(true)
        try await follower.seen(#""type":"origin""#)
        server.server.drain()
        said.write(
            "A fetch that stays open",
            "GET",
            target,
            response: try await follower.response()
        )
    }

    private static let json = ["Accept: application/json"]

    @Test("Watches")
    func watches() async throws {
        try await Transcript.check("watch.http") { said in
            let client = said.client
            _ = try await client.ask("PUT", "/v1/entries/a", body: [0x31])
            try await said.ask(
                "What there is, as JSON Lines",
                "GET",
                "/v1/watch?initial=1&timeout=0ms&prefix=a",
                ["Accept: application/jsonl"]
            )
            let put = try await client.ask("PUT", "/v1/entries/a", body: [0x32])
            _ = try await client.ask("PUT", "/v1/entries/b", body: [0x31])
            let rev = try #require(put.headers["Larder-Rev"])
            try await said.ask(
                "A long poll",
                "GET",
                "/v1/watch?since=\(rev)&timeout=30s",
                Self.json
            )
            try await said.ask("A long poll of nothing", "GET", "/v1/watch?timeout=0ms", Self.json)
            try await said.ask(
                "Changes as events",
                "GET",
                "/v1/watch?since=0&timeout=0ms",
                ["Accept: text/event-stream", "Last-Event-ID: \(rev)"]
            )
            try await said.ask(
                "A watch by POST",
                "POST",
                "/v1/watch",
                ["Accept: application/x-ndjson"],
                body: #"{"ids":["a","none"],"since":\#(rev),"timeout":"0ms"}"#
            )
            try await said.ask("A revision that never was", "GET", "/v1/watch?since=9000000000")
            try await said.ask("A kind that is none", "GET", "/v1/watch?types=putt")
            try await Self.watch(said)
        }
    }

    /// A stream with changes of every kind that a client can make.
    private static func watch(_ said: Transcript) async throws {
        let (server, client) = (said.server, said.client)
        let watcher = try await server.connect()
        try await watcher.send("GET /v1/watch HTTP/1.1\r\nHost: x\r\nLarder-Client: me\r\n\r\n")
        try await watcher.seen(#""type":"bookmark""#)
        _ = try await client.ask("PUT", "/v1/entries/a", ["Larder-Client: me"], body: [0x33])
        try await watcher.seen(#""self":true"#)
        _ = try await client.ask("DELETE", "/v1/entries/a")
        try await watcher.seen(#""type":"delete""#)
        _ = try await client.ask("POST", "/v1/evict", body: Array(#"{"ids":["b"]}"#.utf8))
        try await watcher.seen(#""type":"evict""#)
        _ = try await client.ask(
            "PUT",
            "/v1/lanes/name%3Acart",
            body: Array(#"{"paused":true}"#.utf8)
        )
        let change =
            #"{"target":{"id":"https://api.example.com/x"},"effect":{"type":"put","value":1}}"#
        let body = #"{"id":"m1","lane":"cart","changes":[\#(change)]}"#
        _ = try await client.ask("POST", "/v1/modifiers", body: Array(body.utf8))
        try await watcher.seen(#""type":"modifier""#)
        try await said.server.setOffline(true)
        try await watcher.seen(#""type":"origin""#)
        server.server.drain()
        said.write(
            "A watch until the daemon ends",
            "GET",
            "/v1/watch",
            ["Larder-Client: me"],
            response: try await watcher.response()
        )
    }
}

extension ServerFixture {
    /// Sets the origin offline, or online again.
    fileprivate func setOffline(_ isOffline: Bool) async throws {
        _ = try await engine.origins.setOffline(OriginName("example"), isOffline, for: getuid())
    }
}
