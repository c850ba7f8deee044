import LarderEngine
import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("What is too long to be read on an event loop", .timeLimit(.minutes(5)))
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
            guard case .json(let bytes) = snapshot.entry.body else { continue }
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

    @Test("While clients hold every reader, what is brief is answered, and what is long follows")
    func whileHeld() async throws {
        try await ServerFixture.run { server in
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
                let ready = try await client.ask("GET", "/v1/health/ready")
                #expect(ready.status == 200)
            }
            #expect(try await slow.response().text == "{\"n\":\(Limits.loopChangesMax)}")
        }
    }

    @Test("An entity that is large is split off the loop, and read as it was set")
    func entity() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            let long = String(repeating: "x", count: 100_000)
            let json = #"{"type":"User","id":7,"name":"\#(long)"}"#
            let path = "/v1/entities/User:7"
            #expect(try await client.ask("PUT", path, body: Array(json.utf8)).status == 201)
            #expect(try await client.ask("GET", path).text == json)
        }
    }
}
