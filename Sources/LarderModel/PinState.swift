/// State of a pin: how it keeps its entry permanently.
package enum PinState: Int64, Sendable, CaseIterable {
    /// The bytes are in `state.db`, as the origin or the client last sent them.
    case held = 0
    /// Nothing was cached; it is fetched as soon as its origin answers.
    case waiting = 1
    /// The last version is larger than an entry or the pins may be.
    ///
    /// An earlier version that fitted stays.
    case tooLarge = 2
    /// The origin has deleted it; the bytes stay.
    case gone = 3
    /// The origin refuses it, or its bytes were damaged.
    case failed = 4

    /// States in which a pin does not keep the wanted bytes, and the daemon does not try again.
    package static let failures: [PinState] = [.tooLarge, .failed]
}

/// Why a pin is neither held nor waiting.
package struct PinTrouble: Equatable, Sendable {
    /// A problem's kind: the part of its type after `urn:larder:`.
    package var problem: String
    /// A sentence for people.
    package var reason: String

    package init(problem: String, reason: String) {
        self.problem = problem
        self.reason = reason
    }
}
