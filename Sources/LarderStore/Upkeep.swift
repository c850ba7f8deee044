import Synchronization

/// Whether the store is to be looked after, and who hears of it; it is said once a round.
///
/// So nothing is done every few seconds for a daemon that nobody uses.
package final class Upkeep: Sendable {
    // Relaxed: a round that begins late by what it has not seen yet is followed by another.
    private let isWanted = Atomic(true)
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)

    /// Something was used or written, which a round has something to do with.
    package func want() {
        guard !isWanted.load(ordering: .relaxed),
            !isWanted.exchange(true, ordering: .relaxed)
        else { return }
        listener.withLock { $0 }?()
    }

    func begin() { isWanted.store(false, ordering: .relaxed) }

    /// Has `tell` called each time that a round is wanted, and at once, as the first one is.
    package func whenWanted(_ tell: @escaping @Sendable () -> Void) {
        listener.withLock { $0 = tell }
        if isWanted.load(ordering: .relaxed) { tell() }
    }
}
