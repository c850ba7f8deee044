import LarderModel

extension FlightMachine {
    /// Holds the numbered invariants of the type's documentation; called after each change.
    func checkInvariants() {
        // 1
        assert(retries <= Limits.retriesMax, "repetitions are bounded")
        assert(redirects <= Limits.redirectsMax, "redirects are bounded")
        // 2
        switch state {
        case .asking(let attempt), .pausing(let attempt):
            assert(!(hasLostCached && attempt.isConditional), "nothing is left to confirm")
        case .refreshing(let attempt):
            assert(attempt.isConditional, "a 304 answers a condition")
        case .idle, .receiving, .storing, .landed:
            break
        }
        // 3
        assert(mayRetry || retries == 0, "an origin that is down is asked once")
    }
}
