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

    package init() {}
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
    /// Limit of ``totalBytes``.
    public var maxBytes: Int64 = 0

    package init() {}
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

    package init() {}
}
