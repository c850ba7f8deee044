/// How it stands with a pin: what of the entry is kept for good.
package enum PinState: Int64, Sendable, CaseIterable {
    /// The bytes are in `state.db`, as whoever gives them last gave them.
    case held = 0
    /// Nothing was cached; it is fetched as soon as its origin answers.
    case waiting = 1
    /// What was last given is larger than an entry or the pins may be.
    ///
    /// Bytes that fitted before stay.
    case tooLarge = 2
    /// The origin has deleted it; the bytes stay.
    case gone = 3
    /// The origin refuses it, or its bytes were damaged.
    case failed = 4

    /// Those in which a pin does not keep what is wanted, and nothing is done about it by itself.
    package static let failures: [PinState] = [.tooLarge, .failed]
}

/// Why a pin is neither held nor waiting.
package struct PinTrouble: Equatable, Sendable {
    /// A problem's kind: what stands after `urn:larder:` in its type.
    package var problem: String
    /// One sentence.
    package var reason: String

    package init(problem: String, reason: String) {
        self.problem = problem
        self.reason = reason
    }
}
