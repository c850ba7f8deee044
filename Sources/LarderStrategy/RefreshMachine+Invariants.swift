import LarderModel

extension RefreshMachine {
    /// Checks the invariants of the machine's documentation; costs nothing in release.
    func checkInvariants() {
        // Each check goes through all rows: with more of them a debug build would be too slow.
        assert(rows.count > 100 || isSound, "the machine of polls contradicts itself")
    }

    private var isSound: Bool {
        var counts = (ready: 0, paused: 0, asked: 0)
        for (row, polled) in rows {
            guard polled.interval != nil, polled.followers.values.allSatisfy({ $0 > 0 }) else {
                return false
            }
            switch polled.state {
            case .waiting: break
            case .ready:
                counts.ready += 1
                guard ready[polled.account.origin] != nil else { return false }
            case .paused:
                counts.paused += 1
                guard paused[polled.account]?.contains(row) == true else { return false }
            case .asked: counts.asked += 1
            }
        }
        let queued = ready.values.reduce(0) { sum, origin in
            sum + origin.rows.values.reduce(0) { $0 + $1.count }
        }
        let isNoneIdle = ready.values.allSatisfy { origin in
            origin.users.count == origin.rows.count
                && origin.rows.values.allSatisfy { !$0.isEmpty }
        }
        return isNoneIdle && queued == counts.ready
            && paused.values.reduce(0, { $0 + $1.count }) == counts.paused
            // A row that was removed may still have a poll in flight.
            && counts.asked <= inFlight.count && pollsOfOrigins.count == inFlight.count
            && pollsOfUsers.count == inFlight.count && users.count == rows.count
    }
}
