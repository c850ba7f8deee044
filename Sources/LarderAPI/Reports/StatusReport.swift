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
    public init(rawValue: String) { self.rawValue = rawValue }
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

/// The answer of a daemon that serves.
public struct Health: Codable, Equatable, Sendable {
    /// Always `ok`: a daemon that does not serve answers with a ``Problem``.
    public var status: HealthStatus

    /// A report with this status.
    public init(status: HealthStatus = .ok) { self.status = status }
}

/// Whether the daemon serves.
public struct HealthStatus: WireEnum {
    /// The daemon reads its store.
    public static let ok = HealthStatus(rawValue: "ok")
    /// Every value that this version knows.
    public static let known: [HealthStatus] = [.ok]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The version of the daemon.
public struct VersionReport: Codable, Equatable, Sendable {
    /// Version of the daemon: `MAJOR.MINOR.PATCH`.
    public var version: String

    /// A report with this version.
    public init(version: String) { self.version = version }
}

/// The sizes of what the cache holds, with each part's 1,000 largest groups; the sums are exact.
public struct UsageReport: Codable, Equatable, Sendable {
    /// Entries in the scope of the request.
    @Flattened public var rows = UsageSum()
    /// The same for each kind of entry, the largest first.
    public var byKind: [UsageOfKind] = []
    /// The same for each origin, the largest first.
    public var byOrigin: [UsageOfOrigin] = []
    /// The same for each user and account, the largest first; empty in a request for one scope.
    public var byUser: [UsageOfUser] = []
    /// The whole cache and its limits.
    public var cache = CacheUsage()
    /// Parts of answers that entries share.
    public var normalized = NormalizedUsage()
    /// Pins of the scope, and the limit of all pins.
    public var pins = PinUsage()
    /// The database files.
    public var files: [FileUsage] = []
    /// The file system that has the cache's file.
    public var disk = DiskUsage()

    package init() {}
}

/// A number of entries and their size.
public struct UsageSum: Codable, Equatable, Sendable {
    /// Number of entries.
    public var entries: Int64
    /// Accounted size of the entries: bodies, ids, headers and the fixed cost of rows.
    public var accountedBytes: Int64
    /// The size of their bodies.
    public var bodyBytes: Int64

    package init(entries: Int64 = 0, accountedBytes: Int64 = 0, bodyBytes: Int64 = 0) {
        self.entries = entries
        self.accountedBytes = accountedBytes
        self.bodyBytes = bodyBytes
    }
}

/// Entries of one kind.
public struct UsageOfKind: Codable, Equatable, Sendable {
    /// The kind of the entries.
    public var kind: String?
    /// Number and size of the entries.
    @Flattened public var rows: UsageSum

    package init(kind: String?, rows: UsageSum) {
        self.kind = kind
        self.rows = rows
    }
}

/// Entries of one origin.
public struct UsageOfOrigin: Codable, Equatable, Sendable {
    /// Name of the origin; null for clients' own entries.
    public var origin: String?
    /// Number and size of the entries.
    @Flattened public var rows: UsageSum

    package init(origin: String?, rows: UsageSum) {
        self.origin = origin
        self.rows = rows
    }
}

/// Entries of one user and account, or all shared entries.
public struct UsageOfUser: Codable, Equatable, Sendable {
    /// Number of the user; null for shared entries.
    public var user: UInt32?
    /// Name of the account; null for shared entries.
    public var account: String?
    /// Number and size of the entries.
    @Flattened public var rows: UsageSum

    package init(user: UInt32?, account: String?, rows: UsageSum) {
        self.user = user
        self.account = account
        self.rows = rows
    }
}

/// The accounted size of the cache and its limits.
public struct CacheUsage: Codable, Equatable, Sendable {
    /// Accounted size of all entries.
    public var accountedBytes: Int64 = 0
    /// Limit of the accounted size as the disk allows it now.
    public var maxBytes: Int64 = 0
    /// Limit of the accounted size as configured.
    public var budgetBytes: Int64 = 0
}

/// Parts of answers that entries share.
public struct NormalizedUsage: Codable, Equatable, Sendable {
    /// Entities.
    public var entities = UsageCount()
    /// Skeletons of answers; a skeleton of several scopes counts in each.
    public var skeletons = UsageCount()
    /// References; part of the sizes of the rows that refer.
    public var references = UsageCount()

    package init() {}
}

/// A number of things and their size.
public struct UsageCount: Codable, Equatable, Sendable {
    /// Number of things.
    public var count: Int64
    /// Accounted size of those.
    public var accountedBytes: Int64

    package init(count: Int64 = 0, accountedBytes: Int64 = 0) {
        self.count = count
        self.accountedBytes = accountedBytes
    }
}

/// Pins and their limit.
public struct PinUsage: Codable, Equatable, Sendable {
    /// Number of pins in the scope.
    public var count: Int64 = 0
    /// Number of those that wait for their origins.
    public var waiting: Int64 = 0
    /// Accounted size of the pins in the scope.
    public var accountedBytes: Int64 = 0
    /// Accounted size of all users' pins.
    public var totalAccountedBytes: Int64 = 0
    /// Limit of ``totalAccountedBytes``.
    public var maxBytes: Int64 = 0
}

/// A database file.
public struct FileUsage: Codable, Equatable, Sendable {
    /// Name of the file: `cache.db`.
    public var name: String
    /// Size of the file.
    public var bytes: Int64
    /// Size of its write-ahead log.
    public var walBytes: Int64
    /// Size of its free pages; null if they were not counted.
    public var freeBytes: Int64?

    package init(name: String, bytes: Int64, walBytes: Int64, freeBytes: Int64? = nil) {
        self.name = name
        self.bytes = bytes
        self.walBytes = walBytes
        self.freeBytes = freeBytes
    }
}

/// The file system that has the cache's file.
public struct DiskUsage: Codable, Equatable, Sendable {
    /// Free bytes; null if the file system does not tell.
    public var freeBytes: Int64?
    /// Bytes that the daemon leaves free.
    public var minFreeBytes: Int64 = 0
}
