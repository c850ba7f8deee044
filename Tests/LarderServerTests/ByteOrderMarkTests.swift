import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@Suite("Byte order marks", .timeLimit(.minutes(5)))
struct ByteOrderMarkTests {
    private static let path = "/o/example/a"
    private static let user = #"{"type":"User","id":"7","name":"A"}"#
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private static func answer(_ bytes: [UInt8]) -> ScriptedAnswer {
        .reply(pieces: [.bytes(bytes)], 200, ["Content-Type": "application/json"])
    }

    private func ask(_ server: ServerFixture, _ path: String) async throws -> RawResponse {
        try await server.connect().ask("GET", path)
    }

    private func entry() throws -> String {
        PercentCoding.entryPath(try EntryID(try ServerFixture.url("/a")))
    }

    @Test(
        "The mark of UTF-8 stays in stored bytes, length and ETag, and frames leave it out (S51)",
        arguments: [false, true]
    )
    func utf8(isNormalized: Bool) async throws {
        try await ServerFixture.run(rules: isNormalized ? .standard : nil) { server in
            let bytes = Self.mark + Array(Self.user.utf8)
            server.upstream.answer(try ServerFixture.url("/a"), with: Self.answer(bytes))
            let tag = BodySummary(of: bytes, isJSON: true).digest.entityTag
            for path in [
                Self.path, try entry(), "/v1/get?policy=cache-only&url=https://api.example.com/a",
            ] {
                let answer = try await ask(server, path)
                #expect(answer.body == bytes, "\(path)")
                #expect(answer.headers["Content-Length"] == String(bytes.count), "\(path)")
                #expect(answer.headers["ETag"] == tag, "\(path)")
            }
            let part = try await server.connect().ask("GET", try entry(), ["Range: bytes=0-3"])
            #expect(part.body == Self.mark + Array("{".utf8))
            let fetched = try await ask(
                server,
                "/v1/fetch?policy=cache-only&url=https://api.example.com/a"
            )
            #expect(fetched.text.contains(#""body":\#(Self.user)"#))
            #expect(!fetched.text.contains("\u{FEFF}"))
            guard isNormalized else { return }
            let entity = try await ask(server, "/v1/entries/entity:example%2FUser:7")
            #expect(entity.text == Self.user)
        }
    }

    @Test("A write is applied to JSON after the mark (S51)")
    func write() async throws {
        try await ServerFixture.run { server in
            let bytes = Self.mark + Array(Self.user.utf8)
            server.upstream.answer(try ServerFixture.url("/a"), with: Self.answer(bytes))
            _ = try await ask(server, Self.path)
            let modifier = #"""
                {"hold":"1h","changes":[{"target":{"id":"https://api.example.com/a"},
                "effect":{"type":"merge","value":{"name":"B"}}}]}
                """#
            let client = try await server.connect()
            let body = Array(modifier.utf8)
            #expect(try await client.ask("POST", "/v1/modifiers", body: body).status == 202)
            let view = try await ask(server, try entry())
            #expect(view.text == #"{"type":"User","id":"7","name":"B"}"#)
        }
    }

    @Test("An answer after the mark whose entity is deleted is deleted, too (S51)")
    func deletion() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let bytes = Self.mark + Array(Self.user.utf8)
            server.upstream.answer(try ServerFixture.url("/a"), with: Self.answer(bytes))
            _ = try await ask(server, Self.path)
            let modifier = #"""
                {"hold":"1h","changes":[{"target":{"id":"entity:example/User:7"},
                "effect":{"type":"delete"}}],
                "request":{"method":"DELETE","url":"https://api.example.com/users/7"}}
                """#
            let client = try await server.connect()
            let body = Array(modifier.utf8)
            #expect(try await client.ask("POST", "/v1/modifiers", body: body).status == 202)
            #expect(try await ask(server, Self.path).status == 410)
        }
    }

    /// The text in UTF-16 or UTF-32 with its mark.
    private static func wide(_ text: String, bytes count: Int, isBig: Bool) -> [UInt8] {
        let units =
            count == 2
            ? text.utf16.map { UInt32($0) } : text.unicodeScalars.map { $0.value }
        return ([0xFEFF] + units).flatMap { unit in
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: unit >> UInt32(8 * $0)) }
            return isBig ? bytes.reversed() : bytes
        }
    }

    @Test(
        "A mark of UTF-16 or UTF-32 makes a body bytes, also if it ends with the connection (S51)",
        arguments: [2, 4],
        [false, true]
    )
    func wide(count: Int, isBig: Bool) async throws {
        try await GatewayFixture.run { gateway in
            // U+2200 has the byte of a quotation mark, which is none.
            let bytes = Self.wide("{\"a\":\"\u{2200}\"}", bytes: count, isBig: isBig)
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
            let answer = OriginAnswer([.send(Array(head.utf8) + bytes), .close])
            gateway.answer("/a", with: answer)
            #expect(try await gateway.raw("/a").body == bytes)
            let id = PercentCoding.entryPath(try EntryID(try gateway.url("/a")))
            let entry = try await gateway.connect().ask("GET", id)
            #expect(entry.body == bytes)
            let path = "/v1/fetch?policy=cache-only&url=\(try gateway.url("/a"))"
            let fetched = try await gateway.connect().ask("GET", path)
            #expect(fetched.text.contains(#""body_b64":""#), "\(fetched.text)")
        }
    }
}
