import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@Suite("Ranges of bodies that are not stored", .timeLimit(.minutes(5)))
struct PassedRangeTests {
    private func ask(
        _ server: ServerFixture,
        _ headers: [String],
        _ method: String = "GET"
    ) async throws -> RawResponse {
        try await server.connect().ask(method, "/o/example/a", headers)
    }

    private func isStored(_ server: ServerFixture) async throws -> Bool {
        try await ask(server, ["Cache-Control: only-if-cached"]).status == 200
    }

    /// The purpose and the Range of each request that reached the origin.
    private func asked(_ server: ServerFixture) -> [String] {
        server.upstream.asked.all.map { "\($0.purpose) \($0.headers["Range"] ?? "whole")" }
    }

    private static let part = ScriptedAnswer.reply(
        "56789",
        status: 206,
        headers: ["Content-Range": "bytes 5-9/20", "ETag": "\"a\"", "Content-Length": "5"]
    )

    /// Waits until the whole body is stored; the time limit of the test ends it.
    private func untilStored(_ server: ServerFixture) async throws {
        let client = try await server.connect()
        let cached = ["Cache-Control: only-if-cached"]
        while try await client.ask("GET", "/o/example/a", cached).status != 200 {
            try Task.checkCancellation()
        }
    }

    /// An answer that is held after its first half.
    private func held(_ bytes: [UInt8], _ gate: Gate, _ fields: [String: String]) -> ScriptedAnswer
    {
        let half = bytes.count / 2
        return .reply(
            pieces: [.bytes(Array(bytes[..<half])), .hold(gate), .bytes(Array(bytes[half...]))],
            200,
            fields
        )
    }

    @Test(
        "bytes=0- brings the body while it arrives, and stores it (S47)",
        arguments: [true, false]
    )
    func whileItArrives(isAnnounced: Bool) async throws {
        try await ServerFixture.run { server in
            let (bytes, gate) = (Array("BEGIN".utf8) + pattern(299_995), Gate())
            var fields = ["ETag": "\"a\""]
            if isAnnounced { fields["Content-Length"] = "300000" }
            let answer = held(bytes, gate, fields)
            server.upstream.answer(try ServerFixture.url("/a"), with: answer)
            let client = try await server.connect()
            try await client.send("GET /o/example/a HTTP/1.1\r\nHost: x\r\nRange: bytes=0-\r\n\r\n")
            // The head and a part of the body are here, and the origin has not sent the rest.
            let seen = try await client.seen("BEGIN")
            #expect(seen.hasPrefix("HTTP/1.1 \(isAnnounced ? 206 : 200) "))
            gate.open()
            let whole = try await client.response()
            #expect(whole.body == bytes)
            #expect(whole.headers["ETag"] == "\"a\"")
            #expect(whole.headers["Accept-Ranges"] == "bytes")
            let place = isAnnounced ? "bytes 0-299999/300000" : nil
            #expect(whole.headers["Content-Range"] == place)
            #expect(whole.headers["Content-Length"] == (isAnnounced ? "300000" : nil))
            #expect(asked(server) == ["passingOn whole"])
            #expect(server.upstream.asked.all.map(\.acceptsCodings) == [false])
            #expect(try await isStored(server))
            let rest = ["Range: bytes=299990-", "If-Range: \"a\"", "Cache-Control: only-if-cached"]
            #expect(try await ask(server, rest).body == Array(bytes[299_990...]))
        }
    }

    @Test("The body is stored although the client of bytes=0- hangs up (S47)")
    func hangUp() async throws {
        try await ServerFixture.run { server in
            let (bytes, gate) = (Array("BEGIN".utf8) + pattern(299_995), Gate())
            let answer = held(bytes, gate, ["Content-Length": "300000"])
            server.upstream.answer(try ServerFixture.url("/a"), with: answer)
            let client = try await server.connect()
            try await client.send("GET /o/example/a HTTP/1.1\r\nHost: x\r\nRange: bytes=0-\r\n\r\n")
            try await client.seen("BEGIN")
            await client.hangUp()
            gate.open()
            try await untilStored(server)
            let fields = ["Range: bytes=299990-", "Cache-Control: only-if-cached"]
            let rest = try await ask(server, fields)
            #expect((rest.status, rest.body) == (206, Array(bytes[299_990...])))
        }
    }

