import Synchronization

/// Which rows may not be evicted now, by whom they are needed.
///
/// Guarded by its lock; asked by the writer while it chooses.
final class Protection: Sendable {
    private let counts = Mutex<[RowKey: Int]>([:])

    func protect(_ key: RowKey) {
        counts.withLock { $0[key.first, default: 0] += 1 }
    }

    func release(_ key: RowKey) {
        counts.withLock { counts in
            guard let count = counts[key.first] else { return }
            counts[key.first] = count == 1 ? nil : count - 1
        }
    }

    var isEmpty: Bool { counts.withLock { $0.isEmpty } }

    func covers(_ key: RowKey) -> Bool {
        count(key) > 0
    }

    func count(_ key: RowKey) -> Int {
        counts.withLock { $0[key.first] ?? 0 }
    }
}
