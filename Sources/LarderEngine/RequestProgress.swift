import Synchronization

/// The progress of a request to an origin; guarded by a lock.
///
/// An origin has its `fetch.timeout` for the head of an answer, for each piece of a body that comes
/// from it, and for each piece that it takes. The time of a client, and of the daemon's own store,
/// does not count.
final class RequestProgress: Sendable {
    private enum State {
        /// The origin has to move, since a moment of the monotonic clock.
        case awaitsOrigin(since: Duration)
        /// The client or the store has to move, so the origin is not late.
        case awaitsOthers
        case ended
    }

    private let state: Mutex<State>

    init(now: Duration) { state = Mutex(.awaitsOrigin(since: now)) }

    func awaitOrigin(now: Duration) { change(.awaitsOrigin(since: now)) }
    func awaitOthers() { change(.awaitsOthers) }

    private func change(_ new: State) {
        state.withLock { state in
            if case .ended = state { return }
            state = new
        }
    }

    /// The origin has answered; false if its time was over before.
    func end() -> Bool {
        state.withLock { state in
            if case .ended = state { return false }
            state = .ended
            return true
        }
    }

    /// The earliest end of the origin's time; nil once it has answered.
    func due(after time: Duration, now: Duration) -> Duration? {
        state.withLock { state in
            switch state {
            case .awaitsOrigin(let since): since + time
            case .awaitsOthers: now + time
            case .ended: nil
            }
        }
    }

    /// Ends the time of the origin if it is over; false if it is not.
    func expire(after time: Duration, now: Duration) -> Bool {
        state.withLock { state in
            guard case .awaitsOrigin(let since) = state, now >= since + time else { return false }
            state = .ended
            return true
        }
    }
}
