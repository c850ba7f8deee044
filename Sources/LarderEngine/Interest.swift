import Synchronization

/// A client's interest in an answer, until it hangs up; guarded by a lock.
package final class Interest: Sendable {
    private struct State {
        var isGivenUp = false
        var tell: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether the client has hung up.
    package var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

    /// The client has hung up.
    package func giveUp() {
        let tell = state.withLock { state in
            state.isGivenUp = true
            defer { state.tell = nil }
            return state.tell
        }
        tell?()
    }

    /// Has `tell` called when the client hangs up; at once if it has.
    package func whenGivenUp(_ tell: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if !state.isGivenUp { state.tell = tell }
            return state.isGivenUp
        }
        if isLate { tell() }
    }
}
