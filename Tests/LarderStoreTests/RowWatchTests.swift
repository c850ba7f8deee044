import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Watches over rows", .timeLimit(.minutes(5)))
struct RowWatchTests {
    private let temporary = TemporaryStore.new()

    /// Counts what a watch over `id` is told.
    private func watch(_ temporary: TemporaryStore, _ id: String) throws -> Watched {
        let told = Recorder<Int64>()
        let store = temporary.store
        let watch = store.watch(temporary.scope, try EntryID(id)) {
            told.record(store.totals.entries)
        }
        return Watched(watch: watch, told: told)
    }

    private struct Watched {
        let watch: RowWatch
        let told: Recorder<Int64>
        var count: Int { told.all.count }
    }

    @Test("Every way in which a row changes is told before the change is answered")
    func everyChange() async throws {
        let id = try EntryID("a")
        let watched = try watch(temporary, "a")
        let new = NewEntry.blob(temporary.scope, id, [1])
        try await temporary.put("a", [1])
        #expect(watched.count == 1)
        try await temporary.put("a", [2])
        #expect(watched.count == 2)
        #expect(try await temporary.store.delete(temporary.scope, id)?.kind == .blob)
        #expect(watched.count == 3)
        var fetched = new
        fetched.entry.kind = .fetched
        _ = try await temporary.store.put(fetched, now: .epoch)
        #expect(watched.count == 4)
        let outcome = try await temporary.store.refresh(fetched.entry, in: temporary.scope)
        #expect(outcome != .gone)
        #expect(watched.count == 5)
        let scope = temporary.scope
        let candidate = try await temporary.store.candidate(scope, id)
        _ = try await temporary.store.evict([try #require(candidate)])
        #expect(watched.count == 6)
        try await temporary.upload("a", .pattern(100_000))
        #expect(watched.count == 7)
    }

    @Test("Rows that another put evicts are reported, and rows that stay are not")
    func evictedByPut() async throws {
        let temporary = try TemporaryStore(configure: { $0.maxBytes = ByteSize(bytes: 100_000) })
        try await temporary.put("old", .pattern(50_000))
        try await temporary.put("new", .pattern(30_000))
        let old = try watch(temporary, "old")
        let new = try watch(temporary, "new")
        try await temporary.put("other", .pattern(40_000))
        #expect(old.count == 1)
        #expect(new.count == 0)
        #expect(try await temporary.bytes("old") == nil)
    }

    @Test("A failed put is not reported, and one that succeeds later is reported once")
    func failures() async throws {
        let watched = try watch(temporary, "a")
        // For good: what fails in a group is tried again alone.
        temporary.faults.arm(1, of: "COMMIT", .forGood)
        await #expect(throws: StoreError.self) { try await temporary.put("a", [1]) }
        #expect(watched.count == 0)
        temporary.faults.disarm()
        try await temporary.put("a", [1])
        #expect(watched.count == 1)
    }

    @Test("A damaged body that takes its row with it is told")
    func damaged() async throws {
        try await temporary.upload("large", .pattern(200_000))
        try await temporary.damage("UPDATE chunk SET data = zeroblob(length(data))")
        let watched = try watch(temporary, "large")
        let id = try EntryID("large")
        let body = try #require(try await temporary.store.chunkedBody(temporary.scope, id))
        let reader = try #require(
            try await temporary.store.bodies.open(body, of: temporary.scope, id, now: .epoch)
        )
        await #expect(throws: StoreError.badChunk) { try await reader.rest() }
        _ = try await watched.told.element(0)
        #expect(try await temporary.bytes("large") == nil)
    }

    @Test("A watch ends with its owner, another goes on, and neither hears of other ids")
    func end() async throws {
        var first: Watched? = try watch(temporary, "a")
        let told = try #require(first).told
        let second = try watch(temporary, "a")
        try await temporary.put("b", [1])
        #expect(second.count == 0)
        first = nil
        try await temporary.put("a", [1])
        #expect(told.all.isEmpty)
        #expect(second.count == 1)
    }

    @Test("A client that watches first and reads then sees or hears of every change")
    func order() async throws {
        let id = try EntryID("a")
        let (store, scope) = (temporary.store, temporary.scope)
        let reader = try store.makeReader()
        for mark in UInt8(1)...200 {
            async let put = store.put(.blob(scope, id, [mark]), now: .epoch)
            let watched = try watch(temporary, "a")
            let seen = try reader.withEntry(scope, id, now: .epoch) { row in
                row.withBody { $0.first }
            }
            reader.endTransaction()
            _ = try await put
            #expect(seen == .some(mark) || watched.count == 1, "\(mark)")
        }
    }
}
