import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderStore

@Suite("Maintenance")
struct MaintenanceTriggerTests {
    @Test("A blob that was stored by a clock that was ahead lives as long as its ttl")
    func clockPutRight() async throws {
        let temporary = try TemporaryStore()
        let ahead = Timestamp.epoch.advanced(by: .seconds(365 * 86_400))
        let id = try EntryID("a")
        let ttl = ahead.advanced(by: .seconds(2))
        var new = NewEntry.blob(temporary.scope, id, [1], ttl: ttl)
        new.entry.storedAt = ahead
        _ = try await temporary.store.put(new, now: ahead)
        try await temporary.store.maintain()
        let file = try SQLiteConnection(path: temporary.cachePath, mode: .readOnly)
        let end = Timestamp.epoch.advanced(by: .seconds(2)).milliseconds
        #expect(try file.integer("SELECT fresh_until FROM entry") == end)
        #expect(try file.integer("SELECT expires_at FROM recency") == end)
        #expect(try file.integer("SELECT stored_at FROM entry") == Timestamp.epoch.milliseconds)
    }

    @Test("A round is wanted at first, after a use and after a change, and once until it has begun")
    func wanted() async throws {
        let temporary = try TemporaryStore()
        let (store, count) = (temporary.store, Counter())
        store.maintenanceTrigger.whenWanted { count.add() }
        #expect(count.value == 1)
        try await store.maintain()
        try await store.maintain()
        #expect(count.value == 1, "a round leaves nothing to be done by itself")
        for number in 0..<3 { try await temporary.put("\(number)", [1]) }
        #expect(count.value == 2)
        try await store.maintain()
        #expect(count.value == 2)
        let reader = try store.makeReader()
        for number in 0..<3 {
            let id = try EntryID("\(number)")
            #expect(try reader.entry(temporary.scope, id, now: .epoch, isUse: true) != nil)
        }
        #expect(count.value == 3)
        try await store.maintain()
        store.maintenanceTrigger.want()
        #expect(count.value == 4)
    }

    @Test("While there is no cache.db, each round wants another")
    func noFile() async throws {
        let directory = try TemporaryDirectory()
        try directory.write("cache", "")
        let store = try Store(
            StoreConfiguration(
                cacheDirectory: directory.path + "/cache",
                stateDirectory: directory.path + "/state"
            ),
            now: { Timestamp(milliseconds: 0) }
        )
        let count = Counter()
        store.maintenanceTrigger.whenWanted { count.add() }
        for _ in 0..<3 { try await store.maintain() }
        #expect(count.value == 4)
        try await store.close()
    }

    @Test("Totals that differ from the rows make a new file in the first round")
    func wrongTotals() async throws {
        for name in ["bytes", "entries"] {
            let temporary = try TemporaryStore()
            try await temporary.put("a", .pattern(1_000))
            try await temporary.damage("UPDATE meta SET value = value + 1 WHERE name = '\(name)'")
            #expect(try await temporary.bytes("a") == .pattern(1_000), "\(name)")
            try await temporary.store.maintain()
            try await temporary.store.settle()
            #expect(try await temporary.bytes("a") == nil, "\(name)")
            #expect(
                temporary.store.files.findings.contains { $0.contains("sum up the rows") },
                "\(name)"
            )
        }
    }

    @Test("A round looks after the cache while state.db fails, and tells the failure")
    func failingState() async throws {
        let plan = FailingState()
        let temporary = try TemporaryStore(configure: { $0.faults = plan })
        let ahead = Timestamp.epoch.advanced(by: .seconds(86_400))
        let ttl = ahead.advanced(by: .seconds(2))
        var new = NewEntry.blob(temporary.scope, named("a"), [1], ttl: ttl)
        new.entry.storedAt = ahead
        _ = try await temporary.store.put(new, now: ahead)
        try await temporary.store.settle()
        plan.set(true)
        await #expect(throws: StoreError.self) { try await temporary.store.maintain() }
        plan.set(false)
        let file = try SQLiteConnection(path: temporary.cachePath, mode: .readOnly)
        #expect(try file.integer("SELECT stored_at FROM entry") == Timestamp.epoch.milliseconds)
    }

    /// Fails every operation on `state.db` while it is set.
    private final class FailingState: FaultPlan {
        private let isFailing = Mutex(false)

        func set(_ isFailing: Bool) { self.isFailing.withLock { $0 = isFailing } }

        func failure(before step: String, of path: String) -> Int32? {
            guard path.hasSuffix("/state.db"), isFailing.withLock({ $0 }) else { return nil }
            return FaultInjection.Code.inputOutput.rawValue
        }
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        func add() { count.withLock { $0 += 1 } }
    }
}
