import LarderModel

extension FlightMachine {
    /// Checks the numbered invariants of the type's documentation; called after each change.
    func checkInvariants() {
        // 1
        assert(retries <= Limits.retriesMax, "repetitions are bounded")
        assert(redirects <= Limits.redirectsMax, "redirects are bounded")
        assert(overtakes <= Limits.overtakesMax, "it ends some time")
        // 2
        switch state {
        case .asking(let attempt), .pausing(let attempt):
            assert(
                !attempt.isConditional || attempt.url == validatedURL,
                "a condition asks the URL of the validators"
            )
        case .refreshing(let attempt):
            assert(attempt.isConditional, "a 304 answers a condition")
        case .idle, .receiving, .storing, .passing, .finished:
            break
        }
        // 3
        assert(mayRetry || retries == 0, "an origin that is down is asked once")
        // 5
        switch state {
        case .asking(let attempt), .pausing(let attempt), .refreshing(let attempt):
            assert(
                rules.bodyHandling != .passThrough || !attempt.isConditional,
                "what is passed on confirms nothing"
            )
            // 6
            assert(attempt.method != .post || !attempt.isConditional, "a POST has no condition")
        case .receiving:
            assert(rules.bodyHandling != .passThrough, "what is passed on is not kept")
        case .passing:
            assert(rules.bodyHandling == .passThrough, "what is kept is not passed on")
        case .idle, .storing, .finished:
            break
        }
    }
}
