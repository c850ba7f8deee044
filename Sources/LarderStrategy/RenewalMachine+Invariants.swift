import LarderModel

extension RenewalMachine {
    /// Checks the invariants of the machine's documentation; costs nothing in release.
    func checkInvariants() {
        assert(Set(waiting).count == waiting.count, "a client waits once")
        assert(orders >= 0)
        switch lease {
        case .held: assert(orders > 0, "a lease goes with an order")
        case .none, .saving, .over: break
        }
    }
}
