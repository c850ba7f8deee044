/// How it stands with a modifier.
package enum ModifierState: String, Sendable, CaseIterable {
    /// Its hold is not over.
    case held
    /// It may be sent when it heads its lanes.
    case queued
    /// Its send step is committed; bytes may have left.
    case inFlight = "in_flight"
    case confirmed
    /// The origin has taken it and says nothing yet of the outcome (202): shown, and out of its
    /// lanes.
    case accepted
    /// It was not applied and is to be tried again.
    case retryWait = "retry_wait"
    /// Bytes left and no clear answer came.
    case unknown
    /// The account's credential was refused.
    case authWait = "auth_wait"
    case failed
    case cancelled

    /// Those in which a modifier stays until a person has done something.
    package static let waitingForPerson: [ModifierState] = [.unknown, .authWait, .failed]

    /// Whether it has left the queue.
    package var isSettled: Bool {
        switch self {
        case .confirmed, .failed, .cancelled: true
        case .held, .queued, .inFlight, .accepted, .retryWait, .unknown, .authWait:
            false
        }
    }
}
