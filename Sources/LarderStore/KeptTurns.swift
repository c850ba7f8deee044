import DequeModule
import Synchronization

/// One after the other for each kept id: whoever changes it takes its turn first.
///
/// A kept row stands in one file and the row that it came from in another, so what changes it takes
/// several commits; in turn, each finds what the one before has left. Guarded by a lock that is
/// held for one step of a dictionary.
final class KeptTurns: Sendable {
    private typealias Waiter = CheckedContinuation<Void, Never>

    /// Who waits for each id that somebody has the turn of.
    private let waiters = Mutex<[KeptKey: Deque<Waiter>]>([:])

    /// Does `work` when nobody else has the turn of `key`.
    func inTurn<Value>(
        _ key: KeptKey,
        _ work: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        await take(key)
        defer { pass(key) }
        return try await work()
    }

    /// Does `work` when nobody else has the turn of any of `keys`.
    ///
    /// They are taken in one order by everybody, so no two wait for each other; whoever has a turn
    /// must not ask for another.
    func inTurns<Value>(
        _ keys: some Sequence<KeptKey>,
        _ work: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let ordered = Set(keys).sorted()
        for key in ordered { await take(key) }
        defer { for key in ordered { pass(key) } }
        return try await work()
    }

    private func take(_ key: KeptKey) async {
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

    private func pass(_ key: KeptKey) {
        let next = waiters.withLock { waiters in
            let next = waiters[key]?.popFirst()
            if next == nil { waiters[key] = nil }
            return next
        }
        next?.resume()
    }
}
