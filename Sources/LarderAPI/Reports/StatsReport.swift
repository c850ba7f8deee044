package import LarderModel

/// Counts and times since the start.
public struct StatsReport: Codable, Equatable, Sendable {
    /// Whole seconds since the start.
    public var uptime: Int64 = 0
    /// Connections at the socket.
    public var connections = ConnectionStats()
    /// Bytes of bodies.
    public var bytes = ByteStats()
    /// Answers by family of routes.
    public var requests: [RequestStats] = []
    /// Reads of an id in the cache.
    public var lookups = LookupStats()
    /// Plain reads that were not answered by bytes ready in memory, and why.
    public var readyAnswers = ReadyAnswerStats()
    /// Fetches by policy, source and outcome; only those that occurred.
    public var fetches: [FetchStats] = []
    /// Requests to origins.
    public var flights = FlightStats()
    /// Times of requests.
    public var latencies = LatencyStats()
    /// Rows that were evicted, by reason.
    public var evictions = EvictionStats()
    /// Number of writes in one transaction of the cache.
    public var groups = GroupStats()
    /// Modifiers by their result.
    public var modifiers = ModifierStats()

    package init() {}
}

/// Connections at the socket.
public struct ConnectionStats: Codable, Equatable, Sendable {
    /// Number of open connections.
    public var open = 0
    /// Number of accepted connections.
    public var accepted: Int64 = 0
    /// Number of connections that were closed because there were too many.
    public var refused: Int64 = 0

    package init() {}
}

/// Bytes of bodies, without heads.
public struct ByteStats: Codable, Equatable, Sendable {
    /// Bytes that clients sent.
    public var received: Int64 = 0
    /// Bytes that the daemon sent.
    public var sent: Int64 = 0
}

/// Answers of one family of routes, by the hundred of their status.
public struct RequestStats: Codable, Equatable, Sendable {
    /// The family: `read`, `put`, `entries`; `none` has requests without a route.
    public var family: String
    /// Number of answers from 200 to 299.
    public var success: Int64
    /// Number of answers from 300 to 399.
    public var redirection: Int64
    /// Number of answers from 400 to 499.
    public var clientError: Int64
    /// Number of answers from 500 to 599.
    public var serverError: Int64

    private enum CodingKeys: String, CodingKey {
        case family
        case success = "2xx"
        case redirection = "3xx"
        case clientError = "4xx"
        case serverError = "5xx"
    }

    /// `counts` are of 2xx, 3xx, 4xx and 5xx.
    package init(family: String, counts: some Collection<Int64>) {
        let counts = Array(counts)
        self.family = family
        (success, redirection, clientError, serverError) =
            (counts[0], counts[1], counts[2], counts[3])
    }

    /// Numbers of answers with 2xx, 3xx, 4xx and 5xx.
    package var counts: [Int64] { [success, redirection, clientError, serverError] }
}

/// Reads of an id in the cache.
public struct LookupStats: Codable, Equatable, Sendable {
    /// Number of reads that found an entry.
    public var hits: Int64 = 0
    /// Number of those that were answered by bytes ready in memory.
    public var ready: Int64 = 0
    /// Number of reads that found none.
    public var misses: Int64 = 0
}

/// Plain reads that were not answered by bytes ready in memory.
public struct ReadyAnswerStats: Codable, Equatable, Sendable {
    /// Number of reads for which no bytes were kept.
    public var missing: Int64 = 0
    /// Number of reads for which the second of the bytes was over.
    public var expired: Int64 = 0
    /// Number of reads for which a row of the bytes may have changed.
    public var stale: Int64 = 0
    /// Size of the bytes that are kept.
    public var bytes: Int64 = 0

    package init() {}
}

/// Fetches of one policy with one source and outcome.
public struct FetchStats: Codable, Equatable, Sendable {
    /// The policy.
    public var policy: FetchPolicy
    /// Source of the last frame: `cache`, `network`; `none` without a frame.
    public var source: String
    /// The outcome, as the frame `end` says it; `problem` without frames, `abandoned` by the
    /// client.
    public var outcome: String
    /// Number of fetches.
    public var count: Int64

