import LarderModel
package import LarderWire

/// Where the bytes of the cache are.
public struct CacheUsage: Equatable, Sendable {
    package let report: UsageReport

    /// What some entries take.
    public struct Sum: Equatable, Sendable {
        private let rows: UsageRows

        init(_ rows: UsageRows) {
            self.rows = rows
        }

        /// How many there are.
        public var entries: Int64 { rows.entries }
        /// What they count against the cache's limit: bodies, ids, headers and the cost of rows.
        public var accountedBytes: Int64 { rows.bytes }
        /// The bodies alone.
        public var bodyBytes: Int64 { rows.bodyBytes }
    }

    /// One of the daemon's files.
    public struct File: Equatable, Sendable {
        private let file: UsageReport.File

        init(_ file: UsageReport.File) {
            self.file = file
        }

        /// Such as `state.db`.
        public var name: String { file.name }
        /// Its length.
        public var bytes: Int64 { file.bytes }
        /// The length of its write-ahead log.
        public var logBytes: Int64 { file.walBytes }
    }

    /// All entries of the scope that was asked for.
    public var total: Sum { Sum(report.rows) }
    /// By the origin's name, the largest first; nil stands for programs' own bytes.
    public var byOrigin: [(origin: String?, sum: Sum)] {
        report.byOrigin.map { ($0.name, Sum($0.rows)) }
    }
    /// By whose they are, the largest first; empty where one user's account was asked for.
    public var byOwner: [(owner: EntryOwner, sum: Sum)] {
        report.byUser.map { (EntryOwner($0.scope), Sum($0.rows)) }
    }
    /// The accounted size of everybody's entries.
    public var cacheBytes: Int64 { report.cacheBytes }
    /// What that never exceeds.
    public var cacheBytesMax: Int64 { report.cacheBytesMax }
    /// How many pins the scope has that was asked for; what is pinned is no entry of the cache.
    public var pins: Int64 { report.pins.count }
    /// How many of them are fetched as soon as their origins answer.
    public var waitingPins: Int64 { report.pins.waiting }
    /// Their accounted size.
    public var pinnedBytes: Int64 { report.pins.bytes }
    /// The accounted size of everybody's pins.
    public var allPinnedBytes: Int64 { report.pins.totalBytes }
    /// What that never exceeds.
    public var pinnedBytesMax: Int64 { report.pins.maxBytes }
    /// The files that the entries and the pins stand in.
    public var files: [File] { report.files.map(File.init) }
    /// Bytes that are free on the cache's disk; nil where the file system does not say.
    public var diskFreeBytes: Int64? { report.diskFreeBytes }
}
