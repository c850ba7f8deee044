extension FetchMachine {
    /// Checks the numbered invariants of the type's documentation; called after each change.
    ///
    /// This is an `assert`: in release a broken invariant shows as a wrong frame, not as a stopped
    /// daemon.
    func checkInvariants() {
        let snapshots = said.cachedSnapshots + said.networkSnapshots
        // 1, 2
        let endings = said.endings + said.refusals
        assert(endings <= 1, "a fetch ends once")
        assert((state == .ended) == (endings == 1 || said.wasHungUp), "an end is said or heard")
        // 3
        assert(said.refusals == 0 || snapshots == 0, "a refusal comes without snapshots")
        // 4
        assert(said.cachedSnapshots <= 1 && said.networkSnapshots <= 1, "one snapshot a source")
        let isAfterFinalResult = if case .following = state { true } else { state == .ended }
        if said.networkSnapshots == 1 { assert(isAfterFinalResult, "the network's is the last") }
        // 5
        if let unchanged = said.unchangedRevision {
            assert(unchanged == said.shownRevision, "unchanged since what was shown")
        }
        if case .awaitingNetwork(let shown) = state {
            assert(shown == said.shownRevision, "the state knows what was shown")
        }
        // 6
        if let told = said.toldRevision, let before = said.toldBefore {
            assert(told > before, "no older view after a newer one")
        }
    }
}
