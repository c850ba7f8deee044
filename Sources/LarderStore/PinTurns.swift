import DequeModule
import Synchronization

/// One after the other for each pinned id: whoever changes it takes its turn first.
///
/// A pin stands in one file and the row that it came from in another, so what changes it takes
/// several commits; in turn, each finds what the one before has left. Guarded by a lock that is
/// held for one step of a dictionary.
final class PinTurns: Sendable {
    private typealias Waiter = CheckedContinuation<Void, Never>

    /// Who waits for each id that somebody has the turn of.
    private let waiters = Mutex<[PinKey: Deque<Waiter>]>([:])

    /// Does `work` when nobody else has the turn of `key`.
    func inTurn<Value>(
        _ key: PinKey,
        _ work: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        await take(key)
        defer { pass(key) }
        return try await work()
    }

    private func take(_ key: PinKey) async {
        await withCheckedContinuation { (waiter: Waiter) in
            let isFree = waiters.withLock { waiters in
                guard waiters[key] != nil else {
                    waiters[key] = []
                    return true
                }
                waiters[key]?.append(waiter)
                return false
            }
            if isFree { waiter.resume() }
        }
    }

    private func pass(_ key: PinKey) {
        let next = waiters.withLock { waiters in
            let next = waiters[key]?.popFirst()
            if next == nil { waiters[key] = nil }
            return next
        }
        next?.resume()
    }
}
