import Dispatch
import LarderEngine
import LarderJSON
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@Suite("Reads that are too long for an event loop", .timeLimit(.minutes(5)))
struct LongReadTests {
    private func write(_ client: RawClient, _ path: String, _ effect: String) async throws {
        let url = ServerFixture.baseURL + path
        let json =
            #"{"hold":"1h","request":{"method":"PATCH","url":"\#(url)"},"#
            + #""changes":[{"target":{"id":"\#(url)"},"effect":\#(effect)}]}"#
        let answer = try await client.ask("POST", "/v1/modifiers", body: Array(json.utf8))
        #expect(answer.status == 202)
    }

    /// What the routes show of a path, which is to be the same.
    private func expect(
        _ client: RawClient,
        _ path: String,
        shows text: String,
        pending: Int
    ) async throws {
        let url = PercentCoding.encode(ServerFixture.baseURL + path)
        let entry = try await client.ask("GET", "/v1/entries/\(url)")
        #expect(entry.status == 200)
        #expect(entry.text == text)
        #expect(entry.headers["Larder-Pending"] == "\(pending)")
        let tag = try #require(entry.headers["ETag"])
        let same = try await client.ask("GET", "/v1/entries/\(url)", ["If-None-Match: \(tag)"])
        #expect(same.status == 304)
        let fetch = try await client.ask("GET", "/v1/fetch?url=\(url)&policy=cache-only")
        var bodies: [String] = []
        for case .snapshot(let snapshot) in try fetch.frames() {
            guard case .json(let bytes) = snapshot.entry.content else { continue }
            bodies.append(String(decoding: bytes, as: UTF8.self))
        }
        #expect(bodies == [text])
        let raw = try await client.ask(
            "GET",
            "/o/example\(path)",
            ["Cache-Control: only-if-cached"]
        )
        #expect(raw.text == text)
    }

