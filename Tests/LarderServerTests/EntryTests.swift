import LarderAPI
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@Suite("Entries over the socket", .timeLimit(.minutes(5)))
struct EntryTests {
    @Test("A blob is put, read, replaced and deleted, each with its status")
    func lifeOfABlob() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let type = ["Content-Type: text/plain"]
            let created = try await client.ask(
                "PUT",
                "/v1/entries/a",
                type,
                body: Array("one".utf8)
            )
            #expect(created.status == 201)
            #expect(created.body.isEmpty)
            let read = try await client.ask("GET", "/v1/entries/a")
            #expect(read.status == 200)
            #expect(read.text == "one")
            #expect(read.headers["Content-Type"] == "text/plain")
            #expect(read.headers["ETag"] == created.headers["ETag"])
            #expect(read.headers["Larder-Rev"] == created.headers["Larder-Rev"])

            let replaced = try await client.ask("PUT", "/v1/entries/a", body: Array("two".utf8))
            #expect(replaced.status == 204)
            #expect(replaced.headers["Content-Length"] == nil)
            let second = try await client.ask("GET", "/v1/entries/a")
            #expect(second.text == "two")
            #expect(second.headers["Content-Type"] == "application/octet-stream")
            let revisions = [read, second].map { Int($0.headers["Larder-Rev"] ?? "") ?? 0 }
            #expect(revisions[0] > 0)
            #expect(revisions[1] > revisions[0])

