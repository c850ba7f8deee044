extension ConnectionMachine {
    /// Holds the numbered invariants of the type's documentation; called after each change.
    func checkInvariants() {
        switch state {
        case .idle, .unread:
            // 1, 3, 4
            assert(begun == answered, "every exchange was answered")
            assert(!isLast || begun == 0, "nothing follows the last exchange")
        case .exchanging:
            // 1
            assert(begun == answered + 1, "one exchange at a time")
        case .closed:
            // 6
            assert(begun - answered <= 1, "at most one exchange was cut off")
            assert(isLast, "nothing follows")
        }
    }
}