    @Test("A body of bytes=0- that breaks off is broken off, and is not stored (S47)")
    func brokenOff() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            let pieces: [ScriptedAnswer.Piece] = [
                .bytes(pattern(200_000)), .failure(.brokenOff(reason: "reset")),
            ]
            server.upstream.answer(
                url,
                with: .reply(pieces: pieces, 200, ["Content-Length": "300000"])
            )
            let client = try await server.connect()
            try await client.send("GET /o/example/a HTTP/1.1\r\nHost: x\r\nRange: bytes=0-\r\n\r\n")
            let bytes = try await client.rest()
            #expect(bytes.starts(with: Array("HTTP/1.1 206 ".utf8)) && bytes.count < 300_000)
            #expect(asked(server) == ["passingOn whole"])
            #expect(try await !isStored(server))
        }
    }

    @Test("The conditions of bytes=0- count for the body that arrives (S47)")
    func conditionsOfWhole() async throws {
        let fields = ["Content-Length": "10", "ETag": "\"a\""]
        let expected: [(String, Int)] = [
            ("If-Range: \"a\"", 206), ("If-Range: \"b\"", 200), ("If-Match: \"a\"", 206),
            ("If-Match: \"b\"", 412), ("If-None-Match: \"a\"", 304), ("If-None-Match: \"b\"", 206),
        ]
        for (condition, status) in expected {
            try await ServerFixture.run { server in
                let reply = ScriptedAnswer.reply("0123456789", headers: fields)
                server.upstream.answer(try ServerFixture.url("/a"), with: reply)
                let answer = try await ask(server, ["Range: bytes=0-", condition])
                #expect(answer.status == status, "\(condition)")
                try await untilStored(server)
            }
        }
    }

    @Test("An empty body has no range, and is stored (S47)")
    func emptyWhole() async throws {
        try await ServerFixture.run { server in
            let reply = ScriptedAnswer.reply(headers: ["Content-Length": "0"])
            server.upstream.answer(try ServerFixture.url("/a"), with: reply)
            #expect(try await ask(server, ["Range: bytes=0-"]).status == 416)
            #expect(try await isStored(server))
        }
    }

    @Test("Several parts fetch and store the whole body (S47)")
    func severalParts() async throws {
        try await ServerFixture.run { server in
            let bytes = pattern(300_000)
            server.upstream.answer(
                try ServerFixture.url("/a"),
                with: .reply(pieces: [.bytes(bytes)])
            )
            let answer = try await ask(server, ["Range: bytes=1-2,4-5"])
            #expect((answer.status, answer.body) == (200, bytes))
            #expect(asked(server) == ["read whole"])
            #expect(try await isStored(server))
        }
    }

    @Test("Another range goes to the origin with its conditions, and is not stored (S47)")
    func part() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(url, with: Self.part, Self.part)
            let fields = ["Range: bytes=5-9", "If-Range: \"a\"", "If-Match: \"a\""]
            let answer = try await ask(server, fields)
            #expect((answer.status, answer.text) == (206, "56789"))
            #expect(answer.headers["Content-Range"] == "bytes 5-9/20")
            #expect(answer.headers["ETag"] == "\"a\"")
            #expect(answer.headers["Cache-Status"] == "larder; fwd=uri-miss; fwd-status=206")
            #expect(asked(server) == ["passingOn bytes=5-9"])
            let sent = try #require(server.upstream.asked.all.first).headers
            #expect((sent["If-Range"], sent["If-Match"]) == ("\"a\"", "\"a\""))
            #expect(try await !isStored(server))
            // The condition comes before the range here as well.
            let same = try await ask(server, ["Range: bytes=5-9", "If-None-Match: \"a\""])
            #expect(same.status == 304 && same.body.isEmpty)
            #expect(server.upstream.asked.all.last?.headers["If-None-Match"] == nil)
        }
    }

    @Test("The origin's own answer to a range comes as it is (S47)", arguments: [200, 412, 416])
    func otherAnswers(status: Int) async throws {
        try await ServerFixture.run { server in
            let fields = ["Content-Range": "bytes */20"]
            let reply = ScriptedAnswer.reply("own", status: status, headers: fields)
            server.upstream.answer(try ServerFixture.url("/a"), with: reply)
            let answer = try await ask(server, ["Range: bytes=99-"])
            #expect((answer.status, answer.text) == (status, "own"))
            #expect(answer.headers["Content-Range"] == "bytes */20")
            #expect(asked(server) == ["passingOn bytes=99-"])
            #expect(try await !isStored(server))
        }
    }

    @Test("HEAD with a Range fetches and stores the whole body (S47)")
    func head() async throws {
        try await ServerFixture.run { server in
            let reply = ScriptedAnswer.reply("0123456789", headers: ["Content-Length": "10"])
            server.upstream.answer(try ServerFixture.url("/a"), with: reply)
            let answer = try await ask(server, ["Range: bytes=5-9"], "HEAD")
            #expect(answer.status == 200 && answer.headers["Content-Length"] == "10")
            #expect(asked(server) == ["read whole"])
            try await untilStored(server)
        }
    }

    @Test("A range of a body that is stored does not go to the origin (S47)")
    func stored() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(url, with: .reply("0123456789"), .reply("abcdefghij"))
            _ = try await ask(server, [])
            let answer = try await ask(server, ["Range: bytes=5-9"])
            #expect((answer.status, answer.text) == (206, "fghij"))
            #expect(asked(server) == ["read whole", "read whole"])
        }
    }

    @Test("A body above the limit comes in the parts that the origin sends (S47)")
    func aboveLimit() async throws {
        try await ServerFixture.run(maxEntryBytes: 100_000) { server in
            let fields = ["Content-Length": "300000"]
            server.upstream.answer(
                try ServerFixture.url("/a"),
                with: .reply(pieces: [.bytes(pattern(300_000))], 200, fields),
                Self.part
            )
            let answer = try await ask(server, ["Range: bytes=0-"])
            #expect((answer.status, answer.text) == (206, "56789"))
            #expect(asked(server) == ["passingOn whole", "passingOn bytes=0-"])
        }
    }

    @Test("A body above the limit that announces no length comes whole, and is not stored (S47)")
    func aboveLimitWithoutLength() async throws {
        try await ServerFixture.run(maxEntryBytes: 100_000) { server in
            let bytes = pattern(300_000)
            let pieces = stride(from: 0, to: bytes.count, by: 50_000).map {
                ScriptedAnswer.Piece.bytes(Array(bytes[$0..<$0 + 50_000]))
            }
            server.upstream.answer(try ServerFixture.url("/a"), with: .reply(pieces: pieces))
            let answer = try await ask(server, ["Range: bytes=0-"])
            #expect((answer.status, answer.body) == (200, bytes))
            #expect(asked(server) == ["passingOn whole"])
            #expect(try await !isStored(server))
        }
    }

    @Test("An answer that may not be stored is not stored for bytes=0- (S47)")
    func noStore() async throws {
        try await ServerFixture.run { server in
            let fields = ["Cache-Control": "no-store", "Content-Length": "10"]
            let reply = ScriptedAnswer.reply("0123456789", headers: fields)
            server.upstream.answer(try ServerFixture.url("/a"), with: reply)
            let answer = try await ask(server, ["Range: bytes=0-"])
            #expect((answer.status, answer.text) == (206, "0123456789"))
            #expect(try await !isStored(server))
        }
    }

    @Test(
        "While a write waits that may show in the body, the part is cut from the view (S47)",
        arguments: [
            (
                "https://api.example.com/a",
                #"{"type":"patch","value":[{"op":"replace","path":"/name","value":"B"}]}"#
            ), ("entity:example/User:7", #"{"type":"merge","value":{"name":"B"}}"#),
        ]
    )
    func pendingWrite(target: String, effect: String) async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let modifier = #"""
                {"hold":"1h","request":{"method":"POST","url":"https://api.example.com/n"},
                "changes":[{"target":{"id":"\#(target)"},"effect":\#(effect)}]}
                """#
            let client = try await server.connect()
            let body = Array(modifier.utf8)
            #expect(try await client.ask("POST", "/v1/modifiers", body: body).status == 202)
            let user = #"{"type":"User","id":"7","name":"A"}"#
            server.upstream.answer(try ServerFixture.url("/a"), with: .json(user))
            let answer = try await ask(server, ["Range: bytes=1-"])
            #expect((answer.status, answer.text) == (206, #""type":"User","id":"7","name":"B"}"#))
            #expect(asked(server) == ["read whole"])
        }
    }
}
