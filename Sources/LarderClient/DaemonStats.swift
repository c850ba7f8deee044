import LarderModel
package import LarderWire
import NIOHTTP1

/// What a daemon has counted and timed since its start.
public struct DaemonStats: Equatable, Sendable {
    package let report: StatsReport

    /// Since the daemon's start, in whole seconds.
    public var uptime: Duration { report.uptime }
    /// Connections that are open now, this client's included.
    public var openConnections: Int { report.connections.open }
    /// Reads of an id that found something.
    public var hits: Int64 { report.lookups.hits }
    /// Reads of an id that found nothing.
    public var misses: Int64 { report.lookups.misses }
    /// Those of the hits that were answered by bytes that were ready in memory.
    public var readyHits: Int64 { report.lookups.ready }
    /// What the answers that are ready in memory take there, in bytes.
    public var readyBytes: Int64 { report.readyAnswers.bytes }
    /// Requests that went to origins.
    public var networkRequests: Int64 { report.flights.started }
    /// Entries that had to go, for whatever reason.
    public var evictions: Int64 {
        report.evictions.lru + report.evictions.expired + report.evictions.asked
    }
    /// Modifiers that were accepted.
    public var acceptedModifiers: Int64 { report.modifiers.accepted }
    /// Those that their origins confirmed.
    public var confirmedModifiers: Int64 { report.modifiers.confirmed }
    /// Those that became dead letters.
    public var deadModifiers: Int64 { report.modifiers.dead }
    /// Those that somebody took back.
    public var cancelledModifiers: Int64 { report.modifiers.cancelled }
    /// Those of the dead that had changed something here.
    public var reverts: Int64 { report.modifiers.reverts }
    /// Requests of modifiers of which something may have left.
    public var modifierAttempts: Int64 { report.modifiers.attempts }
    /// How long reads of an entry took, inside the daemon.
    public var hitLatency: Latency { Latency(report.latencies.hit) }
    /// How long fetches took until they showed something.
    public var fetchLatency: Latency { Latency(report.latencies.fetch) }
    /// How long puts took from their last byte to their commit.
    public var putLatency: Latency { Latency(report.latencies.put) }
    /// How long requests to origins took.
    public var networkLatency: Latency { Latency(report.latencies.network) }

    /// How long one kind of work took.
    public struct Latency: Equatable, Sendable {
        /// How many times it was timed.
        public let count: Int64
        /// What half of them did not exceed; nil where nothing was timed, as in the others.
        public let median: Duration?
        /// What nine in ten did not exceed.
        public let ninetieth: Duration?
        /// What 99 in a hundred did not exceed.
        public let ninetyNinth: Duration?
        /// The longest.
        public let max: Duration?

        init(_ latency: StatsReport.Latency) {
            count = latency.count
            median = latency.median
            ninetieth = latency.ninetieth
            ninetyNinth = latency.ninetyNinth
            max = latency.max
        }
    }
}

extension LarderClient {
    /// What the daemon has counted and timed since its start.
    public func stats() async throws(LarderError) -> DaemonStats {
        let bytes = try await connection.report(
            SocketRequest(.GET, "/v1/stats", timeLimit: Limits.reportTime)
        )
        return DaemonStats(
            report: try LarderError.decoding { () throws(WireError) in
                try StatsReport(decoding: bytes)
            }
        )
    }
}
