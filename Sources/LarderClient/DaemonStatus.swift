public import FoundationEssentials
import LarderModel
package import LarderWire

/// One screen on the daemon's health.
public struct DaemonStatus: Equatable, Sendable {
    package let report: StatusReport

    /// The daemon's version.
    public var version: String { report.version }
    /// Since its start, in whole seconds.
    public var uptime: Duration { report.uptime }
    /// Whether nothing is wrong; otherwise ``warnings`` says what.
    public var isHealthy: Bool { report.state == .ok }
    /// The accounted size of the cache.
    public var cacheBytes: Int64 { report.cache.bytes }
    /// What that never exceeds.
    public var cacheBytesMax: Int64 { report.cache.maxBytes }
    /// How many entries there are.
    public var entries: Int { report.cache.entries }
    /// How many pins there are, of all users.
    public var pins: Int { report.pins.count }
    /// The accounted size of what is pinned.
    public var pinnedBytes: Int64 { report.pins.bytes }
    /// What that never exceeds.
    public var pinnedBytesMax: Int64 { report.pins.maxBytes }
    /// Modifiers that are not settled, of all users.
    public var unsettledModifiers: Int { Int(report.queue.unsettled) }
    /// Dead letters that nobody has dropped.
    public var deadModifiers: Int { Int(report.queue.dead) }
    /// Unsettled ones that their origins put off again and again.
    public var stalledModifiers: Int { Int(report.queue.stalled) }
    /// How long the first of the unsettled ones has waited; nil without any.
    public var oldestModifierAge: Duration? { report.queue.oldestAge }
    /// The accounted size of the queue.
    public var queueBytes: Int64 { report.queue.bytes }
    /// What that never exceeds.
    public var queueBytesMax: Int64 { report.queue.maxBytes }
    /// Hits of all lookups over the last ten minutes, 0 to 1; nil where there were none.
    public var hitRate: Double? { report.cache.hitRate.tenMinutes }
    /// The configured servers.
    public var origins: [Origin] { report.origins.map(Origin.init) }
    /// One sentence each on what somebody should look at.
    public var warnings: [String] { report.warnings }

    /// How the daemon sees this program; nil from a daemon that does not say.
    public var you: You? { report.you.map(You.init) }

    /// Whom the daemon takes a program for, by the kernel's word.
    public struct You: Equatable, Sendable {
        private let you: StatusReport.You

        init(_ you: StatusReport.You) {
            self.you = you
        }

        /// The user.
        public var uid: UInt32 { you.uid }
        /// The groups that the program was in when it connected, at most 256 of them.
        public var groups: [UInt32] { you.groups }
        /// Whether it may look into others' entries and administer the daemon.
        public var isAdministrator: Bool { you.isAdministrator }
    }

    /// A configured server.
    public struct Origin: Equatable, Sendable {
        private let origin: StatusReport.Origin

        init(_ origin: StatusReport.Origin) {
            self.origin = origin
        }

        /// What the last requests told.
        public enum State: String, Sendable {
            /// It answers.
            case online
            /// Nothing was asked of it.
            case unknown
            /// It does not answer.
            case offline
            /// A captive portal stands before it.
            case captive

            init(_ state: OriginState) {
                switch state {
                case .online: self = .online
                case .unknown: self = .unknown
                case .offline: self = .offline
                case .captive: self = .captive
                }
            }
        }

        /// Its name.
        public var name: String { origin.name.text }
        /// The URL that its own begin with.
        public var baseURL: String { origin.baseURL.text }
        /// Whether it answers.
        public var state: State { State(origin.state) }
        /// Whether it was set offline, so that nothing leaves for it.
        public var isOfflineByHand: Bool { origin.isOfflineByHand }
        /// Until when what nobody asks for leaves it alone, as it has told some account to wait;
        /// nil where it has not.
        public var restsUntil: Date? { origin.restsUntil.map { Date($0) } }
        /// Since when.
        public var since: Date? { origin.since.map { Date($0) } }
    }
}
