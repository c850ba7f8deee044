import LarderAPI
import LarderEngine
import LarderModel
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

/// POST and QUERY on the raw routes, where they are reads (S34).
@Suite("Raw reads with a body", .timeLimit(.minutes(5)))
struct RawReadTests {
    private static let path = "/o/example/graphql"
    private static let json = "Content-Type: application/json"

    private func run(_ body: (ServerFixture, RawClient, WebURL) async throws -> Void) async throws {
        let adjust: (inout OriginSettings) -> Void = { settings in
            settings.fetch.postReads = ["/graphql"]
            settings.fetch.refusedIf = [RefusalRule(pointer: "/errors")]
        }
        try await ServerFixture.run(adjusting: adjust) { server in
            let url = try ServerFixture.url("/graphql")
            try await body(server, try await server.connect(), url)
        }
    }

    private func post(
        _ client: RawClient,
        _ body: String,
        _ headers: [String] = [],
        method: String = "POST"
    ) async throws -> RawResponse {
        try await client.ask(method, Self.path, [Self.json] + headers, body: Array(body.utf8))
    }

    @Test("A query is answered from the cache when the network fails, a mutation is passed on")
    func graphQL() async throws {
        try await run { server, client, url in
            let query = #"{"query":"{ books }"}"#
            server.upstream.answer(url, with: .json(#"{"data":1}"#))
            #expect(try await post(client, query).text == #"{"data":1}"#)
            let silence = ScriptedAnswer.failure(.timedOut(.head))
            server.upstream.answer(url, with: silence, silence)
            let offline = try await post(client, query)
            #expect(offline.status == 200)
            #expect(offline.text == #"{"data":1}"#)
            #expect(offline.headers["Cache-Status"]?.hasPrefix("larder; fwd=stale") == true)
            #expect(try await post(client, #"{"query":"{ authors }"}"#).status == 504)
            server.upstream.answer(url, with: .json(#"{"data":2}"#))
            let mutation = try await post(client, #"{"query":"mutation { like }"}"#)
            #expect(mutation.text == #"{"data":2}"#)
            #expect(mutation.headers["Cache-Status"] == "larder; fwd=method; fwd-status=200")
        }
    }

    @Test("An answer with errors goes to the client as it is, and is not kept (S37)")
    func errors() async throws {
        try await run { server, client, url in
            let query = #"{"query":"{ books }"}"#
            let errors = #"{"data":null,"errors":[{"message":"no"}]}"#
            server.upstream.answer(url, with: .json(#"{"data":1}"#), .json(errors))
            #expect(try await post(client, query).text == #"{"data":1}"#)
            let second = try await post(client, query)
            #expect(second.status == 200)
            #expect(second.text == errors)
            let cached = try await post(client, query, ["Cache-Control: only-if-cached"])
            #expect(cached.text == #"{"data":1}"#)
        }
    }

    @Test("A mutation makes the cached queries of its URL stale (S34)")
    func stale() async throws {
        try await run { server, client, url in
            let fresh = ["Cache-Control": "max-age=60"]
            let only = ["Cache-Control: only-if-cached"]
            let queries = (0..<3).map { #"{"query":"{ b\#($0) }"}"# }
            for query in queries {
                server.upstream.answer(url, with: .json("[]", headers: fresh))
                #expect(try await post(client, query).status == 200)
                let cached = try await post(client, query, only)
                #expect(cached.headers["Cache-Status"] == "larder; hit; ttl=60")
            }
            server.upstream.answer(url, with: .json("{}"))
            #expect(try await post(client, #"{"query":"mutation { a }"}"#).status == 200)
            for query in queries {
                let cached = try await post(client, query, only)
                #expect(cached.headers["Cache-Status"] != "larder; hit; ttl=60")
                #expect(cached.text == "[]")
            }
        }
    }

    @Test("A QUERY is a read under any path, and by an absolute target (S31)")
    func query() async throws {
        try await run { server, client, _ in
            let url = try ServerFixture.url("/books")
            server.upstream.answer(url, with: .json("[1]"), .json("[1]"))
            for target in ["/o/example/books", url.text] {
                let reply = try await client.ask("QUERY", target, [Self.json], body: [0x31])
                #expect(reply.text == "[1]")
            }
            #expect(server.upstream.asked.all.first?.method == "QUERY")
            let large = [UInt8](repeating: 0x31, count: Limits.readBodyBytesMax + 1)
            let path = "/o/example/books"
            let refused = try await client.ask("QUERY", path, [Self.json], body: large)
            #expect(try refused.problem().kind == .bodyTooLarge)
            let other = try await server.connect()
            #expect(try await other.ask("QUERY", "/v1/status", body: [0x31]).status == 405)
        }
    }

    @Test("A POST that is too large for a read is passed on as it is (S35)")
    func large() async throws {
        try await run { server, client, url in
            server.upstream.answer(url, with: .json("[1]"))
            let body = "\"" + String(repeating: "x", count: Limits.readBodyBytesMax) + "\""
            let reply = try await post(client, body)
            #expect(reply.text == "[1]")
            #expect(reply.headers["Cache-Status"] == "larder; fwd=method; fwd-status=200")
            let uploaded = try await server.upstream.uploaded.element(0)
            #expect(try uploaded.get().count == body.utf8.count)
        }
    }

    @Test("A query of 100 KiB, the most that many servers take, is a read")
    func oneOfServersLimit() async throws {
        try await run { server, client, url in
            server.upstream.answer(url, with: .json(#"{"data":1}"#))
            let query = #"{"query":"{ \#(String(repeating: "x", count: 102_384)) }"}"#
            #expect(query.utf8.count == 102_400)
            for headers in [[], ["Cache-Control: only-if-cached"]] {
                let reply = try await post(client, query, headers)
                #expect(reply.text == #"{"data":1}"#)
            }
        }
    }

    @Test("/v1/fetch takes a body of the limit, and refuses a longer one with 413 (S35)")
    func fetchedLimit() async throws {
        try await run { server, client, url in
            server.upstream.answer(url, with: .json("[1]"))
            for (count, status) in [(131_072, 200), (131_073, 413)] {
                let query = #"{"query":"{ \#(String(repeating: "x", count: count - 16)) }"}"#
                #expect(query.utf8.count == count)
                let command = #"{"url":"\#(url)","method":"POST","body":\#(query)}"#
                let bytes = Array(command.utf8)
                let reply = try await client.ask("POST", "/v1/fetch", [Self.json], body: bytes)
                #expect(reply.status == status)
            }
            #expect(server.upstream.asked.all.count == 1)
        }
    }

    @Test("A query in chunks is a read; a mutation and a body that is too large are passed on")
    func chunked() async throws {
        try await run { server, client, url in
            func chunk(_ text: String) -> String {
                "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
            }
            func post(_ chunks: [String]) async throws -> RawResponse {
                let head = "POST \(Self.path) HTTP/1.1\r\nHost: x\r\n\(Self.json)\r\n"
                let body = (chunks + [""]).map(chunk).joined()
                client.begin(Array("\(head)Transfer-Encoding: chunked\r\n\r\n\(body)".utf8))
                return try await client.response(to: "POST")
            }
            server.upstream.answer(url, with: .json(#"{"data":1}"#))
            let query = [#"{"query":"#, #""{ books }"}"#]
            #expect(try await post(query).text == #"{"data":1}"#)
            let only = ["Cache-Control: only-if-cached"]
            let cached = try await self.post(client, query.joined(), only)
            #expect(cached.text == #"{"data":1}"#)
            let isPassed = "larder; fwd=method; fwd-status=200"
            let mutation = [#"{"query":"#, #""mutation { a }"}"#]
            server.upstream.answer(url, with: .json("[1]"), .json("[2]"))
            #expect(try await post(mutation).headers["Cache-Status"] == isPassed)
            let sent = server.upstream.asked.all.last?.body
            #expect(sent == Array(mutation.joined().utf8))
            let large = ["\"", String(repeating: "x", count: Limits.readBodyBytesMax), "\""]
            #expect(try await post(large).headers["Cache-Status"] == isPassed)
            let uploaded = try await server.upstream.uploaded.element(0)
            #expect(try uploaded.get() == Array(large.joined().utf8))
        }
    }

    @Test("A coded body and a form of several parts, which may hold a mutation, are passed on")
    func unreadable() async throws {
        try await run { server, client, url in
            for (type, coding) in [
                ("application/json", "gzip"), ("multipart/form-data", "identity"),
            ] {
                server.upstream.answer(url, with: .json("[1]"))
                let headers = ["Content-Type: \(type); boundary=x", "Content-Encoding: \(coding)"]
                let reply = try await client.ask("POST", Self.path, headers, body: [0x31])
                #expect(reply.headers["Cache-Status"] == "larder; fwd=method; fwd-status=200")
            }
        }
    }

    @Test("With respond-async a mutation to such a path is a modifier, and a query a read (S34)")
    func queued() async throws {
        try await run { server, client, _ in
            server.upstream.answerOthers { _ in .json(#"{"data":1}"#) }
            let later = ["Prefer: respond-async"]
            let read = try await post(client, #"{"query":"{ a }"}"#, later)
            #expect(read.status == 200 && read.text == #"{"data":1}"#)
            let authorized = later + ["Authorization: Bearer a"]
            #expect(try await post(client, #"{"query":"{ a }"}"#, authorized).status == 200)
            let mutation = #"{"query":"mutation { a }"}"#
            #expect(try await post(client, mutation, later).status == 202)
            #expect(try await post(client, mutation, authorized).status == 400)
        }
    }

    @Test("/v1/fetch and /v1/get take a body with the same id, and refuse a GET with one (S31)")
    func commands() async throws {
        try await run { server, client, url in
            server.upstream.answer(url, with: .json(#"{"data":1}"#))
            let body = #"{"query":"{ books }"}"#
            func fetch(_ members: String) async throws -> RawResponse {
                let command = #"{"url":"\#(url)",\#(members)}"#
                let bytes = Array(command.utf8)
                return try await client.ask("POST", "/v1/fetch", [Self.json], body: bytes)
            }
            let got = try await fetch(#""method":"POST","body":\#(body),"policy":"network-first""#)
            #expect(got.text.contains(#""body":{"data":1}"#))
            let raw = try await post(client, body, ["Cache-Control: only-if-cached"])
            #expect(raw.text == #"{"data":1}"#)
            for (members, kind) in [
                (#""body":1"#, ProblemKind.badRequest), (#""method":"PUT""#, .badRequest),
                (#""method":"POST","body":1,"body_text":"a""#, .badRequest),
                (#""method":"POST","body":{"query":"mutation { a }"}"#, .notARead),
            ] {
                #expect(try await fetch(members).problem().kind == kind)
            }
        }
    }
}
