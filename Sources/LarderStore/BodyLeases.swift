import Synchronization

/// Which chunked bodies are being read: a replaced body keeps its chunks until then.
///
/// The order that makes it safe: a reader takes the lease first and looks at the row after that,
/// in a transaction begun later; the writer commits first that no row names the body and looks at
/// the leases after that. So one of them sees the other.
final class BodyLeases: Sendable {
    private let counts = Mutex<[Int64: Int]>([:])

    func take(_ body: Int64) {
        counts.withLock { $0[body, default: 0] += 1 }
    }

    /// True when it was the last one.
    func giveBack(_ body: Int64) -> Bool {
        counts.withLock { counts in
            guard let count = counts[body] else { return false }
            counts[body] = count == 1 ? nil : count - 1
            return count == 1
        }
    }

    func isHeld(_ body: Int64) -> Bool {
        counts.withLock { $0[body] != nil }
    }
}
