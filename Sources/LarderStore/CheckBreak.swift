import CSQLite
import Synchronization

final class CheckBreak: Sendable {
    // A connection may be interrupted from any thread as long as it is open
    // (https://sqlite.org/c3ref/interrupt.html); the lock sees to that.
    private struct Running: @unchecked Sendable {
        var handle: OpaquePointer?
        var isOver = false
    }

    private let running = Mutex(Running())

    var isOver: Bool { running.withLock { $0.isOver } }

    /// Ends what runs, and whatever begins after it.
    func end() {
        running.withLock { running in
            running.isOver = true
            if let handle = running.handle { sqlite3_interrupt(handle) }
        }
    }

    /// Runs `work` on a connection that ``end()`` may interrupt; nil if it is over already.
    func during<Value>(
        _ connection: SQLiteConnection,
        _ work: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value? {
        let mayBegin = running.withLock { running in
            if !running.isOver { running.handle = connection.handle }
            return !running.isOver
        }
        guard mayBegin else { return nil }
        defer { running.withLock { $0.handle = nil } }
        return try work()
    }
}
