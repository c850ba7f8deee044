import LarderAPI
import LarderEngine
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

/// Writes on the raw route over a scripted upstream, with a clock that stands still.
@Suite("Writes on the raw route", .timeLimit(.minutes(5)))
struct RawWriteTests {
    private static let wish = "Prefer: respond-async"
    private static let json = "Content-Type: application/json"

    private func write(
        _ server: ServerFixture,
        _ method: String,
        _ path: String,
        _ headers: [String] = [],
        _ body: String = ""
    ) async throws -> RawResponse {
        try await server.connect().ask(
            method,
            "/o/example\(path)",
            [Self.wish] + headers,
            body: Array(body.utf8)
        )
    }

    private func view(_ server: ServerFixture, _ path: String) async throws -> RawResponse {
        let id = try EntryID(try ServerFixture.url(path))
        return try await server.connect().ask("GET", PercentCoding.entryPath(id))
    }

    private func settled(_ server: ServerFixture, _ id: ModifierID) async throws -> ModifierReport {
        try await server.engine.modifiers.modifier(id, server.scope, wait: .seconds(3_600))
    }

    @Test("A PUT is answered 202 as a modifier, shows immediately, and is sent unchanged (P-01)")
    func put() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a?x=1")
            let gate = Gate()
            server.upstream.answer(url, with: .reply("", status: 204).held(by: gate))
            let headers = [
                Self.json, "X-Own: 1", "Connection: x-hop", "X-Hop: 1", "If-Match: \"a\"",
            ]
            let response = try await write(server, "PUT", "/a?x=1", headers, #"{"n": 1.0}"#)
            #expect(response.status == 202)
            #expect(response.headers["Preference-Applied"] == "respond-async")
            #expect(response.headers["Content-Type"] == "application/json")
            let receipt: ModifierReceipt = try response.value()
            #expect(receipt.state == .queued)
            #expect(response.headers["Location"] == "/v1/modifiers/\(receipt.id)")
            let shown = try await view(server, "/a?x=1")
            #expect(shown.text == #"{"n":1.0}"#)
            #expect(shown.headers["Larder-Pending-Ids"] == receipt.id)
            let sent = try await server.upstream.asked.element(0)
            #expect(sent.method == "PUT")
            #expect(sent.url == url)
            #expect(sent.body == Array(#"{"n": 1.0}"#.utf8))
            #expect(
                Set(sent.headers.fields.map { "\($0.name): \($0.value)" }) == [
                    Self.json, "X-Own: 1", "If-Match: \"a\"", "Idempotency-Key: \(receipt.id)",
                ]
            )
            gate.open()
            #expect(try await settled(server, ModifierID(receipt.id)).state == .confirmed)
            #expect(try await view(server, "/a?x=1").text == #"{"n":1.0}"#)
        }
    }

    @Test("A patch and a deletion show immediately, and any other write changes no view")
    func effects() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            try await server.store(url.text, Array(#"{"n":1,"m":2}"#.utf8)) {
                $0.body = BodySummary(of: Array(#"{"n":1,"m":2}"#.utf8), isJSON: true)
            }
            // Nothing is scripted, so all of them wait.
            let merge = "Content-Type: application/merge-patch+json"
            #expect(try await write(server, "PATCH", "/a", [merge], #"{"n":3}"#).status == 202)
            #expect(try await view(server, "/a").text == #"{"n":3,"m":2}"#)
            let patch = "Content-Type: application/json-patch+json"
            let body = #"[{"op":"remove","path":"/m"}]"#
            #expect(try await write(server, "PATCH", "/a", [patch], body).status == 202)
            #expect(try await view(server, "/a").text == #"{"n":3}"#)
            #expect(try await write(server, "POST", "/a", [Self.json], "{").status == 202)
            let shown = try await view(server, "/a")
            #expect(shown.text == #"{"n":3}"#)
            #expect(shown.headers["Larder-Pending"] == "3")
            #expect(try await write(server, "DELETE", "/a").status == 202)
            #expect(try await view(server, "/a").status == 410)
            let text = "Content-Type: text/plain"
            #expect(try await write(server, "PUT", "/a", [text], "words").status == 202)
            let words = try await view(server, "/a")
            #expect(words.text == "words")
            #expect(words.headers["Content-Type"] == "text/plain")
        }
    }

    @Test("A PUT of nothing leaves nothing to show, in chunks or with a length")
    func bodies() async throws {
        try await ServerFixture.run { server in
            #expect(try await write(server, "PUT", "/empty").status == 202)
            let empty = try await view(server, "/empty")
            #expect(empty.status == 200)
            #expect(empty.body.isEmpty)
            let client = try await server.connect()
            try await client.send(
                "PUT /o/example/chunks HTTP/1.1\r\nHost: x\r\n\(Self.wish)\r\n\(Self.json)\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n"
            )
            #expect(try await client.response(to: "PUT").status == 202)
            #expect(try await view(server, "/chunks").text == "[1,2]")
        }
    }

    @Test("A body over the limit is refused, announced or not, and nothing is accepted")
    func tooLarge() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let limit = Limits.modifierBodyBytesMax
            try await client.send(
                "POST /o/example/a HTTP/1.1\r\nHost: x\r\n\(Self.wish)\r\n"
                    + "Content-Length: \(limit + 1)\r\n\r\n"
            )
            #expect(try await client.response(to: "POST").problem().kind == .bodyTooLarge)
            let other = try await server.connect()
            let patch = "Content-Type: application/merge-patch+json"
            let size = Limits.commandBodyBytesMax + 1
            other.begin(
                Array(
                    ("PATCH /o/example/a HTTP/1.1\r\nHost: x\r\n\(Self.wish)\r\n\(patch)\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n\(String(size, radix: 16))\r\n"
                        + String(repeating: " ", count: size) + "\r\n0\r\n\r\n").utf8
                )
            )
            #expect(try await other.response(to: "PATCH").problem().kind == .bodyTooLarge)
            #expect(server.store.modifiers.totals.count == 0)
            try await server.expectServing()
        }
    }

    @Test("The same request with the same key is the same modifier, another one is refused")
    func keys() async throws {
        try await ServerFixture.run { server in
            let key = "Idempotency-Key: \"k-1\""
            let first = try await write(server, "POST", "/a", [key], "1")
            #expect(first.status == 202)
            #expect(first.headers["Location"] == "/v1/modifiers/k-1")
            let again = try await write(server, "POST", "/a", [key], "1")
            #expect(again.status == 202)
            #expect(again.headers["Location"] == "/v1/modifiers/k-1")
            let other = try await write(server, "POST", "/a", [key], "2")
            #expect(try other.problem().kind == .modifierExists)
            #expect(server.store.modifiers.totals.count == 1)
            let sent = try await server.upstream.asked.element(0)
            #expect(sent.headers["Idempotency-Key"] == "k-1")
        }
    }

    @Test("The body of a failed write can be had whole and as it is")
    func failedBody() async throws {
        try await ServerFixture.run { server in
            let url = try ServerFixture.url("/a")
            server.upstream.answer(url, with: .reply("no", status: 422))
            let body = [UInt8](repeating: 0xFF, count: Limits.inlineJSONBytesMax + 1)
            let client = try await server.connect()
            let fields = [Self.wish, "Content-Type: image/png"]
            let accepted = try await client.ask("PUT", "/o/example/a", fields, body: body)
            let receipt: ModifierReceipt = try accepted.value()
            let failed = try await settled(server, ModifierID(receipt.id))
            #expect(failed.state == .failed)
            let bytes = "Accept: application/octet-stream"
            let whole = try await client.ask("GET", "/v1/modifiers/\(receipt.id)", [bytes])
            #expect(whole.status == 200)
            #expect(whole.headers["Content-Type"] == "image/png")
            #expect(whole.body == body)
            let none = try await client.ask("GET", "/v1/modifiers/none", [bytes]).problem()
            #expect(none.kind == .noSuchModifier)
        }
    }

    @Test("Each account has its own")
    func accounts() async throws {
        try await ServerFixture.run { server in
            let fields = [Self.json, "Larder-Account: work"]
            #expect(try await write(server, "PUT", "/a", fields, "1").status == 202)
            #expect(try await view(server, "/a").status == 404)
            let id = try EntryID(try ServerFixture.url("/a"))
            let path = PercentCoding.entryPath(id) + "?account=work"
            #expect(try await server.connect().ask("GET", path).text == "1")
        }
    }

    @Test("With respond_async for the origin no client has to ask for it")
    func byRule() async throws {
        try await ServerFixture.run { server in
            var files = OriginSettings(
                name: try OriginName("files"),
                baseURL: try WebURL("https://files.example.com/v1")
            )
            files.modifiers.respondsAsync = true
            files.modifiers.idempotency.header = "X-Key"
            _ = try await server.engine.origins.add(OriginCommand(files))
            let response = try await server.connect().ask(
                "PUT",
                "/o/files/a",
                [Self.json, "X-Key: k-1"],
                body: Array("1".utf8)
            )
            #expect(response.status == 202)
            #expect(response.headers["Preference-Applied"] == "respond-async")
            #expect(response.headers["Location"] == "/v1/modifiers/k-1")
            let sent = try await server.upstream.asked.element(0)
            #expect(sent.url.text == "https://files.example.com/v1/a")
            #expect(sent.headers["X-Key"] == "k-1")
        }
    }

    @Test(
        "A refused write is not accepted, and its problem has the reason",
        arguments: [
            ("PUT", "/a", "Authorization: Bearer x", "1", 400, ProblemKind.badRequest),
            ("PUT", "/a", "Cookie: a=b", "1", 400, .badRequest),
            ("PUT", "/a", "Content-Type: application/json", "{", 400, .badRequest),
            ("PUT", "/a", "Content-Encoding: gzip", "1", 422, .unsupported),
            ("PUT", "/a", "Idempotency-Key: a b", "1", 400, .badRequest),
            ("PUT", "/../a", "X-Own: 1", "1", 400, .badURL),
            ("PATCH", "/a", "Content-Type: application/json-patch+json", "{}", 400, .badRequest),
        ]
    )
    func refusals(
        method: String,
        path: String,
        header: String,
        body: String,
        status: Int,
        kind: ProblemKind
    ) async throws {
        try await ServerFixture.run { server in
            let response = try await write(server, method, path, [header], body)
            #expect(response.status == status)
            #expect(try response.problem().kind == kind)
            #expect(server.store.modifiers.totals.count == 0)
            #expect(server.upstream.asked.all.isEmpty)
        }
    }

    @Test("Without the wish nothing is accepted: the write is passed on")
    func withoutWish() async throws {
        try await ServerFixture.run { server in
            server.upstream.answer(try ServerFixture.url("/a"), with: .reply("done"))
            let fields = ["Prefer: wait=10", Self.json]
            let response = try await server.connect().ask("PUT", "/o/example/a", fields, body: [49])
            #expect(response.text == "done")
            #expect(response.headers["Preference-Applied"] == nil)
            #expect(server.store.modifiers.totals.count == 0)
        }
    }
}
