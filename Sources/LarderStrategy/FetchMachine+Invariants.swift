extension FetchMachine {
    /// Checks the numbered invariants of the type's documentation; called after each change.
    ///
    /// This is an `assert`: in release a broken invariant shows as a wrong frame, not as a stopped
    /// daemon.
    func checkInvariants() {
        let snapshots = emitted.cachedSnapshots + emitted.networkSnapshots
        // 1, 2
        let endings = emitted.endings + emitted.refusals
        assert(endings <= 1, "a fetch ends once")
        assert(
            (state == .ended) == (endings == 1 || emitted.wasHungUp),
            "an end is emitted or heard"
        )
        // 3
        assert(emitted.refusals == 0 || snapshots == 0, "a refusal comes without snapshots")
        // 4
        assert(
            emitted.cachedSnapshots <= 1 && emitted.networkSnapshots <= 1,
            "one snapshot a source"
        )
        let isAfterFinalResult = if case .following = state { true } else { state == .ended }
        if emitted.networkSnapshots == 1 { assert(isAfterFinalResult, "the network's is the last") }
        // 5
        if let unchanged = emitted.unchangedRevision {
            assert(unchanged == emitted.shownRevision, "unchanged since what was shown")
        }
        if case .awaitingNetwork(let shown) = state {
            assert(shown == emitted.shownRevision, "the state knows what was shown")
        }
        // 6
        if let told = emitted.toldRevision, let before = emitted.toldBefore {
            assert(told > before, "no older view after a newer one")
        }
    }
}
