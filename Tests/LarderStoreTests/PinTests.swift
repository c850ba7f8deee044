import Foundation
import LarderModel
import LarderTestSupport
import Testing

@testable import LarderStore

@Suite("Pins in their file", .timeLimit(.minutes(5)))
struct PinTests {
    private let temporary = TemporaryStore.new()

    private func pinned(_ count: Int, kind: EntryKind = .fetched) async throws -> TemporaryStore {
        var new = NewEntry.blob(temporary.scope, named("a"), .pattern(count))
        new.entry.kind = kind
        if kind == .fetched { new.entry.origin = try OriginName("host") }
        if count > Limits.inlineBodyBytesMax {
            let bytes = [UInt8].pattern(count)
            new.body = try await temporary.store.upload(bytes, for: named("a"), isPinning: true)
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
        temporary.store.pins.whenUpdated { news.record(true) }
        // What the cache shows of it is not damaged.
        let (scope, id) = (temporary.scope, named("a"))
        try await temporary.store.commits.submit { writer throws(StoreError) in
            try writer.cache.rows.removeQuietly(scope, id)
        }
        try temporary.changeState(
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

    @Test("A damaged pin of a client's bytes hides no pin that wants its bytes in the same group")
    func damagedInGroup() async throws {
        let temporary = try await pinned(10, kind: .blob)
        let (store, scope) = (temporary.store, temporary.scope)
        let waiting = TargetName(scope, named("b"))
        let origin = try OriginName("host")
        _ = try await store.pins.pin(scope, waiting.id, origin: origin, now: .epoch)
        let trouble = PinTrouble(problem: "storage", reason: "")
        try await store.pins.setTrouble(scope, waiting.id, .failed, trouble)
        let news = Recorder<Bool>()
        store.pins.whenUpdated { news.record(true) }
        try await store.commits.submit { writer throws(StoreError) in
            try writer.state.pins.wantAgain(waiting)
            try writer.state.rows.dropDamaged(TargetName(scope, named("a"))) { _ in true }
        }
        #expect(news.all == [true])
    }

    @Test("A replaced or unpinned body stays until its reader is done, and then goes")
    func leases() async throws {
        let temporary = try await pinned(200_000, kind: .blob)
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
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

    /// What the log has of an entry that is pinned, unpinned, and left to the cache.
    private func toldOfUnpinning(
        _ new: NewEntry,
        in temporary: TemporaryStore,
        now: Timestamp = .epoch
    ) async throws -> [Change.Event] {
        let store = temporary.store
        _ = try await store.pins.put(new, now: .epoch)
        let before = store.changes.last.number
        #expect(try await store.pins.unpin(new.scope, new.entry.id, now: now))
        try await store.maintenance.removeReleased(now: now)
        return try await temporary.events(after: before)
    }

    @Test("An unpinned entry that the cache cannot take is reported as evicted (P-12)")
    func lost() async throws {
        let temporary = try TemporaryStore(configure: { $0.maxBytes = ByteSize(bytes: 4_096) })
        let scope = temporary.scope
        let large = NewEntry.blob(scope, named("large"), .pattern(8_000))
        let events = try await toldOfUnpinning(large, in: temporary)
        #expect(events == [.evict(named("large"), .lru, client: nil)])
        var old = NewEntry.blob(scope, named("old"), .pattern(8))
        old.entry.freshUntil = Timestamp(milliseconds: 5)
        let now = Timestamp(milliseconds: 6)
        let expired = try await toldOfUnpinning(old, in: temporary, now: now)
        #expect(expired == [.evict(named("old"), .expired, client: nil)])
        let small = NewEntry.blob(scope, named("small"), .pattern(8))
        #expect(try await toldOfUnpinning(small, in: temporary) == [])
    }

    @Test(
        "Unpinning an entry that the origin deleted is an event with a revision (P-12)",
        arguments: [true, false]
    )
    func gone(isTargeted: Bool) async throws {
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        if isTargeted { try await temporary.accept("one", "a") }
        try await temporary.answer("a", "[1]")
        try await temporary.pin("a")
        _ = try await store.put(.tombstone(scope, id), now: .epoch)
        let before = store.changes.last.number
        #expect(try await temporary.unpin("a"))
        let changes = try await temporary.changes(after: before)
        // What a modifier makes of it is the same, and its base another.
        #expect(changes.count == (isTargeted ? 0 : 1), "\(changes)")
        if !isTargeted {
            #expect(changes[0].event == .delete(id, ChangeCause(.network)))
            #expect(changes[0].revision.number > before)
        }
        #expect(try await temporary.text("a") == nil)
    }

    @Test("A base that is lost with its last modifier is reported as evicted (P-12)")
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
                == [.evict(named("a"), .lru, client: nil)]
        )
    }

    @Test("Dropping a pin without bytes evicts the cache's entry too, with an event (P-12)")
    func droppedFromCache() async throws {
        let temporary = try TemporaryStore(configure: { $0.pinsMaxBytes = ByteSize(bytes: 1_000) })
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        try await temporary.put("a", .pattern(2_000))
        guard case .tooLarge = try await temporary.pin("a") else {
            Issue.record("it has room")
            return
        }
        let before = store.changes.last.number
        #expect(try await store.pins.evict(scope, id))
        #expect(try await temporary.bytes("a") == nil)
        #expect(try await temporary.events(after: before) == [.evict(id, .request, client: nil)])
    }

    @Test("An eviction that is to leave pins leaves a row that was pinned since it was chosen")
    func pinnedMeanwhile() async throws {
        let temporary = try TemporaryStore()
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        try await temporary.put("a", [1])
        #expect(try await temporary.pin("a") == .held(isNew: true))
        #expect(try await !store.pins.evict(scope, id, includesPinned: false))
        #expect(store.pins.isPinned(scope, id))
        #expect(try await temporary.bytes("a") == [1])
        #expect(try await store.pins.evict(scope, id))
        #expect(try await temporary.bytes("a") == nil)
    }

    @Test("Bodies of pins that arrive for one user leave room for those of another")
    func arriving() async throws {
        let temporary = try TemporaryStore(configure: {
            $0.pinsMaxBytes = ByteSize(bytes: 1_000_000)
        })
        let (bodies, scope) = (temporary.store.bodies, temporary.scope)
        let chunk = [UInt8].pattern(Limits.inlineBodyBytesMax)
        let first = try await bodies.begin(for: scope, named("a"), isPinning: true)
        let second = try await bodies.begin(for: scope, named("b"), isPinning: true)
        var bound: Int64?
        do throws(StoreError) {
            for _ in 0..<10 {
                try await bodies.append(chunk, to: first, now: .epoch)
                try await bodies.append(chunk, to: second, now: .epoch)
            }
        } catch {
            if case .pinsFull(_, let limit) = error { bound = limit }
        }
        #expect(bound == 1_000_000, "one user's bodies are bounded, too")
        let other = temporary.store.key(for: .own(uid: 1_001, account: .default))
        let third = try await bodies.begin(for: other, named("a"), isPinning: true)
        try await bodies.append(chunk, to: third, now: .epoch)
        for upload in [first, second, third] { bodies.abandon(upload) }
    }

    @Test("Bodies of pins that arrive for many users take at most twice the room of all pins")
    func arrivingTogether() async throws {
        let temporary = try TemporaryStore(configure: {
            $0.pinsMaxBytes = ByteSize(bytes: 1_000_000)
        })
        let (store, chunk) = (temporary.store, [UInt8].pattern(Limits.inlineBodyBytesMax))
        var uploads: [UploadID] = []
        var arrived = 0
        for uid in UInt32(1_001)...1_004 {
            let scope = store.key(for: .own(uid: uid, account: .default))
            let upload = try await store.bodies.begin(for: scope, named("a"), isPinning: true)
            uploads.append(upload)
            do throws(StoreError) {
                for _ in 0..<20 {
                    try await store.bodies.append(chunk, to: upload, now: .epoch)
                    arrived += chunk.count
                }
            } catch {
                guard case .pinsFull = error else { throw error }
            }
        }
        #expect(arrived <= 2_000_000)
        for upload in uploads { store.bodies.abandon(upload) }
    }

    @Test("A user has so many pins and no more")
    func countLimit() async throws {
        try await temporary.store.setOffline("x", true)
        try temporary.changeState(
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
            try await temporary.pin("a")
        }
        #expect(!temporary.store.pins.isPinned(scope, named("a")))
        let other = temporary.store.key(for: .own(uid: 1_001, account: .default))
        let new = NewEntry.blob(other, named("a"), [1])
        #expect(try await temporary.store.pins.put(new, now: .epoch).isNew)
    }

    @Test("Without cache.db what is pinned is still put, read and confirmed")
    func withoutCache() async throws {
        try await temporary.put("a", .pattern(10))
        let (store, scope, id) = (temporary.store, temporary.scope, named("a"))
        #expect(try await temporary.pin("a") == .held(isNew: true))
        let reader = try store.makeReader()
        #expect(try reader.withEntry(scope, id, now: .epoch) { $0.byteCount } == 10)
        temporary.faults.arm(1, of: "FROM entry", with: .corrupt, .forGood)
        #expect(try reader.withEntry(scope, id, now: .epoch) { $0.byteCount } == 10)
        try await temporary.put("a", .pattern(20, 3))
        #expect(try reader.withEntry(scope, id, now: .epoch) { $0.byteCount } == 20)
        temporary.faults.disarm()
    }

    @Test("A row of the cache that a pin has replaced never comes back, and is removed")
    func garbage() async throws {
        try await temporary.put("a", .pattern(10))
        #expect(try await temporary.pin("a") == .held(isNew: true))
        temporary.faults.arm(1, of: "INSERT INTO entry", with: .full, .forGood)
        try await temporary.put("a", .pattern(20, 3))
        #expect(try await temporary.bytes("a") == .pattern(20, 3))
        #expect(try await temporary.ids() == ["a"])
        temporary.faults.disarm()
        try temporary.crash()
        #expect(try await temporary.bytes("a") == .pattern(20, 3))
        #expect(try FileAudit(temporary.cachePath).entries == 1)
        try await temporary.store.maintain()
        #expect(try FileAudit(temporary.cachePath).entries == 0)
        #expect(try await temporary.bytes("a") == .pattern(20, 3))
    }
}
