import LarderModel
import Synchronization

/// Uses of rows that one reader has noted since the last flush, because reading never writes.
///
/// The reader's thread fills it, and the writer's thread empties it. It is guarded by a lock that
/// is held for one step of a dictionary. Rows that are used again and again have a ``RowUse``,
/// which takes no lock.
final class TouchLog: Sendable {
    private struct Uses {
        var ticks: [RowKey: Int64] = [:]
        var marked: [RowUse] = []
        var markedRows = 0

        var count: Int { ticks.count + markedRows }
    }

    private let uses = Mutex(Uses())

    /// Remembers the latest use of a row; returns of how many it has one, if this row is new.
    func touch(_ key: RowKey, at tick: Int64) -> Int? {
        uses.withLock { uses in
            uses.ticks.updateValue(tick, forKey: key) == nil ? uses.count : nil
        }
    }

    /// Remembers the latest use of rows, the last at `tick`; returns its count if they are new.
    func touch(_ use: RowUse, at tick: Int64) -> Int? {
        guard use.note(tick) else { return nil }
        return uses.withLock { uses in
            uses.marked.append(use)
            uses.markedRows += use.keys.count
            return uses.count
        }
    }

    func drain() -> [RowKey: Int64] {
        let drained = uses.withLock { uses in
            defer {
                uses.ticks.removeAll(keepingCapacity: uses.ticks.count < Limits.touchesMax)
                uses.marked = []
                uses.markedRows = 0
            }
            return uses
        }
        var ticks = drained.ticks
        for use in drained.marked {
            let first = use.take() - Int64(use.keys.count) + 1
            for (key, tick) in zip(use.keys, first...) {
                ticks[key] = max(ticks[key] ?? tick, tick)
            }
        }
        return ticks
    }

    func restore(_ drained: [RowKey: Int64]) {
        uses.withLock { $0.ticks.merge(drained) { max($0, $1) } }
    }
}

/// The latest use of rows that are used together again and again, as by a cached response.
///
/// Either `note(_:)` sees that the rows are not listed any more, or `take()` sees the use. Each
/// writes one value first and then reads the other, sequentially consistent.
final class RowUse: Sendable {
    let keys: [RowKey]
    private let latest = Atomic<Int64>(0)
    private let isListed = Atomic(false)

    init(_ keys: [RowKey]) { self.keys = keys }

    /// True where it has to be listed.
    fileprivate func note(_ tick: Int64) -> Bool {
        latest.store(tick, ordering: .sequentiallyConsistent)
        return !isListed.load(ordering: .sequentiallyConsistent)
            && !isListed.exchange(true, ordering: .sequentiallyConsistent)
    }

    /// The tick of the last of its rows; it is listed no more.
    fileprivate func take() -> Int64 {
        isListed.store(false, ordering: .sequentiallyConsistent)
        return latest.load(ordering: .sequentiallyConsistent)
    }
}

/// Numbers uses in the order in which they happened, for eviction.
final class LogicalClock: Sendable {
    // Relaxed: a tick says only which of two uses was later. The transactions order what was read
    // or written, not this number.
    private let last = Atomic<Int64>(0)

    /// The last one of the next `count` numbers.
    func tick(_ count: Int = 1) -> Int64 {
        last.wrappingAdd(Int64(count), ordering: .relaxed).newValue
    }

    func advance(to number: Int64) { last.max(number, ordering: .relaxed) }
}