    @Test("Of many effects, and of a large base, each route shows what it shows of small ones")
    func same() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let long = String(repeating: "x", count: 100_000)
            for (path, base) in [("/few", "{\"n\":0}"), ("/large", "{\"n\":0,\"t\":\"\(long)\"}")] {
                let url = try ServerFixture.url(path)
                server.upstream.answer(url, with: .json(base))
                let target = "/v1/fetch?policy=network-only&url=" + PercentCoding.encode(url.text)
                #expect(try await client.ask("GET", target).status == 200)
            }
            try await write(client, "/large", #"{"type":"add","value":{"/n":1}}"#)
            for _ in 0..<Limits.loopChangesMax {
                try await write(client, "/few", #"{"type":"add","value":{"/n":1}}"#)
            }
            let most = Limits.loopChangesMax
            try await expect(client, "/large", shows: "{\"n\":1,\"t\":\"\(long)\"}", pending: 1)
            try await expect(client, "/few", shows: "{\"n\":\(most)}", pending: most)
            try await write(client, "/few", #"{"type":"add","value":{"/n":1}}"#)
            try await expect(client, "/few", shows: "{\"n\":\(most + 1)}", pending: most + 1)
        }
    }

    @Test(
        "While clients hold every reader, their loop answers what is brief, and what is long follows"
    )
    func whileHeld() async throws {
        try await ServerFixture.run(isOneLoop: true) { server in
            let client = try await server.connect()
            _ = try await client.ask("PUT", "/v1/entries/note", body: [1, 2, 3])
            try await write(client, "/a", #"{"type":"put","value":{"n":0}}"#)
            for _ in 0..<Limits.loopChangesMax {
                try await write(client, "/a", #"{"type":"add","value":{"/n":1}}"#)
            }
            let slow = try await server.connect()
            let url = PercentCoding.encode(ServerFixture.baseURL + "/a")
            try await server.store.holdingReaders(by: .all) {
                try await slow.send("GET /v1/entries/\(url) HTTP/1.1\r\nHost: a\r\n\r\n")
                let note = try await client.ask("GET", "/v1/entries/note")
                #expect(note.body == [1, 2, 3])
                let ready = try await client.ask("GET", "/v1/health")
                #expect(ready.status == 200)
            }
            #expect(try await slow.response().text == "{\"n\":\(Limits.loopChangesMax)}")
        }
    }

    /// A command of more than what a loop works on by itself.
    struct LargeCommand: CustomTestStringConvertible {
        let target: String
        let json: String
        let status: Int

        var testDescription: String { target }
    }

    private static let padding = String(repeating: "x", count: Limits.inlineBodyBytesMax)

    private static let largeCommands = [
        LargeCommand(
            target: "/v1/modifiers",
            json: #"{"request":{"method":"PUT","url":"\#(ServerFixture.baseURL)/large","#
                + #""body":"\#(padding)"},"changes":[]}"#,
            status: 202
        ),
        LargeCommand(target: "/o/example/large", json: #"["\#(padding)"]"#, status: 202),
        LargeCommand(target: "/v1/entries/batch", json: #"{"ids":["\#(padding)"]}"#, status: 400),
        LargeCommand(target: "/v1/fetch", json: #"{"url":"\#(padding)"}"#, status: 400),
    ]

    /// Asks more often than it takes a loop to read a large command.
    private func expectAnswers(_ client: RawClient) async throws {
        for _ in 0..<64 {
            #expect(try await client.ask("GET", "/v1/entries/note").body == [1, 2, 3])
        }
    }

    @Test(
        "While clients hold every reader, a large command waits, and its loop answers others",
        arguments: largeCommands
    )
    func largeCommand(_ command: LargeCommand) async throws {
        try await ServerFixture.run(isOneLoop: true) { server in
            let client = try await server.connect()
            _ = try await client.ask("PUT", "/v1/entries/note", body: [1, 2, 3])
            let slow = try await server.connect()
            let answers = Recorder<Int>()
            let headers = ["Prefer: respond-async", "Content-Type: application/json"]
            let body = Array(command.json.utf8)
            let areHeld = Gate()
            @Sendable func ask() async throws {
                try await areHeld.wait()
                answers.record(
                    try await slow.ask("POST", command.target, headers, body: body).status
                )
            }
            async let asked: Void = ask()
            try await server.store.holdingReaders(by: .all) {
                areHeld.open()
                try await expectAnswers(client)
                #expect(answers.all.isEmpty)
            }
            try await asked
            #expect(answers.all == [command.status])
        }
    }

    @Test(
        "While clients hold every reader, a long explanation is not encoded, and others are answered"
    )
    func longExplanation() async throws {
        try await ServerFixture.run(isOneLoop: true) { server in
            let client = try await server.connect()
            _ = try await client.ask("PUT", "/v1/entries/note", body: [1, 2, 3])
            try await write(client, "/a", #"{"type":"put","value":"\#(Self.padding)"}"#)
            let slow = try await server.connect()
            let answers = Recorder<RawResponse>()
            let begun = Recorder<Bool>()
            let (first, others) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let hold = { @Sendable (uid: UInt32, end: DispatchSemaphore) in
                try await Reading.$current.withValue(.asked(by: .uid(uid))) {
                    try await server.store.read { _ in
                        begun.record(true)
                        end.wait()
                    }
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { for _ in 0..<5 { others.signal() } }
                defer { first.signal() }
                group.addTask { try await hold(1_000_001, first) }
                for uid: UInt32 in [1_000_001, 1_000_002, 1_000_002] {
                    group.addTask { try await hold(uid, others) }
                }
                _ = try await begun.element(3)
                group.addTask {
                    let url = PercentCoding.encode(ServerFixture.baseURL + "/a")
                    answers.record(try await slow.ask("GET", "/v1/entries/\(url)/explain"))
                }
                try await expectAnswers(client)
                // It waits by now; what is read next takes its turn behind it.
                group.addImmediateTask { try await hold(1_000_003, others) }
                first.signal()
                _ = try await begun.element(4)
                try await expectAnswers(client)
                #expect(answers.all.isEmpty)
            }
            #expect(answers.all.map(\.status) == [200])
            #expect(answers.all[0].text.contains(Self.padding))
        }
    }

    @Test("An entity that is large is split off the loop, and read as it was set")
    func entity() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            let long = String(repeating: "x", count: 100_000)
            let json = #"{"type":"User","id":7,"name":"\#(long)"}"#
            let path = "/v1/entries/entity:example/User:7"
            #expect(try await client.ask("PUT", path, body: Array(json.utf8)).status == 201)
            #expect(try await client.ask("GET", path).text == json)
        }
    }
}
