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

    @Test("bytes=0- fetches and stores the whole body, several parts too (S47)")
    func whole() async throws {
        for (value, status) in [("bytes=0-", 206), ("Bytes= 0-", 206), ("bytes=1-2,4-5", 200)] {
            try await ServerFixture.run { server in
                let bytes = pattern(300_000)
                server.upstream.answer(
                    try ServerFixture.url("/a"),
                    with: .reply(pieces: [.bytes(bytes)])
                )
                let answer = try await ask(server, ["Range: \(value)"])
                #expect(answer.status == status, "\(value)")
                #expect(answer.body == bytes)
                let place = status == 206 ? "bytes 0-299999/300000" : nil
                #expect(answer.headers["Content-Range"] == place)
                #expect(asked(server) == ["read whole"])
                #expect(try await isStored(server))
            }
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
            server.upstream.answer(try ServerFixture.url("/a"), with: .reply("0123456789"))
            let answer = try await ask(server, ["Range: bytes=5-9"], "HEAD")
            #expect(answer.status == 200 && answer.headers["Content-Length"] == "10")
            #expect(asked(server) == ["read whole"])
            #expect(try await isStored(server))
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
            server.upstream.answer(
                try ServerFixture.url("/a"),
                with: .reply(pieces: [.bytes(pattern(300_000))]),
                Self.part
            )
            let answer = try await ask(server, ["Range: bytes=0-"])
            #expect((answer.status, answer.text) == (206, "56789"))
            #expect(asked(server) == ["read whole", "passingOn bytes=0-"])
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
