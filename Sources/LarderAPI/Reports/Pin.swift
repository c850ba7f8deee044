/// A pin without its bytes.
public struct PinItem: Codable, Equatable, Sendable {
    /// Id of the entry that is pinned.
    public var id: String
    /// Whether the bytes are kept, and if not, why.
    public var state: PinState
    /// Name of the origin that the entry is fetched from; null for a client's own entry.
    public var origin: String?
    /// Length of the body in bytes; null while there is none.
    public var bodyBytes: Int?
    /// Time of the request that pinned the entry.
    public var pinnedAt: Timestamp
    /// Time when the bytes were stored; null while there are none.
    public var storedAt: Timestamp?
    /// Revision of the bytes; null while there are none.
    public var rev: Int64?
    /// Type of the problem for which the pin is neither held nor waiting; in a 202, of the problem
    /// that the fetch met.
    public var problem: String?
    /// The problem in one sentence.
    public var reason: String?

    /// A pin that has no bytes and no problem.
    public init(id: String, state: PinState, origin: String?, pinnedAt: Timestamp) {
        self.id = id
        self.state = state
        self.origin = origin
        self.pinnedAt = pinnedAt
    }
}

/// Whether the bytes of a pin are kept.
public struct PinState: WireEnum {
    /// The bytes are kept.
    public static let held = PinState(rawValue: "held")
    /// The entry is fetched as soon as its origin answers.
    public static let waiting = PinState(rawValue: "waiting")
    /// The last answer is larger than the limit; older bytes stay.
    public static let tooLarge = PinState(rawValue: "too_large")
    /// The origin has deleted the entry; the bytes stay.
    public static let gone = PinState(rawValue: "gone")
    /// The origin refuses the entry, or its bytes were damaged.
    public static let failed = PinState(rawValue: "failed")
    /// Every value that this version knows.
    public static let known: [PinState] = [.held, .waiting, .tooLarge, .gone, .failed]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
