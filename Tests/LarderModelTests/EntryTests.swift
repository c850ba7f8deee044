import LarderModel
import Testing

@Suite("An entry")
struct EntryTests {
    private let now = Timestamp(milliseconds: 1_000_000)

    private func entry(_ kind: EntryKind, freshFor lifetime: Duration?) throws -> Entry {
        var entry = Entry(
            id: try EntryID("a"),
            kind: kind,
            storedAt: now,
            revision: Revision(1),
            body: BodySummary(byteCount: 0, digest: Digest(high: 0xA, low: 0xB), isJSON: false)
        )
        entry.freshUntil = lifetime.map { now.advanced(by: $0) }
        return entry
    }

    @Test("A fetched entry is fresh until its lifetime is over, and stale without one")
    func stale() throws {
        let entry = try entry(.fetched, freshFor: .seconds(1))
        #expect(!entry.isStale(at: now))
        #expect(!entry.isStale(at: now.advanced(by: .milliseconds(999))))
        #expect(entry.isStale(at: now.advanced(by: .seconds(1))))
        #expect(try self.entry(.fetched, freshFor: nil).isStale(at: now))
        #expect(try !self.entry(.blob, freshFor: nil).isStale(at: now))
    }

    @Test("A time of storing in the future is stale and has no age")
    func future() throws {
        let entry = try entry(.fetched, freshFor: .seconds(10))
        let before = now.advanced(by: .seconds(-1))
        #expect(entry.isStale(at: before))
        #expect(entry.age(at: before) == .zero)
        #expect(entry.age(at: now.advanced(by: .seconds(3))) == .seconds(3))
    }

    @Test("Only a client's blob expires")
    func expired() throws {
        let later = now.advanced(by: .seconds(1))
        #expect(try entry(.blob, freshFor: .seconds(1)).isExpired(at: later))
        #expect(try !entry(.blob, freshFor: .seconds(1)).isExpired(at: now))
        #expect(try !entry(.blob, freshFor: nil).isExpired(at: later))
        #expect(try !entry(.fetched, freshFor: .seconds(1)).isExpired(at: later))
    }

    @Test("An entry's ETag is the origin's, or made of the digest")
    func entityTag() throws {
        var entry = try entry(.fetched, freshFor: nil)
        #expect(entry.entityTag == "\"larder-000000000000000a000000000000000b\"")
        entry.etag = "W/\"1\""
        #expect(entry.entityTag == "W/\"1\"")
    }
}
