import LarderModel

extension PinRetryMachine {
    /// Checks the invariants of the machine's documentation; costs nothing in release.
    func checkInvariants() {
        for state in lines.values {
            switch state {
            case .asked(let failures):
                assert(failures >= 0)
            case .paused(let failures, let end):
                assert(failures >= 1, "a rest follows a failure")
                assert(end > .zero, "a rest has a length")
            }
        }
    }
}
