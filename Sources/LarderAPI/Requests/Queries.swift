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
    @Flattened public var page = PageQuery()
    /// Owner of the entries.
    @Flattened public var rows = ScopeQuery()

    /// The first page of the client's own entries.
    public init() {}
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
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The parameters of a list of pins.
public struct PinListQuery: Codable, Equatable, Sendable {
    /// Which page.
    @Flattened public var page = PageQuery()
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?

    /// The first page of the default account.
    public init() {}
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
    @Flattened public var rows = ScopeQuery()

    /// An eviction that selects nothing yet.
    public init() {}
}

/// A change of an origin's state.
public struct OriginChange: Codable, Equatable, Sendable {
    /// Whether no request leaves for the origin, across restarts, until it is set online.
    public var offline: Bool

    /// An origin that is set offline, or online.
    public init(offline: Bool) { self.offline = offline }
}

/// A check of an origin.
public struct OriginCheckCommand: Codable, Equatable, Sendable {
    /// Path and query under the base URL; without it, the base URL itself.
    @OmittedWhenNil public var path: String?

    /// A check at a path.
    public init(path: String? = nil) { self.path = path }
}

/// An account.
public struct AccountQuery: Codable, Equatable, Sendable {
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?

    /// The default account.
    public init() {}
}

/// The parameters of a purge.
public struct PurgeQuery: Codable, Equatable, Sendable {
    /// The user: `user:N`, with a number.
    ///
    /// - Example: user:1000
    public var scope: String
    /// Name of the account; without it, all accounts.
    @OmittedWhenNil public var account: String?

    /// A purge of all accounts of a user.
    public init(scope: String) { self.scope = scope }
}

/// The parameters of a read of an entry.
public struct EntryQuery: Codable, Equatable, Sendable {
    /// Whether modifiers that are not settled count.
    ///
    /// - Default: view
    @OmittedWhenNil public var show: ShownView?
    /// Depth to which references are replaced by the entities; for an entity only.
    ///
    /// - Range: 0...8
    /// - Default: 0
    @OmittedWhenNil public var expand: Int?
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?

    /// A read of the view of the default account.
    public init() {}
}

/// Which state of an entry is read.
public struct ShownView: WireEnum {
    /// With what unsettled modifiers make of it.
    public static let view = ShownView(rawValue: "view")
    /// The last answer of the origin.
    public static let base = ShownView(rawValue: "base")
    /// Every value that this version knows.
    public static let known: [ShownView] = [.view, .base]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The parameters of a write of an entry.
public struct PutQuery: Codable, Equatable, Sendable {
    /// Time for which the entry is fresh; without it, it has no end; not for an entity.
    @OmittedWhenNil public var ttl: Duration?
    /// Whether the entry is pinned; not for an entity.
    ///
    /// - Default: false
    @OmittedWhenNil public var pin: Bool?
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?

    /// A write for the default account.
    public init() {}
}

/// The parameters of a pin.
public struct PinQuery: Codable, Equatable, Sendable {
    /// Time to wait for the bytes.
    ///
    /// - Range: 0ms...1h
    @OmittedWhenNil public var wait: Duration?
    /// Interval at which the daemon asks the origin again; without it, a pin keeps what it has.
    ///
    /// The origin's `min_refresh` is the shortest one, 5s by default, and 30d the longest.
    @OmittedWhenNil public var refresh: Duration?
    /// Name of the account; without it, the default one.
    @OmittedWhenNil public var account: String?

    /// A pin of the default account.
    public init() {}
}

/// A time to wait.
public struct WaitQuery: Codable, Equatable, Sendable {
    /// Time to wait until the one modifier of the request is settled.
    ///
    /// - Range: 0ms...1h
    @OmittedWhenNil public var wait: Duration?

    /// No time.
    public init() {}
}

/// The parameters of a read of a modifier.
public struct ModifierQuery: Codable, Equatable, Sendable {
    /// Time to wait until the modifier is settled.
    ///
    /// - Range: 0ms...1h
    @OmittedWhenNil public var wait: Duration?
    /// Owner of the modifier.
    @Flattened public var rows = ScopeQuery()

    /// A read of the client's own modifier.
    public init() {}
}
