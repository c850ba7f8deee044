import Synchronization

/// Numbers uses in the order in which they happened.
///
/// It orders eviction and has no other meaning.
final class LogicalClock: Sendable {
    // Relaxed: a tick says only which of two uses was later; what was read or written then is
    // ordered by the transactions, not by this number.
    private let last = Atomic<Int64>(0)

    /// The next number, never given twice while the process lives.
    func tick() -> Int64 { tick(1) }

    /// The last one of the next `count` numbers.
    func tick(_ count: Int) -> Int64 {
        last.wrappingAdd(Int64(count), ordering: .relaxed).newValue
    }

    /// Goes on after the highest number of an opened file.
    func advance(to number: Int64) {
        last.max(number, ordering: .relaxed)
    }
}