    package init(policy: FetchPolicy, source: String, outcome: String, count: Int64) {
        self.policy = policy
        self.source = source
        self.outcome = outcome
        self.count = count
    }
}

/// Requests to origins.
public struct FlightStats: Codable, Equatable, Sendable {
    /// Number of requests that are under way.
    public var open = 0
    /// Number of requests that were started.
    public var started: Int64 = 0
    /// Number of fetches that joined the request of another.
    public var joined: Int64 = 0
}

/// Times of requests.
public struct LatencyStats: Codable, Equatable, Sendable {
    /// From the whole request for an entry to its answer; one read in 16 is timed.
    public var hit = Latency()
    /// From a fetch to its first frame or its problem.
    public var fetch = Latency()
    /// From the last byte of a put to its answer.
    public var put = Latency()
    /// From a request to an origin to the head of its answer.
    public var network = Latency()
}

/// Percentiles in milliseconds, at most a sixteenth above the true ones; null if nothing was
/// timed.
public struct Latency: Codable, Equatable, Sendable {
    /// Number of requests that were timed.
    public var count: Int64 = 0
    /// Half of them took no longer.
    public var p50Ms: Double?
    /// Nine of ten took no longer.
    public var p90Ms: Double?
    /// 99 of 100 took no longer.
    public var p99Ms: Double?
    /// None took longer.
    public var maxMs: Double?

    package init() {}

    /// The percentiles of a histogram of nanoseconds.
    package init(_ times: Histogram) {
        count = times.count
        p50Ms = times.percentile(0.5).map(Self.milliseconds)
        p90Ms = times.percentile(0.9).map(Self.milliseconds)
        p99Ms = times.percentile(0.99).map(Self.milliseconds)
        maxMs = times.count > 0 ? Self.milliseconds(times.max) : nil
    }

    /// At most five decimals.
    private static func milliseconds(_ nanoseconds: Int64) -> Double {
        let tens = min(max(Double(nanoseconds) / 10, 0), 1e15)
        return Double(Int64(tens + 0.5)) / 100_000
    }
}

/// Rows that were evicted.
public struct EvictionStats: Codable, Equatable, Sendable {
    /// Number of rows that were evicted for room, the least recently used ones.
    public var lru: Int64 = 0
    /// Number of clients' entries past their lifetime.
    public var expired: Int64 = 0
    /// Number of rows that a client evicted.
    public var asked: Int64 = 0
}

/// Number of writes in one transaction; null if there was none.
public struct GroupStats: Codable, Equatable, Sendable {
    /// Number of transactions.
    public var count: Int64 = 0
    /// Half of them had no more writes.
    public var p50: Int64?
    /// Nine of ten had no more writes.
    public var p90: Int64?
    /// 99 of 100 had no more writes.
    public var p99: Int64?
    /// None had more writes.
    public var max: Int64?

    package init() {}

    package init(_ sizes: Histogram) {
        count = sizes.count
        p50 = sizes.percentile(0.5)
        p90 = sizes.percentile(0.9)
        p99 = sizes.percentile(0.99)
        max = sizes.count > 0 ? sizes.max : nil
    }
}

/// Modifiers by their result.
public struct ModifierStats: Codable, Equatable, Sendable {
    /// Number of modifiers that were accepted.
    public var accepted: Int64 = 0
    /// Number of modifiers that the origin confirmed.
    public var confirmed: Int64 = 0
    /// Number of modifiers that failed.
    public var failed: Int64 = 0
    /// Number of modifiers that were cancelled.
    public var cancelled: Int64 = 0
    /// Number of failed modifiers that had changed something here.
    public var reverts: Int64 = 0
    /// Number of requests that may have left.
    public var attempts: Int64 = 0

    package init() {}
}
