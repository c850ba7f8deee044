import LarderAPI
import LarderEngine
import LarderJSON
import LarderModel
import LarderTestSupport
import LarderWire
import Testing

@Suite("Entities over the socket", .timeLimit(.minutes(5)))
struct EntityTests {
    private func page(_ title: String, by author: String) -> String {
        #"{"type":"Article","id":"\#(title)","author":\#(author)}"#
    }

    /// Has the daemon fetch a page, and gives what it shows.
    private func fetch(
        _ client: RawClient,
        _ path: String,
        _ policy: FetchPolicy = .networkOnly
    ) async throws -> String {
        let url = PercentCoding.encode(ServerFixture.baseURL + path)
        let target = "/v1/fetch?url=\(url)&policy=\(policy.rawValue)"
        let frames = try await client.ask("GET", target).frames()
        for case .snapshot(let snapshot) in frames {
            guard case .json(let bytes) = snapshot.entry.content else { continue }
            return String(decoding: bytes, as: UTF8.self)
        }
        return ""
    }

    @Test("An entity can be set, read with an ETag for conditional requests, and deleted")
    func life() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            let path = "/v1/entries/entity:example%2FUser%3Aa%252Fb"
            let json = #"{"type":"User","id":"a/b","name":"Ada"}"#
            let created = try await client.ask("PUT", path, body: Array(json.utf8))
            #expect(created.status == 201)
            let read = try await client.ask("GET", path)
            #expect(read.status == 200)
            #expect(read.text == json)
            #expect(read.headers["Content-Type"] == "application/json")
            #expect(read.headers["Larder-Rev"] == created.headers["Larder-Rev"])
            #expect(read.headers["Larder-Pending"] == "0")
            let tag = try #require(read.headers["ETag"])
            #expect(tag.hasPrefix("\"larder-"))
            let same = try await client.ask("GET", path, ["If-None-Match: \(tag)"])
            #expect(same.status == 304)
            #expect(same.headers["ETag"] == tag)
            let head = try await client.ask("HEAD", path)
            #expect(head.status == 200)
            #expect(head.headers["Content-Length"] == "\(json.utf8.count)")
            // What is not said stays.
            let more = try await client.ask("PUT", path, body: Array(#"{"age":36}"#.utf8))
            #expect(more.status == 204)
            let merged = try await client.ask("GET", path, ["If-None-Match: \(tag)"])
            #expect(merged.status == 200)
            #expect(try JSONValue(parsing: merged.body)["name"]?.string == "Ada")
            #expect(try JSONValue(parsing: merged.body)["age"]?.integer == 36)

            #expect(try await client.ask("DELETE", path).status == 204)
            let gone = try await client.ask("GET", path)
            #expect(gone.status == 410)
            #expect(try gone.problem().kind == .deleted)
            let miss = try await client.ask("GET", "/v1/entries/entity:example/User:c")
            #expect(miss.status == 404)
            #expect(try miss.problem().kind == .miss)
        }
    }

