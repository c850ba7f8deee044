/// Which page of a list.
public struct PageQuery: Codable, Equatable, Sendable {
    /// Number of items in the page.
    ///
    /// - Range: 1...1000
    /// - Default: 100
    @OmittedWhenNil public var limit: Int?
    /// The `next` of the page before.
    @OmittedWhenNil public var cursor: String?

    /// The first page.
    public init() {}
}

/// Owner of rows.
public struct ScopeQuery: Codable, Equatable, Sendable {
    /// `own`, `shared`, `user:N` with a number, or `all`; users and all are for administrators.
    ///
    /// - Default: own
    @OmittedWhenNil public var scope: String?
    /// Name of the account; without it, the default one, and all accounts of another user.
    @OmittedWhenNil public var account: String?

    /// The client's own rows.
    public init() {}
}

/// The parameters of a list of entries, or of entities if ``prefix`` begins with `entity:`.
public struct EntryListQuery: Codable, Equatable, Sendable {
    /// Beginning of the ids: `entity:ORIGIN/TYPE:` for the entities of a type.
    @OmittedWhenNil public var prefix: String?
    /// Name of the origin.
    @OmittedWhenNil public var origin: String?
    /// Order of the list.
    ///
    /// - Default: id
    @OmittedWhenNil public var sort: EntryOrder?
    /// Which page.
    @Flattened public var page: PageQuery
    /// Owner of the entries.
    @Flattened public var rows: ScopeQuery

    /// The first page of the client's own entries.
    public init() {
        page = PageQuery()
        rows = ScopeQuery()
    }
}

/// Order of a list of entries.
public struct EntryOrder: WireEnum {
    /// By id.
    public static let id = EntryOrder(rawValue: "id")
    /// The largest first.
    public static let size = EntryOrder(rawValue: "size")
    /// The oldest first.
    public static let age = EntryOrder(rawValue: "age")
    /// The least recently used first.
    public static let used = EntryOrder(rawValue: "used")

    /// Every value that this version knows.
    public static let known: [EntryOrder] = [.id, .size, .age, .used]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The parameters of a list of pins.
public struct PinListQuery: Codable, Equatable, Sendable {
    /// Which page.
    @Flattened public var page: PageQuery
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?

    /// The first page of the default account.
    public init() {
        page = PageQuery()
    }
}

/// An eviction, for which one of the first six members selects.
public struct EvictCommand: Codable, Equatable, Sendable {
    /// Ids of entries and entities, 1 to 10,000.
    @OmittedWhenNil public var ids: [String]?
    /// Beginning of the ids.
    @OmittedWhenNil public var prefix: String?
    /// Name of the origin.
    @OmittedWhenNil public var origin: String?
    /// Age since the entries were stored or confirmed.
    @OmittedWhenNil public var olderThan: Duration?
    /// Size of the cache after it: a number of bytes, or a text with a unit.
    @OmittedWhenNil public var toBytes: RawJSON?
    /// Whether all entries are selected.
    @OmittedWhenNil public var all: Bool?
    /// Whether the answer tells what would be evicted, and nothing is.
    ///
    /// - Default: false
    @OmittedWhenNil public var dryRun: Bool?
    /// Whether pinned entries are unpinned and evicted too.
    ///
    /// - Default: false
    @OmittedWhenNil public var includePinned: Bool?
    /// Owner of the entries.
    @Flattened public var rows: ScopeQuery

    /// An eviction that selects nothing yet.
    public init() {
        rows = ScopeQuery()
    }
}

/// A change of an origin's state.
public struct OriginChange: Codable, Equatable, Sendable {
    /// Whether no request leaves for the origin, across restarts, until it is set online.
    public var offline: Bool

    /// An origin that is set offline, or online.
    public init(offline: Bool) {
        self.offline = offline
    }
}

/// A check of an origin.
public struct OriginCheckCommand: Codable, Equatable, Sendable {
    /// Path and query under the base URL; without it, the base URL itself.
    @OmittedWhenNil public var path: String?

    /// A check at a path.
    public init(path: String? = nil) {
        self.path = path
    }
}
