import Synchronization

/// Who wants to hear that a row has changed.
///
/// Every change of a row is a command of the writer; what is told is that there is something to
/// read, not what.
///
/// Guarded by its lock. A watcher is in the table first and reads the row after that; the writer
/// commits first and looks at the table after that. So one of them sees the other.
final class RowWatches: Sendable {
    fileprivate let watchers = Mutex<[RowKey: [ObjectIdentifier: @Sendable () -> Void]]>([:])

    var isEmpty: Bool { watchers.withLock { $0.isEmpty } }

    func rowsChanged(_ keys: [RowKey]) {
        guard !keys.isEmpty else { return }
        let waiting = watchers.withLock { watchers -> [@Sendable () -> Void] in
            guard !watchers.isEmpty else { return [] }
            return Set(keys).flatMap { key in watchers[key].map { Array($0.values) } ?? [] }
        }
        for tell in waiting { tell() }
    }

    func allChanged() {
        let waiting = watchers.withLock { $0.values.flatMap { Array($0.values) } }
        for tell in waiting { tell() }
    }
}

package final class RowWatch: Sendable {
    private let watches: RowWatches
    private let key: RowKey

    init(_ watches: RowWatches, _ key: RowKey, _ tell: @escaping @Sendable () -> Void) {
        (self.watches, self.key) = (watches, key)
        watches.watchers.withLock { $0[key, default: [:]][ObjectIdentifier(self)] = tell }
    }

    deinit {
        watches.watchers.withLock { watchers in
            watchers[key]?[ObjectIdentifier(self)] = nil
            if watchers[key]?.isEmpty == true { watchers[key] = nil }
        }
    }
}
