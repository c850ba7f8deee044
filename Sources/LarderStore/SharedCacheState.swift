import LarderModel
import Synchronization

/// What the writer of `cache.db` and its readers share in memory.
final class SharedCacheState: Sendable {
    private let keySeed: UInt64
    private let hashMask: UInt64
    let clock = LogicalClock()
    let protection = Protection()
    let leases = BodyLeases()
    private let logs = Mutex<[TouchLog]>([])
    private let published = Mutex<StoreTotals>(StoreTotals())
    /// Uploads given up, until the writer's next transaction.
    private let abandoned = Mutex<[UploadID]>([])
    private let damagedRows = Atomic<Int64>(0)
    // Released after a commit and acquired before a read: a reader that sees the number begins a
    // transaction that sees the commit.
    private let commits = Atomic<Int64>(0)

    init(keySeed: UInt64, hashMask: UInt64 = .max) {
        self.keySeed = keySeed
        self.hashMask = hashMask
    }

    func key(for scope: Scope) -> ScopeKey {
        ScopeKey(scope, seed: keySeed, hashMask: hashMask)
    }

    func makeTouchLog() -> TouchLog {
        let log = TouchLog()
        logs.withLock { $0.append(log) }
        return log
    }

    func touchLogs() -> [TouchLog] {
        logs.withLock { $0 }
    }

    func publish(_ totals: StoreTotals) {
        published.withLock { $0 = totals }
        commits.add(1, ordering: .releasing)
    }

    var commitNumber: Int64 { commits.load(ordering: .acquiring) }

    var totals: StoreTotals {
        var totals = published.withLock { $0 }
        totals.damaged = damagedRows.load(ordering: .relaxed)
        return totals
    }

    func abandon(_ upload: UploadID) {
        abandoned.withLock { $0.append(upload) }
    }

    func takeAbandoned() -> [UploadID] {
        abandoned.withLock { abandoned in
            defer { abandoned.removeAll() }
            return abandoned
        }
    }

    func countDamagedRow() {
        damagedRows.add(1, ordering: .relaxed)
    }
}
