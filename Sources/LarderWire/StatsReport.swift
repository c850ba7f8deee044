package import LarderModel

/// What `GET /v1/stats` answers: what was counted and how long it took, since the daemon's start.
///
/// Nothing in it grows with users, ids or origins.
package struct StatsReport: Equatable, Sendable {
    /// Since the start; whole seconds travel.
    package var uptime = Duration.zero
    package var connections = Connections()
    /// Bytes of bodies.
    package var bytes = Bytes()
    /// By family of routes; those that were never asked stand there too.
    package var requests: [Requests] = []
    package var lookups = Lookups()
    package var readyAnswers = ReadyAnswers()
    /// Those that occurred, in a fixed order.
    package var fetches: [Fetches] = []
    package var flights = Flights()
    package var latencies = Latencies()
    package var evictions = Evictions()
    /// How many writes one transaction took.
    package var groups = Groups()
    package var modifiers = Modifiers()

    package init() {}

    package struct Connections: Equatable, Sendable {
        package var open = 0
        package var accepted: Int64 = 0
        /// Closed at once, as there were too many in all or of their user.
        package var refused: Int64 = 0

        package init(open: Int = 0, accepted: Int64 = 0, refused: Int64 = 0) {
            self.open = open
            self.accepted = accepted
            self.refused = refused
        }
    }

    package struct Bytes: Equatable, Sendable {
        package var received: Int64 = 0
        package var sent: Int64 = 0

        package init() {}
    }

    /// The answers of one family of routes, by the hundred of their status.
    package struct Requests: Equatable, Sendable {
        package var family: String
        /// 2xx, 3xx, 4xx and 5xx.
        package var byClass: [Int64]

        package static let classes = ["2xx", "3xx", "4xx", "5xx"]

        package init(family: String) {
            self.family = family
            byClass = Array(repeating: 0, count: Self.classes.count)
        }
    }

    /// Reads of an id in the cache.
    package struct Lookups: Equatable, Sendable {
        package var hits: Int64 = 0
        /// Those of the hits that were answered by bytes that were ready.
        package var ready: Int64 = 0
        package var misses: Int64 = 0

        package init() {}
    }

    /// What was asked for in plain form, and not answered by bytes that were ready.
    package struct ReadyAnswers: Equatable, Sendable {
        /// Nothing was kept for it.
        package var missing: Int64 = 0
        /// The second was over for which it was kept.
        package var expired: Int64 = 0
        /// Something that it showed was written, or may have been.
        package var stale: Int64 = 0
        /// What those that are kept take in memory now.
        package var bytes: Int64 = 0

        package init() {}
    }

    /// Fetches that ended in the same way.
    package struct Fetches: Equatable, Sendable {
        package var policy: FetchPolicy
        package var source: FetchSource
        package var outcome: FetchResolution
        package var count: Int64

        package init(
            policy: FetchPolicy,
            source: FetchSource,
            outcome: FetchResolution,
            count: Int64
        ) {
            self.policy = policy
            self.source = source
            self.outcome = outcome
            self.count = count
        }
    }

    /// Requests to origins.
    package struct Flights: Equatable, Sendable {
        package var open = 0
        package var started: Int64 = 0
        /// Fetches that came along on another's.
        package var joined: Int64 = 0

        package init() {}
    }

    package struct Latencies: Equatable, Sendable {
        /// Reads of an entry on an event loop, of which one in ``Limits/hitsPerSample`` is timed:
        /// from the request whole to the answer handed to the socket.
        package var hit = Latency()
        /// Until the first frame of a fetch, or its problem.
        package var fetch = Latency()
        /// Until a put was committed, from its last byte on.
        package var put = Latency()
        /// A request to an origin with its redirects and repetitions, until it was stored.
        package var network = Latency()

        package init() {}
    }

    package struct Latency: Equatable, Sendable {
        package var count: Int64 = 0
        /// Tens of nanoseconds travel; nil where nothing was timed.
        package var median: Duration?
        package var ninetieth: Duration?
        package var ninetyNinth: Duration?
        package var max: Duration?

        package init() {}

        /// Of a histogram of nanoseconds.
        package init(_ histogram: Histogram) {
            count = histogram.count
            median = histogram.percentile(0.5).map { .nanoseconds($0) }
            ninetieth = histogram.percentile(0.9).map { .nanoseconds($0) }
            ninetyNinth = histogram.percentile(0.99).map { .nanoseconds($0) }
            max = histogram.count > 0 ? .nanoseconds(histogram.max) : nil
        }
    }

    /// Rows that had to go, by reason.
    package struct Evictions: Equatable, Sendable {
        /// The least recently used, for room.
        package var lru: Int64 = 0
        /// Blobs past their ttl.
        package var expired: Int64 = 0
        /// Somebody asked for it.
        package var asked: Int64 = 0

        package init() {}
    }

    /// The queue of modifiers.
    package struct Modifiers: Equatable, Sendable {
        package var accepted: Int64 = 0
        package var confirmed: Int64 = 0
        package var dead: Int64 = 0
        package var cancelled: Int64 = 0
        /// Those of the dead that had changed something here.
        package var reverts: Int64 = 0
        /// Requests of which something may have left.
        package var attempts: Int64 = 0

        package init() {}
    }

    package struct Groups: Equatable, Sendable {
        package var count: Int64 = 0
        /// Nil where there was none.
        package var median: Int64?
        package var ninetieth: Int64?
        package var ninetyNinth: Int64?
        package var max: Int64?

        package init() {}

        package init(_ histogram: Histogram) {
            count = histogram.count
            median = histogram.percentile(0.5)
            ninetieth = histogram.percentile(0.9)
            ninetyNinth = histogram.percentile(0.99)
            max = histogram.count > 0 ? histogram.max : nil
        }
    }
}

/// Where the last thing came from that a fetch showed.
package enum FetchSource: String, Sendable, CaseIterable {
    case cache
    case network
    /// It showed nothing.
    case none
}

/// How a fetch ended.
package enum FetchResolution: String, Sendable, CaseIterable {
    // As its `end` frame says.
    case network
    case unchanged
    case deleted
    case cache
    case error
    case shutdown
    /// A problem was all that it answered.
    case problem
    /// The client went away before its end.
    case abandoned

    package init(_ outcome: FetchOutcome) {
        self =
            switch outcome {
            case .network: .network
            case .unchanged: .unchanged
            case .deleted: .deleted
            case .cache: .cache
            case .error: .error
            case .shutdown: .shutdown
            }
    }
}
