import LarderModel
import LarderServer
import LarderTestSupport
import LarderWire
import Testing

@Suite("Streams over the socket", .timeLimit(.minutes(5)))
struct StreamTests {
    private static let events = "Accept: text/event-stream"

    private func query(_ path: String, _ more: String = "") -> String {
        "/v1/fetch?url=\(PercentCoding.encode(ServerFixture.baseURL + path))\(more)"
    }

    @Test("As server-sent events each frame has its type, its revision and its JSON")
    func events() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/42")
            let pretty = "{\r\n  \"n\": 1\n}"
            server.upstream.answer(url, with: .json(pretty), .json("2"), .reply(status: 403))
            let client = try await server.connect()
            _ = try await client.ask("GET", query("/42"))
            for expected in [["snapshot", "snapshot", "end"], ["snapshot", "error", "end"]] {
                let response = try await client.ask("GET", query("/42"), [Self.events])
                #expect(response.headers["Content-Type"] == "text/event-stream")
                #expect(response.headers["Cache-Control"] == "no-store")
                let stream = try EventStream(response.body)
                #expect(stream.events.map(\.type) == expected)
                for event in stream.events {
                    let frame = try FetchFrame(line: Array(event.data.utf8))
                    #expect(frame.type == event.type)
                    #expect(frame.revision.map { String($0.number) } == event.id)
                }
            }
        }
    }

    @Test("A problem before the first event is a plain problem")
    func problem() async throws {
        try await ServerFixture.run { server in
            server.upstream.answer(try ServerFixture.url("/42"), with: .reply(status: 403))
            let client = try await server.connect()
            let response = try await client.ask("GET", query("/42"), [Self.events])
            #expect(response.status == 502)
            #expect(try response.problem().kind == .originStatus)
        }
    }

    @Test(
        "A followed entry's further views come over the open stream, by GET and by POST",
        arguments: ["GET", "POST"]
    )
    func follow(method: String) async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/42")
            server.upstream.answer(url, with: .json("1"), .json("2"), .reply(status: 410))
            let follower = try await server.connect()
            if method == "GET" {
                try await follower.send(
                    "GET \(query("/42", "&follow=true")) HTTP/1.1\r\nHost: x\r\n\r\n"
                )
            } else {
                var command = FetchCommand(url: url)
                command.follows = true
                let body = command.encodedJSON()
                let head =
                    "POST /v1/fetch HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n"
                try await follower.send(Array(head.utf8) + body)
            }
            try await follower.seen(#""body":1"#)
            let other = try await server.connect()
            _ = try await other.ask("GET", query("/42"))
            try await follower.seen(#""body":2"#)
            _ = try await other.ask("GET", query("/42"))
            try await follower.seen(#""type":"deleted""#)
            server.server.drain()
            let frames = try await follower.response().frames()
            #expect(frames.map(\.type) == ["snapshot", "snapshot", "deleted", "end"])
            let revisions = frames.dropLast().compactMap(\.revision)
            #expect(revisions == revisions.sorted() && Set(revisions).count == 3)
        }
    }

    @Test(
        "An open stream says every 15 s that it lives",
        arguments: [("application/jsonl", "1\r\n\n\r\n"), ("text/event-stream", "3\r\n:\n\n\r\n")]
    )
    func heartbeats(type: String, beat: String) async throws {
        try await ServerFixture.run { server in
            server.upstream.answer(try ServerFixture.url("/42"), with: .json("1"))
            let client = try await server.connect()
            let path = query("/42", "&follow=true&timeout=1h")
            try await client.send("GET \(path) HTTP/1.1\r\nHost: x\r\nAccept: \(type)\r\n\r\n")
            try await client.seen(#""body":1"#)
            try await server.clock.sleepers(until: Limits.heartbeatTime)
            server.clock.advance(by: Limits.heartbeatTime)
            try await client.seen(beat)
            try await server.clock.sleepers(until: Limits.heartbeatTime * 2)
            server.clock.advance(by: Limits.heartbeatTime)
            try await client.seen(beat + beat)
            server.server.drain()
            let response = try await client.response()
            #expect(response.text.contains("end"))
        }
    }

    @Test("A follower that never reads holds up nobody, and then sees the latest view")
    func neverReads() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/42")
            let filler = String(repeating: "x", count: 700_000)
            func body(_ number: Int) -> String { "{\"n\":\(number),\"x\":\"\(filler)\"}" }
            server.upstream.answer(url, with: .json(body(0)))
            let other = try await server.connect()
            _ = try await other.ask("GET", query("/42"))
            let follower = try await server.connect()
            let path = query("/42", "&policy=cache-only&follow=true")
            try await follower.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
            // The beginning of the first frame; the rest is more than the socket takes.
            try await follower.seen(#""n":0,"#)
            for number in 1...20 {
                server.upstream.answer(url, with: .json(body(number)))
                let path = query("/42", "&policy=network-only")
                #expect(try await other.ask("GET", path).status == 200)
            }
            try await server.expectServing()
            try await follower.seen(#""n":20,"#)
            server.server.drain()
            let frames = try await follower.response().frames()
            let snapshots = frames.filter { $0.type == "snapshot" }
            // Those that were under way when it stopped reading, and the last.
            #expect(snapshots.count < 10)
            #expect(frames.last?.type == "end")
        }
    }

    @Test("Values of follow, partial and normalize that are none are refused by name")
    func refused() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for (more, name) in [
                ("follow=1", "follow"), ("partial=1", "partial"), ("normalize=1", "normalize"),
            ] {
                let response = try await client.ask("GET", query("/42", "&\(more)"))
                #expect(response.status == 400)
                #expect(try response.problem().detail.contains(name))
            }
        }
    }
}