            let deleted = try await client.ask("DELETE", "/v1/entries/a")
            #expect(deleted.status == 204)
            let miss = try await client.ask("GET", "/v1/entries/a")
            #expect(miss.status == 404)
            #expect(try miss.problem().kind == .miss)
            let again = try await client.ask("DELETE", "/v1/entries/a")
            #expect(try again.problem().kind == .miss)
        }
    }

    @Test(
        "A miss says how to get an entry: a URL is fetched, a name is put",
        arguments: [
            ("notes%2F2", "Put it first"),
            ("https%3A%2F%2Fapi.example.com%2Fnone", "Fetch it with a policy"),
            ("entity:example/User:8", "Fetch the URL of an answer"),
        ]
    )
    func hintOfAMiss(id: String, hint: String) async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            let problem = try await client.ask("GET", "/v1/entries/\(id)").problem()
            #expect(problem.kind == .miss)
            #expect(problem.hint.hasPrefix(hint), "\(problem.hint)")
        }
    }

    @Test("An entry's headers say all that is known of it")
    func headersOfAnEntry() async throws {
        try await ServerFixture.run { server in
            let id = "\(ServerFixture.baseURL)/42"
            let body = Array(#"{"a":1}"#.utf8)
            let revision = try await server.store(id, body) { entry in
                entry.mediaType = "application/json"
                entry.etag = "\"a1\""
                entry.lastModified = "Mon, 13 Nov 2023 00:00:00 GMT"
                entry.storedAt = ManualClock.start
                entry.freshUntil = ManualClock.start.advanced(by: .seconds(60))
            }
            server.clock.advance(by: .seconds(61))
            let client = try await server.connect()
            let response = try await client.ask("GET", try Self.path(id))
            let expected = [
                ("Date", "Tue, 14 Nov 2023 22:14:21 GMT"),
                ("Server", "larderd/\(Version.text)"),
                ("Content-Type", "application/json"),
                ("ETag", "\"a1\""),
                ("Last-Modified", "Mon, 13 Nov 2023 00:00:00 GMT"),
                ("Age", "61"),
                ("Cache-Status", "larder; hit; ttl=-1"),
                ("Larder-Rev", "\(revision.number)"),
                ("Larder-Pending", "0"),
                ("Accept-Ranges", "bytes"),
                ("Content-Length", "7"),
            ]
            let fields = expected.map { HeaderFields.Field(name: $0.0, value: $0.1) }
            #expect(response.headers == HeaderFields(fields))
            #expect(response.status == 200)
            #expect(response.version == "HTTP/1.1")
            #expect(response.body == body)
        }
    }

    @Test("Headers that the origin did not send are made from the bytes and the time of storing")
    func headersOfOurOwn() async throws {
        try await ServerFixture.run { server in
            try await server.store("a", Array("x".utf8), kind: .blob)
            let client = try await server.connect()
            let response = try await client.ask("GET", "/v1/entries/a")
            let digest = BodySummary(of: Array("x".utf8), isJSON: false).digest
            #expect(response.headers["ETag"] == "\"larder-\(digest.text)\"")
            #expect(response.headers["Last-Modified"] == "Tue, 14 Nov 2023 22:13:20 GMT")
            #expect(response.headers["Age"] == "0")
            #expect(response.headers["Cache-Status"] == "larder; hit")
            #expect(response.headers["Content-Type"] == "application/octet-stream")
        }
    }

    @Test(
        "If-None-Match is answered by 304 exactly when it names the entity tag",
        arguments: [
            ("\"a1\"", 304), ("W/\"a1\"", 304), ("\"b\", \"a1\"", 304), ("\"b\",W/\"a1\"", 304),
            ("*", 304), ("\"b\"", 200), ("a1", 200), ("", 200), ("\"a1", 200), ("\"A1\"", 200),
        ]
    )
    func conditions(condition: String, status: Int) async throws {
        try await ServerFixture.run { server in
            try await server.store("a", Array("x".utf8)) { $0.etag = "\"a1\"" }
            let client = try await server.connect()
            let whole = try await client.ask("GET", "/v1/entries/a")
            let response = try await client.ask(
                "GET",
                "/v1/entries/a",
                ["If-None-Match: \(condition)"]
            )
            #expect(response.status == status)
            if status == 304 {
                var headers = whole.headers
                headers.remove("Content-Length")
                #expect(response.headers == headers)
                #expect(response.body.isEmpty)
            } else {
                #expect(response == whole)
            }
        }
    }

    @Test("If-None-Match counts in every line of the head, with commas inside the quotes")
    func conditionLines() async throws {
        try await ServerFixture.run { server in
            try await server.store("a", [1]) { $0.etag = "\"a,1\"" }
            let client = try await server.connect()
            for lines in [["\"b\"", "\"a,1\""], ["\"b\", W/\"a,1\""], ["\"a,1\""]] {
                let headers = lines.map { "If-None-Match: \($0)" }
                #expect(try await client.ask("GET", "/v1/entries/a", headers).status == 304)
            }
            let other = ["If-None-Match: \"a\", \"1\"", "If-None-Match: \"b,a\""]
            #expect(try await client.ask("GET", "/v1/entries/a", other).status == 200)
        }
    }

    @Test(
        "HEAD has the headers of GET and no body, also for a body in chunks",
        arguments: [0, 5, 300_000]
    )
    func heads(byteCount: Int) async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let body = pattern(byteCount)
            let put = try await client.ask("PUT", "/v1/entries/a", body: body)
            #expect(put.status == 201)
            let get = try await client.ask("GET", "/v1/entries/a")
            #expect(get.body == body)
            #expect(get.headers["Content-Length"] == "\(byteCount)")
            #expect(get.headers["Transfer-Encoding"] == nil)
            let head = try await client.ask("HEAD", "/v1/entries/a")
            #expect(head.headers == get.headers)
            #expect(head.status == 200)
            let condition = "If-None-Match: \(get.headers["ETag"] ?? "")"
            #expect(try await client.ask("HEAD", "/v1/entries/a", [condition]).status == 304)
            #expect(try await client.ask("GET", "/v1/entries/a", [condition]).status == 304)
            let miss = try await client.ask("HEAD", "/v1/entries/b")
            #expect(miss.status == 404)
            #expect(miss.headers["Content-Type"] == "application/problem+json")
            // Nothing of a body came: the next answer begins where it should.
            #expect(try await client.ask("GET", "/v1/entries/a") == get)
        }
    }

    @Test("A tombstone is 410, for a GET and for a HEAD")
    func tombstones() async throws {
        try await ServerFixture.run { server in
            try await server.store("a", [], kind: .tombstone) { $0.status = 404 }
            let client = try await server.connect()
            let get = try await client.ask("GET", "/v1/entries/a")
            #expect(get.status == 410)
            #expect(try get.problem().kind == .deleted)
            #expect(try await client.ask("HEAD", "/v1/entries/a").status == 410)
        }
    }

    @Test("A blob is there for its ttl")
    func ttl() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let put = try await client.ask("PUT", "/v1/entries/a?ttl=10s", body: [1, 2])
            #expect(put.status == 201)
            server.clock.advance(by: .seconds(9))
            let read = try await client.ask("GET", "/v1/entries/a")
            #expect(read.headers["Cache-Status"] == "larder; hit; ttl=1")
            #expect(read.headers["Age"] == "9")
            server.clock.advance(by: .seconds(1))
            #expect(try await client.ask("GET", "/v1/entries/a").status == 404)
            for ttl in ["0s", "x", "", "-1s"] {
                let refused = try await client.ask("PUT", "/v1/entries/a?ttl=\(ttl)", body: [])
                #expect(refused.status == 400, "ttl=\(ttl)")
            }
        }
    }

    @Test("An account's rows are its own")
    func accounts() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let put = try await client.ask("PUT", "/v1/entries/a?account=work", body: [1])
            #expect(put.status == 201)
            #expect(try await client.ask("GET", "/v1/entries/a").status == 404)
            #expect(try await client.ask("GET", "/v1/entries/a?account=work").body == [1])
            #expect(try await client.ask("GET", "/v1/entries").text == #"{"items":[],"next":null}"#)
            let list = try await client.ask("GET", "/v1/entries?account=work")
            #expect(try list.value(Page<EntryItem>.self).items.map(\.id) == ["a"])
            #expect(try await client.ask("DELETE", "/v1/entries/a").status == 404)
            #expect(try await client.ask("DELETE", "/v1/entries/a?account=work").status == 204)
        }
    }

    @Test("A client's blob cannot lie under an origin's base URL")
    func originIDs() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let id = "\(ServerFixture.baseURL)/42"
            let refused = try await client.ask("PUT", try Self.path(id), body: [1])
            #expect(refused.status == 409)
            #expect(try refused.problem().kind == .originID)
            let other = try await client.ask(
                "PUT",
                try Self.path("https://elsewhere.example/42"),
                body: [1]
            )
            #expect(other.status == 201)
        }
    }

    @Test("Lists go page by page in each order, and explain tells one row whole")
    func lists() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for (id, size) in [("a/1", 10), ("a/2", 30), ("b", 20)] {
                let path = try Self.path(id)
                let put = try await client.ask("PUT", path, body: pattern(size))
                #expect(put.status == 201)
                server.clock.advance(by: .seconds(1))
            }
            func ids(_ query: String) async throws -> [String] {
                let response = try await client.ask("GET", "/v1/entries\(query)")
                #expect(response.headers["Content-Type"] == "application/json")
                return try response.value(Page<EntryItem>.self).items.map(\.id)
            }
            #expect(try await ids("") == ["a/1", "a/2", "b"])
            #expect(try await ids("?prefix=a%2F") == ["a/1", "a/2"])
            #expect(try await ids("?sort=size") == ["a/2", "b", "a/1"])
            #expect(try await ids("?sort=age") == ["a/1", "a/2", "b"])
            _ = try await client.ask("GET", try Self.path("a/1"))
            #expect(try await ids("?sort=used") == ["a/2", "b", "a/1"])
            #expect(try await ids("?origin=example") == [])
            let first = try await client.ask("GET", "/v1/entries?limit=2")
            let next = try #require(try first.value(Page<EntryItem>.self).next)
            #expect(try await ids("?limit=2&cursor=\(PercentCoding.encode(next))") == ["b"])

            let response = try await client.ask("GET", "\(try Self.path("a/2"))/explain")
            let explanation = try response.value(EntryExplanation.self)
            #expect(explanation.item.id == "a/2")
            #expect(explanation.item.bodyBytes == 30)
            #expect(explanation.protectedBy.isEmpty)
            #expect(try await client.ask("GET", "/v1/entries/c/explain").status == 404)
        }
    }

    @Test("An id is the same however it is spelled in the path")
    func spellings() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let encoded = "/v1/entries/x%2Fy%20%F0%9F%A6%8A%2Fexplain"
            #expect(try await client.ask("PUT", encoded, body: [7]).status < 300)
            for path in [encoded, "/v1/entries/x/y%20%f0%9f%a6%8a%2Fexplain"] {
                #expect(try await client.ask("GET", path).body == [7])
            }
            // RFC 3986 knows no byte above 127 in a path.
            let raw = try await client.ask("GET", "/v1/entries/x%2Fy%20🦊%2Fexplain")
            #expect(raw.status == 400)
            #expect(try raw.problem().kind == .badRequest)
        }
    }

    @Test("A replaced body in chunks stays whole for who is in the middle of it")
    func replacedWhileRead() async throws {
        try await ServerFixture.run { server in
            let reader = try await server.connect()
            let writer = try await server.connect()
            let old = pattern(4 << 20, seed: 1)
            let new = pattern(4 << 20, seed: 2)
            #expect(try await writer.ask("PUT", "/v1/entries/a", body: old).status == 201)
            try await reader.send("GET /v1/entries/a HTTP/1.1\r\nHost: x\r\n\r\n")
            try await reader.seen("\r\n\r\n")
            #expect(try await writer.ask("PUT", "/v1/entries/a", body: new).status == 204)
            #expect(try await writer.ask("GET", "/v1/entries/a").body == new)
            try await server.store.settle()
            #expect(try await reader.response().body == old)
            #expect(try await reader.ask("GET", "/v1/entries/a").body == new)
        }
    }

    private static func path(_ id: String) throws -> String {
        PercentCoding.entryPath(try EntryID(id))
    }
}
