/// The state of a set of entries that are fetched in advance.
public struct PrefetchReport: Codable, Equatable, Sendable {
    /// Name of the set.
    public var name: String
    /// Whether everything is held.
    public var state: PrefetchState
    /// Number of entries.
    public var items: Int
    /// Number of entries whose bytes are kept.
    public var held = 0
    /// Entries that are missing and cannot be fetched now; omitted in a list of sets.
    @OmittedWhenNil public var failed: [PrefetchFailure]?
    /// Length in bytes of the bodies that are kept.
    public var bytes: Int64 = 0
    /// Length in bytes of all bodies, as far as it was known before they were fetched.
    public var estimatedBytes: Int64 = 0
    /// Number of entries whose size was not known before they were fetched.
    public var unknownSizes = 0
    /// Interval at which the daemon asks the origins again; null without one.
    public var refresh: Duration?
    /// Time at which the set ends; null if it does not.
    public var expiresAt: Timestamp?

    /// A set of which nothing is there yet.
    public init(name: String, state: PrefetchState, items: Int) {
        (self.name, self.state, self.items) = (name, state, items)
    }
}

/// Whether all entries of a set are held.
public struct PrefetchState: WireEnum {
    /// Entries are fetched.
    public static let filling = PrefetchState(rawValue: "filling")
    /// All entries are held.
    public static let ready = PrefetchState(rawValue: "ready")
    /// Entries are missing, and none of them can be fetched now.
    public static let incomplete = PrefetchState(rawValue: "incomplete")
    /// The set was only sized: it does not exist.
    public static let planned = PrefetchState(rawValue: "planned")
    /// The set has ended at its time; only in frames.
    public static let expired = PrefetchState(rawValue: "expired")
    /// The set was removed; only in frames.
    public static let removed = PrefetchState(rawValue: "removed")
    /// Every value that this version knows.
    public static let known: [PrefetchState] = [
        .filling, .ready, .incomplete, .planned, .expired, .removed,
    ]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// An entry of a set that is missing, and why.
public struct PrefetchFailure: Codable, Equatable, Sendable {
    /// Id of the entry.
    public var id: String
    /// The problem; if it is retryable, the daemon tries again by itself.
    public var problem: Problem

    package init(id: String, _ problem: Problem) { (self.id, self.problem) = (id, problem) }
}
