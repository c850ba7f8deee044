import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Writes of entries that expect something", .timeLimit(.minutes(5)))
struct EntryConditionTests {
    private static let path = "/v1/entries/a"

    private func tag(_ client: RawClient, _ path: String = path) async throws -> String {
        try #require(try await client.ask("HEAD", path).headers["ETag"])
    }

    private func expectRefusal(_ response: RawResponse) throws {
        #expect(response.status == 412)
        let problem = try response.problem()
        #expect(problem.kind == .preconditionFailed)
        #expect(!problem.retryable)
    }

    @Test(
        "If-Match wants what GET tells now, If-None-Match: * wants nothing",
        arguments: ["", "?pin=true"]
    )
    func puts(query: String) async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            func put(_ header: String, _ body: String) async throws -> RawResponse {
                try await client.ask("PUT", Self.path + query, [header], body: Array(body.utf8))
            }
            try expectRefusal(try await put("If-Match: *", "0"))
            try expectRefusal(try await put("If-Match: \"x\"", "0"))
            #expect(try await client.ask("GET", Self.path).status == 404)
            #expect(try await put("If-None-Match: *", "1").status == 201)
            try expectRefusal(try await put("If-None-Match: *", "2"))
            let first = try await tag(client)
            try expectRefusal(try await put("If-None-Match: \"x\", \(first)", "2"))
            try expectRefusal(try await put("If-Match: W/\(first)", "2"))
            #expect(try await put("If-Match: \"x\", \(first)", "2").status == 204)
            try expectRefusal(try await put("If-Match: \(first)", "3"))
            #expect(try await put("If-None-Match: \(first)", "3").status == 204)
            #expect(try await put("If-Match: *", "4").status == 204)
            #expect(try await client.ask("GET", Self.path).text == "4")
            // One that is large goes in piece by piece, and leaves nothing where it is refused.
            let large = pattern(300_000)
            let late = try await client.ask(
                "PUT",
                Self.path + query,
                ["If-Match: \(first)"],
                body: large
            )
            try expectRefusal(late)
            #expect(try await client.ask("GET", Self.path).text == "4")
        }
    }

    @Test("DELETE respects conditions too; an entry that is not there is a 404 all the same")
    func deletes() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let url = "\(ServerFixture.baseURL)/42"
            try await server.store(url, [1]) { $0.etag = "W/\"weak\"" }
            let paths = [Self.path, PercentCoding.entryPath(try EntryID(url))]
            #expect(try await client.ask("PUT", Self.path, body: [1]).status == 201)
            for path in paths {
                let tag = try await tag(client, path)
                try expectRefusal(try await client.ask("DELETE", path, ["If-Match: \"x\""]))
                try expectRefusal(try await client.ask("DELETE", path, ["If-None-Match: *"]))
                if tag.hasPrefix("W/") {
                    try expectRefusal(try await client.ask("DELETE", path, ["If-Match: \(tag)"]))
                    #expect(try await client.ask("DELETE", path, ["If-Match: *"]).status == 204)
                } else {
                    #expect(
                        try await client.ask("DELETE", path, ["If-Match: \(tag)"]).status == 204
                    )
                }
                #expect(try await client.ask("DELETE", path, ["If-Match: *"]).status == 404)
            }
        }
    }

    @Test("Of what modifiers change, the tag is that of what shows")
    func views() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let json = ["Content-Type: application/json"]
            let body = Array(#"{"n":1}"#.utf8)
            #expect(try await client.ask("PUT", Self.path, json, body: body).status == 201)
            let base = try await tag(client)
            let modifier = #"""
                {"hold":"1h","request":{"method":"POST","url":"https://api.example.com/n"},
                "changes":[{"target":{"id":"a"},"effect":{"type":"merge","value":{"m":2}}}]}
                """#
            let accepted = try await client.ask("POST", "/v1/modifiers", body: Array(modifier.utf8))
            #expect(accepted.status == 202)
            let view = try await tag(client)
            #expect(view != base)
            let new = Array(#"{"n":2}"#.utf8)
            try expectRefusal(
                try await client.ask("PUT", Self.path, json + ["If-Match: \(base)"], body: new)
            )
            let taken = try await client.ask(
                "PUT",
                Self.path,
                json + ["If-Match: \(view)"],
                body: new
            )
            #expect(taken.status == 204)
            #expect(try await client.ask("GET", Self.path).text == #"{"n":2,"m":2}"#)
        }
    }

    @Test("No write is lost between two that count up", arguments: ["", "?pin=true"])
    func noneIsLost(query: String) async throws {
        try await ServerFixture.run { server in
            let first = try await server.connect()
            _ = try await first.ask("PUT", Self.path + query, body: Array("0".utf8))
            let written = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 {
                    let client = try await server.connect()
                    group.addTask {
                        var written = 0
                        for _ in 0..<30 {
                            let now = try await client.ask("GET", Self.path)
                            let tag = now.headers["ETag"] ?? ""
                            let next = String((Int(now.text) ?? 0) + 1)
                            let answer = try await client.ask(
                                "PUT",
                                Self.path + query,
                                ["If-Match: \(tag)"],
                                body: Array(next.utf8)
                            )
                            if answer.status == 204 { written += 1 }
                        }
                        return written
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(try await first.ask("GET", Self.path).text == String(written))
            #expect(written > 0)
        }
    }

    @Test("A part of a body, or a coded one, is refused", arguments: ["PUT", "DELETE"])
    func parts(method: String) async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            #expect(try await client.ask("PUT", Self.path, body: [1]).status == 201)
            for header in ["Content-Range: bytes 0-0/5", "Content-Encoding: gzip"] {
                let refusal = try await client.ask(method, Self.path, [header], body: [2])
                #expect(refusal.status == 400)
                #expect(try refusal.problem().kind == .unsupported)
            }
            #expect(try await client.ask("GET", Self.path).body == [1])
            let plain = ["Content-Encoding: identity"]
            #expect(try await client.ask("PUT", Self.path, plain, body: [3]).status == 204)
        }
    }

    @Test("Every answer has a Date, and HEAD says what GET would")
    func headsAndDates() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            #expect(try await client.ask("PUT", Self.path, body: [1]).headers["Date"] != nil)
            for path in [
                Self.path, "/v1/entries", "/v1/pins", "/v1/modifiers", "/v1/origins", "/v1/status",
                "/v1/health", "/v1/openapi.json", "/v1/entries/a/explain",
                "/v1/entries/entity:a/B:1", "/v1/entries/missing", "/nothing",
            ] {
                let get = try await client.ask("GET", path)
                let head = try await client.ask("HEAD", path)
                #expect(get.headers["Date"] != nil, "\(path)")
                #expect(head.status == get.status, "\(path)")
                #expect(head.body.isEmpty)
                for name in ["Content-Type", "ETag", "Date"] {
                    #expect(head.headers[name] == get.headers[name], "\(path)")
                }
                let length = head.headers["Content-Length"].flatMap { Int($0) }
                #expect((length ?? 0) > 0, "\(path)")
            }
            for path in ["/v1/fetch?url=x", "/v1/watch"] {
                let head = try await client.ask("HEAD", path)
                #expect(head.status == 405)
                #expect(head.headers["Allow"] == "GET, POST")
                #expect(head.headers["Date"] != nil)
            }
            try await client.send("no HTTP\r\n\r\n")
            #expect(try await client.response().headers["Date"] != nil)
        }
    }
}
