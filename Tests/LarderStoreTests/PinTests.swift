import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Pins in their file", .timeLimit(.minutes(5)))
struct PinTests {
    private func named(_ text: String) throws -> EntryID { try EntryID(text) }

    private func pinned(_ count: Int, kind: EntryKind = .fetched) async throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        var new = NewEntry.blob(temporary.scope, try named("a"), .pattern(count))
        new.entry.kind = kind
        if kind == .fetched { new.entry.origin = try OriginName("host") }
        if count > Limits.inlineBodyBytesMax {
            let id = try named("a")
            let upload = try await temporary.store.bodies.begin(
                for: temporary.scope,
                id,
                isPinning: true
            )
            for chunk in [UInt8].pattern(count).chunks {
                try await temporary.store.bodies.append(chunk, to: upload, now: .epoch)
            }
            new.body = .uploaded(upload)
        }
        _ = try await temporary.store.pins.put(new, now: .epoch)
        return temporary
    }

    @Test(
        "Damaged bytes are never served: the pin fails, and wants those of an origin again",
        arguments: [(10, EntryKind.fetched), (200_000, .fetched), (10, .blob)]
    )
    func damaged(count: Int, kind: EntryKind) async throws {
        let temporary = try await pinned(count, kind: kind)
        let news = Recorder<Bool>()
        temporary.store.pins.whenNews { news.record(true) }
        // What the cache shows of it is not damaged.
        let (scope, id) = (temporary.scope, try named("a"))
        try await temporary.store.commits.submit { writer throws(StoreError) in
            try writer.cache.rows.removeQuietly(scope, id)
        }
        try SQLiteConnection(path: temporary.statePath, mode: .readWrite).execute(
            """
            UPDATE claim SET data = randomblob(length(data));
            UPDATE chunk SET data = randomblob(length(data)) WHERE chunk & 1048575 = 1
            """
        )
        if count > Limits.inlineBodyBytesMax {
            await #expect(throws: StoreError.badChunk) { _ = try await temporary.bytes("a") }
        } else {
            #expect(try await temporary.bytes("a") == nil)
        }
        if kind == .fetched { _ = try await news.element(0) }
        try await temporary.store.settle()
        let pin = try #require(try await temporary.store.pins.pin(temporary.scope, named("a")))
        #expect(pin.state == .failed && pin.entry == nil)
        #expect(pin.isWanted == (kind == .fetched))
        #expect(pin.trouble?.problem == "storage")
        #expect(temporary.store.pins.totals.damaged == 1)
        #expect(try await temporary.bytes("a") == nil)
        let wanted = try await temporary.store.pins.wanted(after: 0)
        #expect(wanted.count == (kind == .fetched ? 1 : 0))
        try await temporary.put("a", [7])
        #expect(try await temporary.bytes("a") == [7])
        #expect(try await temporary.store.pins.pin(temporary.scope, named("a"))?.state == .held)
    }

    @Test("A replaced or unpinned body stays until its reader is done, and then goes")
    func leases() async throws {
        let temporary = try await pinned(200_000, kind: .blob)
        let (store, scope, id) = (temporary.store, temporary.scope, try named("a"))
        let body = try #require(try await store.chunkedBody(scope, id))
        do {
            let reader = try #require(try await store.bodies.open(body, of: scope, id, now: .epoch))
            try await temporary.put("a", [1])
            try await store.settle()
            #expect(try await reader.rest() == .pattern(200_000))
        }
        try await store.settle()
        let file = try SQLiteConnection(path: temporary.statePath, mode: .readOnly)
        #expect(try file.integer("SELECT count(*) FROM chunk") == 0)
        #expect(try await store.bodies.open(body, of: scope, id, now: .epoch) == nil)
    }

    // MARK: What is told of those that go

    /// What the log has of `work` on an entry that is pinned.
    private func told(
        of new: NewEntry,
        in temporary: TemporaryStore,
        by work: (EntryID) async throws -> Void
    ) async throws -> [Change.Event] {
        _ = try await temporary.store.pins.put(new, now: .epoch)
        let before = temporary.store.changes.last.number
        try await work(new.entry.id)
        return try await temporary.events(after: before)
    }

    @Test("P-12: an unpinned entry that the cache cannot take is evicted, in so many words")
    func lost() async throws {
        let temporary = try TemporaryStore(configure: { $0.maxBytes = ByteSize(bytes: 4_096) })
        let (store, scope) = (temporary.store, temporary.scope)
        let large = NewEntry.blob(scope, try named("large"), .pattern(8_000))
        let events = try await told(of: large, in: temporary) { id in
            let isGone = try await store.pins.unpin(scope, id, now: .epoch)
            #expect(isGone)
            try await store.maintenance.removeReleased(now: .epoch)
        }
        #expect(events == [.evict(try named("large"), .lru, client: nil)])
        var old = NewEntry.blob(scope, try named("old"), .pattern(8))
        old.entry.freshUntil = Timestamp(milliseconds: 5)
        let expired = try await told(of: old, in: temporary) { id in
            let isGone = try await store.pins.unpin(scope, id, now: Timestamp(milliseconds: 6))
            #expect(isGone)
            try await store.maintenance.removeReleased(now: Timestamp(milliseconds: 6))
        }
        #expect(expired == [.evict(try named("old"), .expired, client: nil)])
        let small = NewEntry.blob(scope, try named("small"), .pattern(8))
        let kept = try await told(of: small, in: temporary) { id in
            let isGone = try await store.pins.unpin(scope, id, now: .epoch)
            #expect(isGone)
            try await store.maintenance.removeReleased(now: .epoch)
        }
        #expect(kept == [])
    }

    @Test(
        "P-12: unpinning what the origin has deleted is told, with a revision",
        arguments: [true, false]
    )
    func gone(isTargeted: Bool) async throws {
        let temporary = try TemporaryStore()
        let (store, scope, id) = (temporary.store, temporary.scope, try named("a"))
        if isTargeted { try await temporary.accept("one", "a") }
        try await temporary.answer("a", "[1]")
        _ = try await store.pins.pin(scope, id, origin: nil, now: .epoch)
        _ = try await store.put(.tombstone(scope, id), now: .epoch)
        let before = store.changes.last.number
        #expect(try await store.pins.unpin(scope, id, now: .epoch))
        let changes = try await temporary.changes(after: before)
        // What a modifier makes of it is the same, and its base another.
        #expect(changes.count == (isTargeted ? 0 : 1), "\(changes)")
        if !isTargeted {
            #expect(changes[0].event == .delete(id, ChangeCause(.network)))
            #expect(changes[0].revision.number > before)
        }
        #expect(try await temporary.text("a") == nil)
    }

    @Test("P-12: so is a base that nothing keeps any more")
    func lostBase() async throws {
        let temporary = try TemporaryStore(configure: { $0.maxBytes = ByteSize(bytes: 4_096) })
        let number = try await temporary.accept("one", "a")
        let large = "\"" + String(repeating: "x", count: 8_000) + "\""
        try await temporary.confirm(number, large)
        let before = temporary.store.changes.last.number
        try await temporary.store.maintain()
        #expect(try await temporary.text("a") == nil)
        #expect(
            try await temporary.events(after: before)
                == [.evict(try named("a"), .lru, client: nil)]
        )
    }

    @Test("P-12: the cache's entry under a pin without bytes goes with it, and is told of")
    func droppedFromCache() async throws {
        let temporary = try TemporaryStore(configure: { $0.pinsMaxBytes = ByteSize(bytes: 1_000) })
        let (store, scope, id) = (temporary.store, temporary.scope, try named("a"))
        try await temporary.put("a", .pattern(2_000))
        let outcome = try await store.pins.pin(scope, id, origin: nil, now: .epoch)
        guard case .tooLarge = outcome else {
            Issue.record("\(outcome)")
            return
        }
        let before = store.changes.last.number
        #expect(try await store.pins.evict(scope, id))
        #expect(try await temporary.bytes("a") == nil)
        #expect(try await temporary.events(after: before) == [.evict(id, .request, client: nil)])
    }

    @Test("A user has so many pins and no more")
    func countLimit() async throws {
        let temporary = try TemporaryStore()
        try await temporary.store.setOffline("x", true)
        try SQLiteConnection(path: temporary.statePath, mode: .readWrite).execute(
            """
            WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n
                WHERE n < \(Limits.pinsPerUserMax))
            INSERT INTO claim (scope, id, size, targeted, shared, pinned_at, state, wanted)
            SELECT '1000:' || CASE n % 2 WHEN 0 THEN 'default' ELSE 'work' END, 'n' || n, 300, 0,
                0, 0, 4, 0 FROM n
            """
        )
        try temporary.crash()
        try await temporary.put("a", [1])
        let scope = temporary.scope
        await #expect(throws: StoreError.tooManyPins(limit: Limits.pinsPerUserMax)) {
            _ = try await temporary.store.pins.pin(scope, EntryID("a"), origin: nil, now: .epoch)
        }
        #expect(!temporary.store.pins.isPinned(scope, try named("a")))
        let other = temporary.store.key(for: .own(uid: 1_001, account: .default))
        let new = NewEntry.blob(other, try named("a"), [1])
        #expect(try await temporary.store.pins.put(new, now: .epoch).isNew)
    }

    @Test("Without cache.db what is pinned is still put, read and confirmed")
    func withoutCache() async throws {
        let faults = FaultInjection()
        let temporary = try TemporaryStore(configure: { $0.faults = faults })
        try await temporary.put("a", .pattern(10))
        let (store, scope, id) = (temporary.store, temporary.scope, try named("a"))
        #expect(try await store.pins.pin(scope, id, origin: nil, now: .epoch) == .held(isNew: true))
        let reader = try store.makeReader()
        #expect(try reader.withEntry(scope, id, now: .epoch) { $0.byteCount } == 10)
        faults.arm(1, of: "FROM entry", with: .corrupt, .forGood)
        #expect(try reader.withEntry(scope, id, now: .epoch) { $0.byteCount } == 10)
        try await temporary.put("a", .pattern(20, 3))
        #expect(try reader.withEntry(scope, id, now: .epoch) { $0.byteCount } == 20)
        faults.disarm()
    }

    @Test("A row of the cache that a pin has replaced never comes back, and is removed")
    func garbage() async throws {
        let faults = FaultInjection()
        let temporary = try TemporaryStore(configure: { $0.faults = faults })
        try await temporary.put("a", .pattern(10))
        let (store, scope, id) = (temporary.store, temporary.scope, try named("a"))
        #expect(try await store.pins.pin(scope, id, origin: nil, now: .epoch) == .held(isNew: true))
        faults.arm(1, of: "INSERT INTO entry", with: .full, .forGood)
        try await temporary.put("a", .pattern(20, 3))
        #expect(try await temporary.bytes("a") == .pattern(20, 3))
        #expect(try await temporary.ids() == ["a"])
        faults.disarm()
        try temporary.crash()
        #expect(try await temporary.bytes("a") == .pattern(20, 3))
        #expect(try FileAudit(temporary.cachePath).entries == 1)
        try await temporary.store.maintain()
        #expect(try FileAudit(temporary.cachePath).entries == 0)
        #expect(try await temporary.bytes("a") == .pattern(20, 3))
    }
}