    @Test("An author's change in one answer shows in every answer with that author")
    func shared() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            let (old, new) = (
                #"{"type":"User","id":7,"name":"A"}"#, #"{"type":"User","id":7,"name":"B"}"#
            )
            let (first, second) = (try ServerFixture.url("/1"), try ServerFixture.url("/2"))
            server.upstream.answer(first, with: .json(page("1", by: old)))
            server.upstream.answer(second, with: .json(page("2", by: new)))
            #expect(try await fetch(client, "/1") == page("1", by: old))
            #expect(try await fetch(client, "/2") == page("2", by: new))
            #expect(try await fetch(client, "/1", .cacheOnly) == page("1", by: new))
            let entry = "/v1/entries/" + PercentCoding.encode(first.text)
            #expect(try await client.ask("GET", entry).text == page("1", by: new))
            let author = try await client.ask("GET", "/v1/entries/entity:example/User:7")
            #expect(author.text == new)
            let article = try await client.ask("GET", "/v1/entries/entity:example/Article:1")
            #expect(try JSONValue(parsing: article.body)["author"]?.string == "User:7")
            let whole = try await client.ask("GET", "/v1/entries/entity:example/Article:1?expand=1")
            #expect(whole.text == page("1", by: new))
        }
    }

    private func ids(_ keys: String...) -> [String] { keys.map { "entity:example/\($0)" } }

    @Test("A list has the entities of a type, page by page, and no entry")
    func list() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            for key in ["User:1", "User:2", "User:3", "Users:1"] {
                let path = "/v1/entries/entity:example/\(PercentCoding.encode(key))"
                _ = try await client.ask("PUT", path, body: Array("{}".utf8))
            }
            try await server.store("notes/1", Array("1".utf8), kind: .blob)
            _ = try await client.ask("DELETE", "/v1/entries/entity:example/User:2")
            let first = try await client.ask(
                "GET",
                "/v1/entries?prefix=entity:example/User:&limit=2"
            )
            let page = try first.value(Page<EntryItem>.self)
            #expect(page.items.map(\.id) == ids("User:1", "User:2"))
            #expect(page.items.map(\.kind) == [.entity, .tombstone])
            let read = try await client.ask("GET", "/v1/entries/entity:example/User:1")
            #expect(page.items[0].etag == read.headers["ETag"])
            #expect(page.items[0].bodyBytes == read.body.count)
            let cursor = PercentCoding.encode(try #require(page.next))
            let rest = try await client.ask(
                "GET",
                "/v1/entries?prefix=entity:example/User:&limit=2&cursor=\(cursor)"
            )
            #expect(try rest.value(Page<EntryItem>.self).items.map(\.id) == ids("User:3"))
            for prefix in ["entity:", "entity:example/"] {
                let all = try await client.ask("GET", "/v1/entries?prefix=\(prefix)")
                    .value(Page<EntryItem>.self)
                #expect(all.items.map(\.id) == ids("User:1", "User:2", "User:3", "Users:1"))
            }
            let entries = try await client.ask("GET", "/v1/entries")
            #expect(try entries.value(Page<EntryItem>.self).items.map(\.id) == ["notes/1"])
        }
    }

    @Test("An entity is explained with what holds it")
    func explain() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            let url = try ServerFixture.url("/1")
            let author = #"{"type":"User","id":7,"name":"A"}"#
            server.upstream.answer(url, with: .json(page("1", by: author)))
            _ = try await fetch(client, "/1")
            let answer = try await client.ask("GET", "/v1/entries/entity:example/User:7/explain")
            let explanation = try answer.value(EntryExplanation.self)
            #expect(explanation.item.id == "entity:example/User:7")
            #expect(explanation.item.bodyBytes == author.utf8.count)
            #expect(explanation.form == .entity)
            let article = EntryID(try server.entity("Article:1"))
            #expect(explanation.referencedBy?.items == [.init(article, members: ["author"])])
            let holder = try await client.ask("GET", "/v1/entries/entity:example/Article:1/explain")
            let other = try holder.value(EntryExplanation.self)
            #expect(
                other.referencedBy?.items
                    == [.init(try EntryID(url), members: ["type", "id", "author"])]
            )
            let user = EntryID(try server.entity("User:7"))
            #expect(other.entities?.items == [.init(user, members: ["author"])])
            let entry = "/v1/entries/\(PercentCoding.encode(url.text))/explain"
            let form = try await client.ask("GET", entry).value(EntryExplanation.self)
            #expect(form.form == .normalized)
            #expect(form.entities?.items.map(\.id) == ["entity:example/Article:1"])
            let miss = try await client.ask("GET", "/v1/entries/entity:example/User:8/explain")
            #expect(try miss.problem().kind == .miss)
        }
    }

    @Test("An entity of an origin without rules is a miss, and is not set")
    func origins() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            let path = "/v1/entries/entity:none/A:1"
            #expect(try await client.ask("GET", path).problem().kind == .miss)
            #expect(try await client.ask("GET", path + "/explain").problem().kind == .miss)
            let set = try await client.ask("PUT", path, body: Array("{}".utf8))
            #expect(try set.problem().kind == .badRequest)
        }
    }

    @Test(
        "A parameter or a condition that an entity does not have is refused",
        arguments: [
            ("PUT", "entity:example/A:1?ttl=1h", []), ("PUT", "entity:example/A:1?pin=true", []),
            ("PUT", "entity:example/A:1", ["If-None-Match: *"]),
            ("DELETE", "entity:example/A:1", ["If-Match: *"]),
            ("GET", "entity:example/A:1?expand=9", []), ("GET", "notes/1?expand=1", []),
        ] as [(String, String, [String])]
    )
    func misfits(method: String, path: String, fields: [String]) async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            let body = Array((method == "PUT" ? "{}" : "").utf8)
            let answer = try await client.ask(method, "/v1/entries/" + path, fields, body: body)
            #expect(try answer.problem().kind == .badRequest)
            let pin = try await client.ask("PUT", "/v1/pins/entity:example/A:1")
            #expect(try pin.problem().detail.contains("cannot be pinned"))
        }
    }

    @Test("A URL in any spelling is one id on each route")
    func spellings() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let url = try ServerFixture.url("/1")
            server.upstream.answer(url, with: .json("{}"))
            _ = try await fetch(client, "/1")
            let other = "HTTPS://API.example.com:443/1"
            let path = PercentCoding.encode(other)
            #expect(try await client.ask("GET", "/v1/entries/\(path)").status == 200)
            #expect(try await client.ask("GET", "/v1/entries/\(path)/explain").status == 200)
            let ids = Array(#"{"ids":["\#(other)"],"dry_run":true}"#.utf8)
            let evicted = try await client.ask("POST", "/v1/evict", body: ids)
            #expect(try EvictReport(decoding: evicted.body).ids == [url.text])
            let batch = Array(#"{"ids":["\#(other)"]}"#.utf8)
            let frames = try await client.ask("POST", "/v1/entries/batch", body: batch)
            #expect(frames.text.contains(#""id":"\#(url.text)""#))
            #expect(try await client.ask("PUT", "/v1/pins/\(path)").status == 201)
            let lane = PercentCoding.encode("id:" + other)
            let paused = Array(#"{"paused":true}"#.utf8)
            #expect(try await client.ask("PUT", "/v1/lanes/\(lane)", body: paused).status == 204)
            let write = #"{"changes":[{"target":{"id":"\#(other)"},"effect":{"type":"delete"}}]}"#
            let sent = try await client.ask("POST", "/v1/modifiers", body: Array(write.utf8))
            let receipt: ModifierReceipt = try sent.value()
            let report: ModifierReport =
                try await client.ask("GET", "/v1/modifiers/\(receipt.id)").value()
            #expect(report.targets.map(\.id) == [url.text])
            #expect(report.lanes == ["id:\(url.text)"])
            #expect(report.marks == [.paused])
        }
    }

    @Test(
        "A body that is not an object with this key is refused",
        arguments: ["", "[]", "1", "{", #"{"type":"User","id":8}"#]
    )
    func refused(body: String) async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            let answer = try await client.ask(
                "PUT",
                "/v1/entries/entity:example/User:7",
                body: Array(body.utf8)
            )
            #expect(answer.status == 400)
            _ = try answer.problem()
            let read = try await client.ask("GET", "/v1/entries/entity:example/User:7")
            #expect(read.status == 404)
        }
    }

    @Test("An entity evicted by its key is a miss; its answer is a miss or shown without it")
    func evict() async throws {
        try await ServerFixture.run(rules: .standard) { server in
            let client = try await server.connect()
            let url = try ServerFixture.url("/1")
            let author = #"{"type":"User","id":7,"name":"A"}"#
            server.upstream.answer(url, with: .json(page("1", by: author)))
            _ = try await fetch(client, "/1")
            let answer = try await client.ask(
                "POST",
                "/v1/evict",
                body: Array(#"{"ids":["entity:example/User:7"]}"#.utf8)
            )
            let report = try EvictReport(decoding: answer.body)
            #expect(report.evicted == 1)
            #expect(report.ids == ids("User:7"))
            #expect(try await client.ask("GET", "/v1/entries/entity:example/User:7").status == 404)
            let target = "/v1/fetch?url=\(PercentCoding.encode(url.text))&policy=cache-only"
            #expect(try await client.ask("GET", target).problem().kind == .miss)
            let frames = try await client.ask("GET", target + "&partial=true").frames()
            guard case .snapshot(let snapshot) = try #require(frames.first) else {
                Issue.record("\(frames)")
                return
            }
            #expect(!snapshot.complete)
            #expect(snapshot.missing == ["/author"])
        }
    }
}
