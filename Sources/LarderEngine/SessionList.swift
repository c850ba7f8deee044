import Synchronization

/// Who has to be told when the daemon is ending; guarded by a lock.
final class SessionList: Sendable {
    private struct Seats {
        var next = 0
        var taken: [Int: @Sendable () -> Void] = [:]
        var isDraining = false
    }

    private let seats = Mutex(Seats())

    /// Has `tell` called when the daemon drains; nil when it does so already.
    func add(_ tell: @escaping @Sendable () -> Void) -> Int? {
        seats.withLock { seats in
            guard !seats.isDraining else { return nil }
            defer { seats.next += 1 }
            seats.taken[seats.next] = tell
            return seats.next
        }
    }

    func remove(_ seat: Int) {
        seats.withLock { _ = $0.taken.removeValue(forKey: seat) }
    }

    func drain() {
        let waiting = seats.withLock { seats in
            seats.isDraining = true
            return Array(seats.taken.values)
        }
        for tell in waiting { tell() }
    }

    var count: Int { seats.withLock { $0.taken.count } }
}
