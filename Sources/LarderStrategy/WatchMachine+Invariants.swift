import LarderModel

extension WatchMachine {
    /// Checks the invariants of the machine's documentation; costs nothing in release.
    func checkInvariants() {
        waiting.checkInvariants()
        assert(waiting.next.map { $0.revision >= told } ?? true, "it was not told")
        assert(listed.keys.reduce(0) { $0 + $1.listedBytes } == listedBytes, "it is counted")
        assert(listedBytes <= Limits.watchListedBytesMax, "what is remembered is bounded")
    }
}
