/// The daemon's health on one screen.
public struct StatusReport: Codable, Equatable, Sendable {
    /// Version of the daemon.
    public var version = ""
    /// Whole seconds since the start.
    public var uptime: Int64 = 0
    /// `degraded` if there are warnings.
    public var state = StatusState.ok
    /// The cache.
    public var cache = CacheStatus()
    /// Pins of all users.
    public var pins = PinStatus()
    /// Modifiers of all users.
    public var queue = QueueStatus()
    /// Number of open connections at the socket.
    public var connections = 0
    /// Number of requests to origins that are under way.
    public var flights = 0
    /// Origins and how they are doing.
    public var origins: [OriginStatus] = []
    /// Problems that an operator should look at, one sentence each.
    public var warnings: [String] = []
    /// Warnings that the client can do something about, with the command that helps.
    ///
    /// They are of the client's own rows; an administrator gets all users', by uid.
    public var findings: [Finding] = []
    /// The configuration that is in force.
    @OmittedWhenNil public var configuration: ConfigurationStatus?
    /// The client, as the kernel tells.
    @OmittedWhenNil public var you: ClientStatus?

    package init() {}
}

/// Whether there are warnings.
public struct StatusState: WireEnum {
    /// There are none.
    public static let ok = StatusState(rawValue: "ok")
    /// There are some.
    public static let degraded = StatusState(rawValue: "degraded")

    /// Every value that this version knows.
    public static let known: [StatusState] = [.ok, .degraded]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The cache, its files and its use since the start.
public struct CacheStatus: Codable, Equatable, Sendable {
    /// Accounted size, never above ``maxBytes``.
    public var accountedBytes: Int64 = 0
    /// Limit of the accounted size.
    public var maxBytes: Int64 = 0
    /// Number of entries.
    public var entries = 0
    /// Size of the database file.
    public var databaseBytes: Int64 = 0
    /// Size of its write-ahead log.
    public var walBytes: Int64 = 0
    /// Number of evictions since the start.
    public var evictions = 0
    /// Number of lookups since the start that found an entry.
    public var hits = 0
    /// Number of lookups since the start that found none.
    public var misses = 0
    /// The part of hits among the last lookups.
    public var hitRate = HitRate()

    package init() {}
}

/// The part of hits among lookups, 0 to 1; null without lookups.
public struct HitRate: Codable, Equatable, Sendable {
    /// In the last minute.
    public var oneMinute: Double?
    /// In the last ten minutes.
    public var tenMinutes: Double?
    /// In the last hour.
    public var sixtyMinutes: Double?

    private enum CodingKeys: String, CodingKey {
        case oneMinute = "1m"
        case tenMinutes = "10m"
        case sixtyMinutes = "60m"
    }

    package init() {}
}

/// Pins and their limit.
public struct PinStatus: Codable, Equatable, Sendable {
    /// Number of pins.
    public var count = 0
    /// Accounted size, never above ``maxBytes``.
    public var accountedBytes: Int64 = 0
    /// Limit of the accounted size.
    public var maxBytes: Int64 = 0
    /// Number of pins that wait for their origins.
    public var waiting = 0

    package init() {}
}

/// Modifiers and their limits.
public struct QueueStatus: Codable, Equatable, Sendable {
    /// Number of modifiers that are not settled.
    public var unsettled: Int64 = 0
    /// Number of dead letters, which count against the limits too.
    public var failed: Int64 = 0
    /// Number of modifiers in each state.
    public var states = NamedValues<Int64>()
    /// Number of unsettled modifiers that failed again and again.
    public var stalled: Int64 = 0
    /// Age of the oldest unsettled modifier in milliseconds; null without one.
    public var oldestAgeMs: Int64?
    /// Limit of the number of modifiers.
    public var maxModifiers: Int64 = 0
    /// Accounted size, never above ``maxBytes``.
    public var accountedBytes: Int64 = 0
    /// Limit of the accounted size.
    public var maxBytes: Int64 = 0

    package init() {}
}

/// An origin and how it is doing.
public struct OriginStatus: Codable, Equatable, Sendable {
    /// Name of the origin.
    public var name: String
    /// The URL that its own begin with.
    public var baseURL: String
    /// How the origin is doing.
    @Flattened public var condition: OriginCondition

    package init(name: String, baseURL: String, condition: OriginCondition) {
        self.name = name
        self.baseURL = baseURL
        self.condition = condition
    }
}

/// The configuration that is in force.
public struct ConfigurationStatus: Codable, Equatable, Sendable {
    /// Absolute path of the file; null if the defaults count.
    public var file: String?
    /// Time when the file was read.
    public var readAt: Timestamp
    /// Permissions of the socket's file, in octal: `0660`.
    public var socketMode: String

    package init(file: String?, readAt: Timestamp, socketMode: String) {
        self.file = file
        self.readAt = readAt
        self.socketMode = socketMode
    }
}

/// The client, as the kernel tells.
public struct ClientStatus: Codable, Equatable, Sendable {
    /// Number of the user.
    public var user: UInt32
    /// Numbers of the groups that the client ran in when it connected, in order.
    public var groups: [UInt32]
    /// Whether the client is an administrator of the daemon.
    public var administrator: Bool

    package init(user: UInt32, groups: [UInt32], administrator: Bool) {
        self.user = user
        self.groups = groups
        self.administrator = administrator
    }
}
