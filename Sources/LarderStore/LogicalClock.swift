import Synchronization

/// Numbers uses in the order in which they happened, for eviction.
final class LogicalClock: Sendable {
    // Relaxed: a tick says only which of two uses was later; what was read or written then is
    // ordered by the transactions, not by this number.
    private let last = Atomic<Int64>(0)

    func tick() -> Int64 { tick(1) }

    /// The last one of the next `count` numbers.
    func tick(_ count: Int) -> Int64 { last.wrappingAdd(Int64(count), ordering: .relaxed).newValue }

    func advance(to number: Int64) { last.max(number, ordering: .relaxed) }
}
