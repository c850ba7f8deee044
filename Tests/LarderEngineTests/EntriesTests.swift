import LarderAPI
import LarderModel
import LarderStore
import LarderTestSupport
import LarderUpstream
import LarderWire
import Testing

@testable import LarderEngine

/// A client's own blobs, lists and explanations.
@Suite(.timeLimit(.minutes(5)), .engine)
struct EntriesTests {
    private let fixture = EngineFixture.running

    @Test("A blob is put, read, replaced and removed")
    func life() async throws {
        let first = try await fixture.put("note", "one")
        #expect(first.put.isNew)
        #expect(try fixture.read("note") == "one")
        let second = try await fixture.put("note", "two")
        #expect(!second.put.isNew)
        #expect(second.put.revision > first.put.revision)
        #expect(try fixture.read("note") == "two")
        #expect(try await fixture.engine.entries.remove(EntryID("note"), fixture.scope) != nil)
        #expect(try fixture.read("note") == nil)
        #expect(try await fixture.engine.entries.remove(EntryID("note"), fixture.scope) == nil)
    }

    @Test("The same bytes keep their revision and their tag")
    func sameBytes() async throws {
        let first = try await fixture.put("note", "one")
        let second = try await fixture.put("note", "one")
        #expect(second.put.revision == first.put.revision)
        #expect(second.entityTag == first.entityTag)
        #expect(!second.put.isNew)
    }

    @Test("A blob is gone once its ttl is over")
    func expiry() async throws {
        try await fixture.put("note", "one", ttl: .seconds(60))
        fixture.clock.advance(by: .milliseconds(59_999))
        #expect(try fixture.read("note") == "one")
        fixture.clock.advance(by: .milliseconds(1))
        #expect(try fixture.read("note") == nil)
        #expect(try await fixture.engine.entries.explain(EntryID("note"), fixture.scope) == nil)
    }

    @Test("An id under an origin's base URL is refused")
    func originID() async throws {
        let id = try EntryID("https://api.example.com/a")
        let expected = Problem(.originID, "'\(id)' lies under the base URL of origin 'example'")
        #expect(expected.status == 409)
        await #expect(throws: expected) {
            try await fixture.put(id.text, "one")
        }
        try await fixture.put("https://other.example/a", "one")
    }

    @Test("A blob above max_entry_bytes is refused and leaves nothing behind")
    func tooLarge() async throws {
        try await EngineFixture.run(.with { $0.store.maxEntryBytes = ByteSize(bytes: 100_000) }) {
            fixture in
            let before = fixture.engine.store.totals
            let text = String(repeating: "x", count: 100_001)
            await #expect(throws: Problem(.entryTooLarge, "the body has more than 100000 bytes")) {
                try await fixture.put("note", text)
            }
            try await fixture.engine.store.settle()
            #expect(fixture.engine.store.totals == before)
        }
    }

    @Test("A blob whose last chunk cannot be stored leaves nothing behind")
    func storeFails() async throws {
        let before = fixture.engine.store.totals
        for step in [StoreStep.putChunk, StoreStep.putEntry] {
            var intake = try fixture.engine.entries.take(
                EntryID("note"),
                fixture.scope,
                mediaType: nil,
                ttl: nil
            )
            try await intake.take([UInt8](repeating: 0, count: 100_000))
            fixture.faults.arm(1, of: step, with: .full, .forGood)
            var failure: Problem?
            do throws(Problem) {
                _ = try await intake.finish()
            } catch {
                failure = error
            }
            fixture.faults.disarm()
            #expect(failure?.status == 507)
            try await fixture.engine.store.settle()
            #expect(fixture.engine.store.totals == before)
        }
    }

    @Test("Of two scopes neither sees the other's rows")
    func scopes() async throws {
        let other = fixture.engine.store.key(for: .own(uid: 1_001, account: .default))
        try await fixture.put("note", "one")
        let id = try EntryID("note")
        #expect(try await fixture.engine.entries.explain(id, other) == nil)
        #expect(
            try await fixture.engine.entries.list(EntryListQuery(), .one(other)).items.isEmpty
        )
        #expect(try await fixture.engine.entries.remove(id, other) == nil)
        let report = try await fixture.engine.eviction.evict(EvictOrder(.all), .one(other))
        #expect(report.evicted == 0)
        #expect(try fixture.read("note") == "one")
    }

    // MARK: Lists

    @Test("A list is of one prefix or one origin, and shows no row of ours")
    func filters() async throws {
        try await fixture.put("note:1", "one")
        try await fixture.put("other", "two")
        fixture.upstream.answer(
            try fixture.url("/a"),
            with: .json("[1]", headers: ["Vary": "Accept"])
        )
        try await fixture.fetch(fixture.url("/a")) { $0.headers.append("Accept", "a/b") }
        var command = EntryListQuery()
        let fetched = "https://api.example.com/a accept=a/b"
        #expect(try await fixture.ids(command) == [fetched, "note:1", "other"])
        command.prefix = "note:"
        #expect(try await fixture.ids(command) == ["note:1"])
        command.prefix = nil
        command.origin = "example"
        #expect(try await fixture.ids(command) == [fetched])
    }

    @Test("A cursor that no list gave is refused", arguments: ["", "x", "x:a", "1"])
    func badCursor(text: String) async throws {
        var command = EntryListQuery()
        command.page.cursor = text
        let expected = Problem(.badRequest, "'\(text)' is not a cursor that a list has given")
        await #expect(throws: expected) {
            try await fixture.engine.entries.list(command, .one(fixture.scope))
        }
    }

    // MARK: explain

    @Test("An entry is explained, and that a flight protects it only while it is in the air")
    func explain() async throws {
        let url = try fixture.url("/a")
        try await fixture.cache(url, .json("[1]", etag: "\"v1\""))
        let gate = Gate()
        fixture.upstream.answer(url, with: .notModified.held(by: gate))
        let fetch = fixture.start(url)
        _ = try await fixture.upstream.asked.element(1)
        let explained = try await fixture.explain(url)
        #expect(explained?.protectedBy == ["in_flight"])
        #expect(explained?.item.kind == .fetched)
        #expect(explained?.item.origin == "example")
        #expect(explained?.item.bodyBytes == 3)
        #expect(explained?.digest == BodySummary(of: Array("[1]".utf8), isJSON: true).digest.text)
        gate.open()
        _ = try await fetch.result()
        #expect(try await fixture.explain(url)?.protectedBy == [])
    }
}

extension EngineFixture {
    @discardableResult
    func put(
        _ id: String,
        _ text: String,
        ttl: Duration? = nil
    ) async throws -> (put: PutReceipt, entityTag: String) {
        var intake = try engine.entries.take(EntryID(id), scope, mediaType: "text/plain", ttl: ttl)
        try await intake.take(Array(text.utf8))
        return try await intake.finish()
    }

    /// What is under an id; nil for a miss.
    func read(_ id: String) throws -> String? {
        let reader = try engine.store.makeReader()
        defer { reader.endTransaction() }
        return try engine.withEntry(EntryID(id), scope, reader, now: clock.now()) { row in
            row.withBody { String(decoding: $0, as: UTF8.self) }
        }
    }

    func ids(_ command: EntryListQuery = EntryListQuery()) async throws -> [String] {
        try await engine.entries.list(command, .one(scope)).items.map(\.id)
    }
}
