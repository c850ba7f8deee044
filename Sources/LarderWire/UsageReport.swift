package import LarderModel

/// What `GET /v1/usage` answers: where the bytes are.
package struct UsageReport: Equatable, Sendable {
    /// The rows of the scope that was asked for, all together.
    package var rows: UsageRows
    package var byKind: [UsageGroup]
    /// By the origin's name, the largest first, null for clients' own blobs; at most
    /// ``Limits/usageGroupsMax``.
    package var byOrigin: [UsageGroup]
    /// By whose they are, the largest first, as many; empty where one scope was asked for.
    package var byUser: [Owned]
    /// The accounted size of the whole cache, and what it may be now.
    package var cacheBytes: Int64
    package var cacheBytesMax: Int64
    package var budgetBytes: Int64
    package var pins: Pins
    package var files: [File]
    /// What normalized answers take of the rows, beside their own bytes.
    package var normalized = NormalizedUsage()
    /// Bytes that are free where the cache's file lies; nil where the file system does not say.
    package var diskFreeBytes: Int64?
    /// What is left free there: `cache.min_free_bytes`.
    package var minFreeBytes: Int64

    /// The rows of one scope.
    package struct Owned: Equatable, Sendable {
        package var scope: Scope
        package var rows: UsageRows

        package init(scope: Scope, rows: UsageRows) {
            self.scope = scope
            self.rows = rows
        }
    }

    /// What is kept for good, which is no row of the cache.
    package struct Pins: Equatable, Sendable {
        /// How many pins the scope has that was asked for.
        package var count: Int64
        /// How many of them are fetched as soon as their origins answer.
        package var waiting: Int64
        /// Their accounted size.
        package var bytes: Int64
        /// That of everybody's pins, and its limit.
        package var totalBytes: Int64
        package var maxBytes: Int64

        package init(
            count: Int64,
            waiting: Int64,
            bytes: Int64,
            totalBytes: Int64,
            maxBytes: Int64
        ) {
            self.count = count
            self.waiting = waiting
            self.bytes = bytes
            self.totalBytes = totalBytes
            self.maxBytes = maxBytes
        }
    }

    /// A file with its write-ahead log.
    package struct File: Equatable, Sendable {
        package var name: String
        package var bytes: Int64
        package var walBytes: Int64
        /// Pages inside that hold nothing; nil where it was not looked at.
        package var freeBytes: Int64?

        package init(name: String, bytes: Int64, walBytes: Int64, freeBytes: Int64?) {
            self.name = name
            self.bytes = bytes
            self.walBytes = walBytes
            self.freeBytes = freeBytes
        }
    }

    package init(
        rows: UsageRows,
        byKind: [UsageGroup],
        byOrigin: [UsageGroup],
        byUser: [Owned],
        cacheBytes: Int64,
        cacheBytesMax: Int64,
        budgetBytes: Int64,
        pins: Pins,
        files: [File],
        diskFreeBytes: Int64?,
        minFreeBytes: Int64
    ) {
        self.rows = rows
        self.byKind = byKind
        self.byOrigin = byOrigin
        self.byUser = byUser
        self.cacheBytes = cacheBytes
        self.cacheBytesMax = cacheBytesMax
        self.budgetBytes = budgetBytes
        self.pins = pins
        self.files = files
        self.diskFreeBytes = diskFreeBytes
        self.minFreeBytes = minFreeBytes
    }
}
