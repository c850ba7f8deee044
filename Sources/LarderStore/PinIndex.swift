import LarderModel
import Synchronization

/// Which ids are pinned, in memory: what readers ask at a miss and the cache's writer at a put.
///
/// Guarded by its lock. An id is in it from before its row is made in `state.db` until after that
/// row is gone, so whoever does not find it here need not look there.
final class PinIndex: Sendable {
    private struct Keys {
        /// By the hash under which a row of the cache would stand.
        var rows: [PinKey: RowKey] = [:]
        var counts: [RowKey: Int] = [:]
    }

    private let keys = Mutex(Keys())
    // Released after a change of the keys, acquired before a look at them, so that readers need no
    // lock while nothing is pinned.
    private let count = Atomic<Int>(0)
    // Released before the cache may hold an older row of a pinned id, acquired by every read.
    private let first = Atomic<Bool>(false)
    // Released when a pin has left `state.db`, acquired by a read before and after its two looks.
    private let departed = Atomic<Int>(0)
    private let published: Mutex<PinTotals>
    /// Uploads given up, until the writer's next transaction.
    private let abandoned = Mutex<[UploadID]>([])
    private let listener = Mutex<@Sendable () -> Void>({})

    init(maxBytes: Int64) {
        published = Mutex(PinTotals(maxBytes: maxBytes))
    }

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// Whether an id is pinned, or is being pinned or unpinned.
    func covers(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        let key = PinKey(scope, id)
        return keys.withLock { $0.rows[key] != nil }
    }

    /// Whether a row of the cache may be one of a pinned id.
    func covers(_ key: RowKey) -> Bool {
        guard count.load(ordering: .acquiring) > 0 else { return false }
        return keys.withLock { $0.counts[key.first] != nil }
    }

    func insert(_ scope: ScopeKey, _ id: EntryID) {
        let (key, row) = (PinKey(scope, id), RowKey(scope, id))
        keys.withLock { keys in
            guard keys.rows.updateValue(row, forKey: key) == nil else { return }
            keys.counts[row, default: 0] += 1
            count.store(keys.rows.count, ordering: .releasing)
        }
    }

    func remove(_ scope: ScopeKey, _ id: EntryID) {
        let key = PinKey(scope, id)
        keys.withLock { keys in
            guard let row = keys.rows.removeValue(forKey: key) else { return }
            let left = keys.counts[row, default: 1] - 1
            keys.counts[row] = left == 0 ? nil : left
            count.store(keys.rows.count, ordering: .releasing)
            departed.add(1, ordering: .releasing)
        }
    }

    /// Moves when a pin has left `state.db`.
    var departures: Int { departed.load(ordering: .acquiring) }

    /// Whether pins are looked up before the cache: when a row that a pin has replaced could not be
    /// taken out of it.
    var comesFirst: Bool {
        get { first.load(ordering: .acquiring) }
        set { first.store(newValue, ordering: .releasing) }
    }

    // MARK: The writer's totals

    func publish(_ totals: PinTotals) {
        published.withLock { $0 = totals }
    }

    var totals: PinTotals { published.withLock { $0 } }

    // MARK: Uploads

    func abandon(_ upload: UploadID) {
        abandoned.withLock { $0.append(upload) }
    }

    func takeAbandoned() -> [UploadID] {
        abandoned.withLock { abandoned in
            defer { abandoned.removeAll() }
            return abandoned
        }
    }

    // MARK: Whoever fetches what pins want

    /// Has `tell` called whenever a pin has got what it wanted, or has come to want it by itself.
    func whenNews(_ tell: @escaping @Sendable () -> Void) {
        listener.withLock { $0 = tell }
    }

    func tellNews() {
        listener.withLock { $0 }()
    }
}

/// What the pins hold, as of the last commit.
package struct PinTotals: Equatable, Sendable {
    package var count: Int64 = 0
    /// Their accounted size: bodies, ids, headers and a fixed overhead for each.
    package var bytes: Int64 = 0
    package var maxBytes: Int64
    package var waiting: Int64 = 0
    /// Reads that met damaged bytes since the start.
    package var damaged: Int64 = 0

    package init(maxBytes: Int64) {
        self.maxBytes = maxBytes
    }
}
