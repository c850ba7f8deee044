/// State of a modifier.
package enum ModifierState: String, Sendable, CaseIterable {
    /// The hold is not over.
    case held
    /// The modifier may be sent when it heads its lanes.
    case queued
    /// The send step is committed; bytes may have left.
    case inFlight = "in_flight"
    case confirmed
    /// The origin has accepted the modifier without its outcome (202).
    ///
    /// The view still shows it, but its lanes go on.
    case accepted
    /// The modifier was not applied and will be sent again.
    case retryWait = "retry_wait"
    /// Bytes left and no clear answer came.
    case unknown
    /// The account's credential was refused.
    case authWait = "auth_wait"
    /// Another device has changed what the modifier changes, and a person decides.
    case conflict
    case failed
    case cancelled

    /// States in which a modifier stays until a person acts.
    package static let waitingForPerson: [ModifierState] = [
        .conflict, .unknown, .authWait, .failed,
    ]

    /// Whether the modifier has left the queue.
    package var isSettled: Bool {
        switch self {
        case .confirmed, .failed, .cancelled: true
        case .held, .queued, .inFlight, .accepted, .retryWait, .unknown, .authWait, .conflict:
            false
        }
    }
}

/// Whether a new state of a modifier begins another round of attempts, with the next key.
package enum ModifierRound: Equatable, Sendable {
    case same
    case next
    /// A person keeps the modifier: what was found at its targets counts as seen.
    case decided
}
