/// A set of entries that the daemon fetches in advance and keeps as pins.
public struct PrefetchCommand: Codable, Equatable, Sendable {
    /// The entries, at most 10,000 together.
    public var items: [PrefetchItem]
    /// Interval at which the daemon asks the origins again, and evaluates the queries again; without
    /// it, never.
    ///
    /// The origin's `min_refresh` is the shortest one, 5s by default, and 30d the longest.
    @OmittedWhenNil public var refresh: Duration?
    /// Time after which the set ends: its entries become ordinary ones; without it, it does not end.
    ///
    /// - Range: 1m...366d
    @OmittedWhenNil public var expires: Duration?

    /// A set that is kept until it is removed.
    public init(items: [PrefetchItem]) { self.items = items }
}

/// An entry of a set, or a query; one of the members is given.
public struct PrefetchItem: Codable, Equatable, Sendable {
    /// URL of the entry, of a configured origin.
    @OmittedWhenNil public var url: String?
    /// The entities that are known, each by its own URL.
    @OmittedWhenNil public var entities: PrefetchEntities?

    /// An entry by its URL.
    public init(url: String) { self.url = url }

    /// The entities that a query selects.
    public init(entities: PrefetchEntities) { self.entities = entities }
}

/// Entities of a type that are in the cache, the most recently used first.
///
/// The origin's `normalize` has the URL of the type.
public struct PrefetchEntities: Codable, Equatable, Sendable {
    /// Name of the origin.
    public var origin: String
    /// The type.
    public var type: String
    /// Number of entities.
    ///
    /// - Range: 1...10000
    /// - Default: 100
    @OmittedWhenNil public var limit: Int?

    /// The 100 that were used most recently.
    public init(origin: String, type: String) { (self.origin, self.type) = (origin, type) }
}

/// The parameters of a set that is made or replaced.
public struct PrefetchQuery: Codable, Equatable, Sendable {
    /// Whether only the sizes are looked up: nothing is made and no body is fetched.
    ///
    /// - Default: false
    @OmittedWhenNil public var dryRun: Bool?
    /// Time to wait until the set is no longer `filling`.
    ///
    /// - Range: 0ms...1h
    @OmittedWhenNil public var wait: Duration?
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?

    /// A set of the default account.
    public init() {}
}
