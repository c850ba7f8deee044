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
    public init(scope: String) {
        self.scope = scope
    }
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
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
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
    @Flattened public var rows: ScopeQuery

    /// A read of the client's own modifier.
    public init() {
        rows = ScopeQuery()
    }
}
