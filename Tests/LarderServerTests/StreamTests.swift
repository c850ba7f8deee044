import LarderAPI
import LarderJSON
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
            for expected in [["snapshot", "snapshot", "end"], ["snapshot", "problem", "end"]] {
                let response = try await client.ask("GET", query("/42"), [Self.events])
                #expect(response.headers["Content-Type"] == "text/event-stream")
                #expect(response.headers["Cache-Control"] == "no-store")
                let stream = try EventStream(response.body)
                #expect(stream.events.map(\.type) == expected)
                for event in stream.events {
                    let frame = try FetchFrame(line: Array(event.data.utf8))
                    #expect(frame.type == event.type)
                    let id = frame.isLast ? "end" : frame.revision.map { String($0) }
                    #expect(event.id == id)
                }
                #expect(stream.events.last?.id == "end")
            }
        }
    }

    @Test("A browser that comes back after the last event of a stream is told to stay away")
    func afterTheEnd() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let back = ["Last-Event-ID: end", Self.events]
            let answer = try await client.ask("GET", query("/42"), back)
            #expect(answer.status == 204)
            #expect(server.upstream.asked.all.isEmpty)
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
                var command = FetchCommand(url: url.text)
                command.options.follow = true
                let body = APIEncoder().encode(command)
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
        "An open stream says as often as is asked that it lives",
        arguments: [
            ("application/jsonl", #"{"type":"heartbeat","rev":1}"# + "\n"),
            ("text/event-stream", ":\n\n"),
        ]
    )
    func heartbeats(type: String, beat: String) async throws {
        let pause = Duration.seconds(7)
        let beat = "\(String(beat.utf8.count, radix: 16))\r\n\(beat)\r\n"
        try await ServerFixture.run { server in
            server.upstream.answer(try ServerFixture.url("/42"), with: .json("1"))
            let client = try await server.connect()
            let path = query("/42", "&follow=true&timeout=1h&heartbeat=7s")
            try await client.send("GET \(path) HTTP/1.1\r\nHost: x\r\nAccept: \(type)\r\n\r\n")
            try await client.seen(#""body":1"#)
            try await server.clock.sleepers(until: pause)
            server.clock.advance(by: pause)
            try await client.seen(beat)
            try await server.clock.sleepers(until: pause * 2)
            server.clock.advance(by: pause)
            try await client.seen(beat + beat)
            server.server.drain()
            let response = try await client.response()
            #expect(response.text.contains(#""outcome":"shutdown""#))
            guard type == "application/jsonl" else { return }
            let types = try response.frames().map(\.type)
            #expect(types == ["snapshot", "heartbeat", "heartbeat", "end"])
        }
    }

    @Test("As application/json all frames are one array with its length, none of them a heartbeat")
    func array() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/42")
            let gate = Gate()
            server.upstream.answer(url, with: .json("1"), .json("2").held(by: gate))
            let client = try await server.connect()
            _ = try await client.ask("GET", query("/42"))
            try await client.send(
                "GET \(query("/42", "&heartbeat=1s")) HTTP/1.1\r\nHost: x\r\n"
                    + "Accept: application/json, text/plain, */*\r\n\r\n"
            )
            _ = try await server.upstream.asked.element(1)
            try await server.clock.sleepers(until: .seconds(1))
            server.clock.advance(by: .seconds(1))
            gate.open()
            let response = try await client.response()
            #expect(response.status == 200)
            #expect(response.headers["Content-Type"] == "application/json")
            #expect(response.headers["Content-Length"] == String(response.body.count))
            guard case .array(let frames) = try JSONValue(parsing: response.body) else {
                Issue.record("no array: \(response.text)")
                return
            }
            let types = frames.map { $0.members?.first { $0.name == "type" }?.value.string }
            #expect(types == ["snapshot", "snapshot", "end"])
        }
    }

    @Test("As application/json what fails is a plain problem, and what is followed is none")
    func arrayRefused() async throws {
        try await ServerFixture.run { server in
            server.upstream.answer(try ServerFixture.url("/42"), with: .reply(status: 403))
            let client = try await server.connect()
            let accept = ["Accept: application/json"]
            let failed = try await client.ask("GET", query("/42"), accept)
            #expect(try failed.problem().kind == .originStatus)
            let followed = try await client.ask("GET", query("/42", "&follow=true"), accept)
            #expect(followed.status == 406)
            #expect(try followed.problem().kind == .notAcceptable)
            #expect(server.upstream.asked.all.count == 1)
        }
    }

    @Test("A follower that never reads delays no other client, and then gets the latest view")
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
                ("follow=yes", "follow"), ("partial=2", "partial"), ("normalize=", "normalize"),
            ] {
                let response = try await client.ask("GET", query("/42", "&\(more)"))
                #expect(response.status == 400)
                #expect(try response.problem().detail.contains(name))
            }
        }
    }
}
