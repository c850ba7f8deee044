import LarderModel
import Synchronization

/// Who wants to hear that a row has changed.
///
/// Every change of a row is a command of the writer; what is told is that there is something to
/// read, not what.
///
/// Guarded by its lock. A watcher is in the table first and reads the row after that; the writer
/// commits first and looks at the table after that. So one of them sees the other.
final class RowWatches: Sendable {
    private struct Table {
        var next = 0
        var watchers: [RowKey: [Int: @Sendable () -> Void]] = [:]
    }

    private let table = Mutex(Table())

    /// Has `tell` called after each commit that changed a row; on the writer's thread.
    func add(_ key: RowKey, _ tell: @escaping @Sendable () -> Void) -> Int {
        table.withLock { table in
            defer { table.next += 1 }
            table.watchers[key, default: [:]][table.next] = tell
            return table.next
        }
    }

    func remove(_ key: RowKey, _ number: Int) {
        table.withLock { table in
            table.watchers[key]?[number] = nil
            if table.watchers[key]?.isEmpty == true { table.watchers[key] = nil }
        }
    }

    var isEmpty: Bool { table.withLock { $0.watchers.isEmpty } }

    func rowsChanged(_ keys: [RowKey]) {
        guard !keys.isEmpty else { return }
        let waiting = table.withLock { table -> [@Sendable () -> Void] in
            guard !table.watchers.isEmpty else { return [] }
            return Set(keys).flatMap { key in table.watchers[key].map { Array($0.values) } ?? [] }
        }
        for tell in waiting { tell() }
    }

    func allChanged() {
        let waiting = table.withLock { $0.watchers.values.flatMap { Array($0.values) } }
        for tell in waiting { tell() }
    }
}

package final class RowWatch: Sendable {
    private let watches: RowWatches
    private let key: RowKey
    private let number: Int

    init(_ watches: RowWatches, _ key: RowKey, _ tell: @escaping @Sendable () -> Void) {
        self.watches = watches
        self.key = key
        number = watches.add(key, tell)
    }

    deinit { watches.remove(key, number) }
}
