import LarderAPI
import LarderModel
import LarderServer
import LarderTestSupport
import LarderWire
import Testing

@Suite("Watching over the socket", .timeLimit(.minutes(10)))
struct WatchTests {
    private func frames(_ response: RawResponse) throws -> [WatchFrame] {
        try response.lines.map { try WatchFrame(line: Array($0.utf8)) }
    }

    private func put(
        _ client: RawClient,
        _ id: String,
        _ text: String,
        _ headers: [String] = []
    ) async throws -> Int64 {
        let answer = try await client.ask(
            "PUT",
            "/v1/entries/\(id)",
            headers,
            body: Array(text.utf8)
        )
        return try #require(answer.headers["Larder-Rev"].flatMap { Int64($0) })
    }

    @Test("Changes come over the open stream, the watcher's own marked, until the daemon ends")
    func stream() async throws {
        try await ServerFixture.run { server in
            let watcher = try await server.connect()
            try await watcher.send(
                "GET /v1/watch?id=a&id=b HTTP/1.1\r\nHost: x\r\nLarder-Client: me\r\n\r\n"
            )
            try await watcher.seen(#""type":"bookmark""#)
            let other = try await server.connect()
            let first = try await put(other, "a", "1", ["Larder-Client: me"])
            _ = try await put(other, "c", "1")
            let second = try await put(other, "b", "1", ["Larder-Client: you"])
            #expect(try await other.ask("DELETE", "/v1/entries/a").status == 204)
            try await watcher.seen(#""type":"delete""#)
            server.server.drain()
            let frames = try frames(try await watcher.response())
            #expect(frames.map(\.type) == ["bookmark", "put", "put", "delete", "end"])
            guard case .put(let own) = frames[1], case .put(let foreign) = frames[2] else { return }
            #expect((own.rev, own.isOwn) == (first, true))
            #expect((foreign.rev, foreign.isOwn) == (second, nil))
        }
    }

    private static let json = ["Accept: application/json"]

    @Test("A long poll answers with the first event, or with none when the time is over")
    func poll() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let first = try await put(client, "a", "1")
            let second = try await put(client, "a", "2")
            let answer = try await client.ask(
                "GET",
                "/v1/watch?since=\(first)&timeout=30s",
                Self.json
            )
            #expect(answer.status == 200)
            #expect(answer.headers["Content-Type"] == "application/json")
            let event = #"{"type":"put","rev":\#(second),"id":"a","source":"client"}"#
            #expect(answer.text == #"{"items":[\#(event)],"next":null,"rev":\#(second)}"#)
            let none = try await client.ask(
                "GET",
                "/v1/watch?since=\(second)&timeout=0ms",
                Self.json
            )
            #expect(none.text == #"{"items":[],"next":null,"rev":\#(second)}"#)
            let poller = try await server.connect()
            try await poller.send(
                "GET /v1/watch?since=\(second)&timeout=30s HTTP/1.1\r\nHost: x\r\n"
                    + "\(Self.json[0])\r\n\r\n"
            )
            let third = try await put(client, "b", "1")
            #expect(try await poller.response().text.hasSuffix(#""rev":\#(third)}"#))
        }
    }

    @Test("As server-sent events, a browser comes back with the last id it has seen")
    func events() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let first = try await put(client, "a", "1")
            let second = try await put(client, "a", "2")
            let answer = try await client.ask(
                "GET",
                "/v1/watch?since=0&timeout=0ms",
                ["Accept: text/event-stream", "Last-Event-ID: \(first)"]
            )
            let events = try EventStream(answer.body).events
            #expect(events.map(\.type) == ["put", "bookmark", "end"])
            #expect(events.map(\.id) == Array(repeating: String(second), count: 3))
        }
    }

    @Test("A browser that comes back to a watch with initial gets the changes, and no second list")
    func eventsAfterList() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let first = try await put(client, "a", "1")
            let second = try await put(client, "b", "1")
            let answer = try await client.ask(
                "GET",
                "/v1/watch?initial=1&timeout=0ms",
                ["Accept: text/event-stream", "Last-Event-ID: \(first)"]
            )
            let events = try EventStream(answer.body).events
            #expect(events.map(\.type) == ["put", "bookmark", "end"])
            #expect(events.map(\.id) == Array(repeating: String(second), count: 3))
        }
    }

    @Test("A browser whose last id is too old gets the list of a watch with initial again")
    func eventsBeforeLog() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let rev = try await put(client, "a", "1")
            let answer = try await client.ask(
                "GET",
                "/v1/watch?initial=1&timeout=0ms",
                ["Accept: text/event-stream", "Last-Event-ID: 9000000000"]
            )
            #expect(answer.status == 200)
            let events = try EventStream(answer.body).events
            #expect(events.map(\.type).prefix(2) == ["put", "bookmark"])
            #expect(events.map(\.id).prefix(2) == [nil, String(rev)])
            let poll = try await server.connect().ask(
                "GET",
                "/v1/watch?initial=1&timeout=0ms",
                ["Accept: application/json", "Last-Event-ID: 9000000000"]
            )
            #expect(poll.status == 410)
        }
    }

    @Test("A POST takes long lists, and initial brings what is there")
    func post() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let rev = try await put(client, "a", "1")
            var command = WatchCommand()
            command.ids = (0..<900).map { "none\($0)" } + ["a"]
            (command.options.initial, command.options.timeout) = (true, .zero)
            let answer = try await client.ask(
                "POST",
                "/v1/watch",
                ["Accept: application/jsonl"],
                body: APIEncoder().encode(command)
            )
            let frames = try frames(answer)
            let put = ChangeFrame(
                Revision(rev),
                try EntryID("a"),
                source: "client",
                isInitial: true
            )
            let bookmark = BookmarkFrame(Revision(rev), isInitialDone: true)
            #expect(frames.prefix(2) == [.put(put), .bookmark(bookmark)])
        }
    }

    @Test("A since that the daemon never gave, and bad names, are problems and no streams")
    func refusals() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let gone = try await client.ask("GET", "/v1/watch?since=9000000000")
            #expect(gone.status == 410)
            let problem = try gone.problem()
            #expect(problem.kind == .sinceTooOld)
            #expect(problem.oldest != nil)
            for path in ["/v1/watch?types=x", "/v1/watch?id=", "/v1/watch?timeout=0ms&initial=1"] {
                #expect(try await client.ask("GET", path, Self.json).status == 400, "\(path)")
            }
            #expect(try await client.ask("GET", "/v1/watch", Self.json).status == 406)
            let answer = try await client.ask("GET", "/v1/watch", ["Larder-Client: a b"])
            #expect(answer.status == 400)
            #expect(try answer.problem().detail.contains("Larder-Client"))
        }
    }
}
