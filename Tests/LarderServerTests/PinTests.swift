import LarderAPI
import LarderModel
import LarderStore
import LarderTestSupport
import LarderWire
import Testing

@Suite("Pins over the socket", .timeLimit(.minutes(5)))
struct PinTests {
    @Test("A pin is made, listed and taken back, each with its status")
    func life() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            _ = try await client.ask("PUT", "/v1/entries/a", body: Array("one".utf8))
            let pinned = try await client.ask("PUT", "/v1/pins/a")
            #expect(pinned.status == 201)
            let item = try PinItem(decoding: pinned.body)
            #expect(item.state == .held)
            #expect(item.bodyBytes == 3)
            let again = try await client.ask("PUT", "/v1/pins/a")
            #expect(again.status == 204)
            let read = try await client.ask("GET", "/v1/entries/a")
            #expect(read.text == "one")
            let list = try await client.ask("GET", "/v1/pins")
            #expect(try Page<PinItem>(decoding: list.body) == Page(items: [item]))
            let deleted = try await client.ask("DELETE", "/v1/entries/a")
            #expect(try deleted.problem().kind == .pinned)
            let replaced = try await client.ask("PUT", "/v1/entries/a", body: Array("two".utf8))
            #expect(replaced.status == 204)
            let second = try await client.ask("GET", "/v1/entries/a")
            #expect(second.text == "two")
            #expect(try await client.ask("DELETE", "/v1/pins/a").status == 204)
            #expect(try await client.ask("DELETE", "/v1/pins/a").problem().kind == .miss)
            #expect(try await client.ask("GET", "/v1/entries/a").text == "two")
            #expect(try await client.ask("DELETE", "/v1/entries/a").status == 204)
        }
    }

    @Test("A blob is stored and pinned in one, of any size, and read in pieces and by HEAD")
    func putPinned() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for count in [10, 300_000] {
                let bytes = pattern(count)
                let path = "/v1/entries/b\(count)"
                let put = try await client.ask("PUT", path + "?pin=true", body: bytes)
                #expect(put.status == 201)
                #expect(try await client.ask("GET", path).body == bytes)
                let head = try await client.ask("HEAD", path)
                #expect(head.headers["Content-Length"] == String(count))
                let tag = try #require(head.headers["ETag"])
                let same = try await client.ask("GET", path, ["If-None-Match: \(tag)"])
                #expect(same.status == 304)
            }
            let status = try await client.ask("GET", "/v1/status")
            let pins = try StatusReport(decoding: status.body).pins
            #expect(pins.count == 2)
            #expect(pins.accountedBytes > 300_000)
        }
    }

    @Test("An entry that is not cached is fetched; while the origin is away the answer is 202")
    func fetched() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let url = try ServerFixture.url("/a")
            let path = PercentCoding.pinPath(try EntryID(url))
            server.upstream.answer(url, with: .reply("down", status: 500))
            let waiting = try await client.ask("PUT", path)
            #expect(waiting.status == 202)
            #expect(try PinItem(decoding: waiting.body).state == .waiting)
            server.upstream.answer(url, with: .json("[1]"))
            let held = try await client.ask("PUT", path + "?wait=5s")
            #expect(held.status == 204)
            server.upstream.answer(try ServerFixture.url("/no"), with: .reply("no", status: 403))
            let no = PercentCoding.pinPath(try EntryID(try ServerFixture.url("/no")))
            let refused = try await client.ask("PUT", no)
            #expect(try refused.problem().kind == .originStatus)
        }
    }

    @Test("Lists come in pages, and each user and account has pins of its own")
    func pages() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            for name in ["a", "b", "c"] {
                _ = try await client.ask("PUT", "/v1/entries/\(name)?pin=true", body: [1])
            }
            _ = try await client.ask("PUT", "/v1/entries/w?pin=true&account=work", body: [1])
            var ids: [String] = []
            var target = "/v1/pins?limit=2"
            while true {
                let page = try Page<PinItem>(decoding: try await client.ask("GET", target).body)
                ids += page.items.map(\.id)
                guard let next = page.next else { break }
                target = "/v1/pins?limit=2&cursor=\(next)"
            }
            #expect(ids == ["a", "b", "c"])
            let work = try await client.ask("GET", "/v1/pins?account=work")
            #expect(try Page<PinItem>(decoding: work.body).items.map(\.id) == ["w"])
            #expect(try await client.ask("DELETE", "/v1/pins/w").status == 404)
        }
    }

    @Test(
        "Bad input is refused by name",
        arguments: [
            ("PUT", "/v1/pins/a?waiting=1s", ProblemKind.unknownParameter),
            ("PUT", "/v1/pins/a?wait=soon", .badRequest),
            ("PUT", "/v1/pins/a?wait=2h", .badRequest),
            ("PUT", "/v1/pins/a%00", .badID), ("PUT", "/v1/pins/", .badID),
            ("PUT", "/v1/pins/nothing", .miss), ("DELETE", "/v1/pins/nothing", .miss),
            ("GET", "/v1/pins?limit=0", .badRequest),
            ("GET", "/v1/pins?bogus=1", .unknownParameter),
            ("PUT", "/v1/entries/a?pin=yes", .badRequest), ("POST", "/v1/pins", .methodNotAllowed),
            ("GET", "/v1/pins/a", .methodNotAllowed),
        ]
    )
    func badInput(method: String, target: String, kind: ProblemKind) async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            #expect(try await client.ask(method, target).problem().kind == kind)
        }
    }

    @Test("A body for a pin is refused, as it would be taken for the entry's")
    func body() async throws {
        try await ServerFixture.run { server in
            let client = try await server.connect()
            let answer = try await client.ask("PUT", "/v1/pins/a", body: Array("one".utf8))
            let problem = try answer.problem()
            #expect(problem.kind == .badRequest)
            #expect(problem.hint.contains("?pin=true"))
        }
    }
}
