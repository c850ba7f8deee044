import Synchronization

final class HoldCounts<Key: Hashable & Sendable>: Sendable {
    private let counts = Mutex<[Key: Int]>([:])

    var isEmpty: Bool { counts.withLock { $0.isEmpty } }

    func count(_ key: Key) -> Int { counts.withLock { $0[key] ?? 0 } }

    func isHeld(_ key: Key) -> Bool { counts.withLock { $0[key] != nil } }

    func take(_ key: Key) { counts.withLock { $0[key, default: 0] += 1 } }

    @discardableResult func giveBack(_ key: Key) -> Bool {
        counts.withLock { counts in
            guard let count = counts[key] else { return false }
            counts[key] = count == 1 ? nil : count - 1
            return count == 1
        }
    }
}

/// Which chunked bodies are being read: a replaced body keeps its chunks until then.
///
/// A reader takes the lease first and looks at the row after that; the writer commits first that no
/// row names the body and looks at the leases after that. So one of them sees the other.
typealias BodyLeases = HoldCounts<Int64>
