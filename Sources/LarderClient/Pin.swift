public import FoundationEssentials
import LarderModel
package import LarderWire

/// What pinning came to.
public enum PinOutcome: Sendable {
    /// Its bytes are on disk, and stay.
    case held
    /// It is fetched as soon as its origin answers; ``Pin/reason`` says what asking for it has met.
    case waiting(Pin)
}

/// An entry that is kept for good, or is to be.
public struct Pin: Equatable, Sendable {
    package let item: PinItem

    /// How it stands with it.
    public enum State: String, Sendable {
        /// Its bytes are kept, as whoever gives them last gave them.
        case held
        /// Nothing was cached; it is fetched as soon as its origin answers.
        case waiting
        /// What was last given is larger than an entry or the pins may be; older bytes stay.
        case tooLarge = "too-large"
        /// The origin has deleted it; its bytes stay.
        case gone
        /// The origin refuses it, or its bytes were damaged.
        case failed
    }

    /// The text that the entry is found by.
    public var id: String { item.id.text }
    /// How it stands with it.
    public var state: State {
        switch item.state {
        case .held: .held
        case .waiting: .waiting
        case .tooLarge: .tooLarge
        case .gone: .gone
        case .failed: .failed
        }
    }
    /// The origin that it is fetched from; nil for a program's own bytes.
    public var origin: String? { item.origin?.text }
    /// How many bytes are kept; nil while there are none.
    public var byteCount: Int? { item.byteCount }
    /// When it was pinned.
    public var pinnedAt: Date { Date(item.pinnedAt) }
    /// When the bytes were given or confirmed; nil while there are none.
    public var storedAt: Date? { item.storedAt.map { Date($0) } }
    /// The daemon's number of the step that last changed the bytes; nil while there are none.
    public var revision: Int64? { item.revision?.number }
    /// The type of the problem for which it is neither held nor waiting, or which asking for it has
    /// just met: `urn:larder:…`.
    public var problem: String? { item.trouble.map { "urn:larder:\($0.problem)" } }
    /// The same in one sentence.
    public var reason: String? { item.trouble?.reason }
}

/// One page of pins.
public struct Pins: Equatable, Sendable {
    /// The pins.
    public let items: [Pin]
    /// What to give as `cursor` for the page after this one; nil on the last.
    public let next: String?
}
