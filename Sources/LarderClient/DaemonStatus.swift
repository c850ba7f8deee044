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
    /// Hits of all lookups over the last ten minutes, 0 to 1; nil where there were none.
    public var hitRate: Double? { report.cache.hitRate.tenMinutes }
    /// The configured servers.
    public var origins: [Origin] { report.origins.map(Origin.init) }
    /// One sentence each on what somebody should look at.
    public var warnings: [String] { report.warnings }

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
        }

        /// Its name.
        public var name: String { origin.name.text }
        /// The URL that its own begin with.
        public var baseURL: String { origin.baseURL.text }
        /// Whether it answers.
        public var state: State {
            switch origin.state {
            case .online: .online
            case .unknown: .unknown
            case .offline: .offline
            case .captive: .captive
            }
        }
        /// Since when.
        public var since: Date? { origin.since.map { Date($0) } }
    }
}
