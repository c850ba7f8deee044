import LarderModel

extension ProbeMachine {
    /// Checks the numbered invariants of the type's documentation; called after each change.
    func checkInvariants() {
        // 1
        assert(waiting >= 0, "an interest ends once")
        assert((0...Self.failuresMax).contains(failures), "the failures are bounded")
        // 3
        assert(
            Limits.probePauseBase * (1 << Self.failuresMax) >= Limits.probePauseMax,
            "the pause reaches its limit"
        )
    }
}
