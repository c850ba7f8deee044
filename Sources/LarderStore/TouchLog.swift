import LarderModel
import Synchronization

/// The uses that one reader has seen since the last flush: reading never writes.
///
/// Filled by the reader's thread, emptied by the writer's, guarded by a lock that is held for one
/// step of a dictionary.
final class TouchLog: Sendable {
    private let ticks = Mutex<[RowKey: Int64]>([:])

    /// Remembers the latest use of a row; returns of how many it has one, if this row is new.
    func touch(_ key: RowKey, at tick: Int64) -> Int? {
        ticks.withLock { ticks in
            ticks.updateValue(tick, forKey: key) == nil ? ticks.count : nil
        }
    }

    /// Everything that was remembered; the log is empty afterwards.
    func drain() -> [RowKey: Int64] {
        ticks.withLock { ticks in
            let drained = ticks
            ticks.removeAll(keepingCapacity: drained.count < Limits.touchesMax)
            return drained
        }
    }

    /// Puts back what a failed transaction did not keep.
    func restore(_ drained: [RowKey: Int64]) {
        ticks.withLock { $0.merge(drained) { max($0, $1) } }
    }
}
