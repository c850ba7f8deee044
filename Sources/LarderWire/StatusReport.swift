package import LarderModel

/// What `GET /v1/status` answers: one screen on the daemon's health.
package struct StatusReport: Equatable, Sendable {
    package var version: String
    /// Since its start; whole seconds travel.
    package var uptime: Duration
    package var state: State
    package var cache: Cache
    package var pins: Pins
    package var queue = Queue()
    /// Open connections at the socket.
    package var connections: Int
    /// Fetches under way.
    package var flights: Int
    package var origins: [Origin]
    /// One sentence each on what somebody should look at.
    package var warnings: [String]
    /// Those of ``warnings`` that a person can do something about, with the command.
    package var findings: [CheckReport.Finding] = []
    /// What it was started with; nil where nobody says.
    package var configuration: Configuration?
    /// Who asked; nil where nobody asked over the socket.
    package var you: You?

    package enum State: String, Sendable {
        case ok
        case degraded
    }

    package struct Cache: Equatable, Sendable {
        /// The accounted size, and its limit.
        package var bytes: Int64
        package var maxBytes: Int64
        package var entries: Int
        /// The sizes of the files.
        package var databaseBytes: Int64
        package var walBytes: Int64
        /// Since the start.
        package var evictions: Int
        package var hits: Int
        package var misses: Int
        package var hitRate: HitRate

        package init(
            bytes: Int64,
            maxBytes: Int64,
            entries: Int,
            databaseBytes: Int64,
            walBytes: Int64,
            evictions: Int,
            hits: Int,
            misses: Int,
            hitRate: HitRate
        ) {
            self.bytes = bytes
            self.maxBytes = maxBytes
            self.entries = entries
            self.databaseBytes = databaseBytes
            self.walBytes = walBytes
            self.evictions = evictions
            self.hits = hits
            self.misses = misses
            self.hitRate = hitRate
        }
    }

    /// What is kept for good.
    package struct Pins: Equatable, Sendable {
        package var count: Int
        /// The accounted size, and its limit.
        package var bytes: Int64
        package var maxBytes: Int64
        /// Pins that are fetched as soon as their origins answer.
        package var waiting: Int

        package init(count: Int, bytes: Int64, maxBytes: Int64, waiting: Int) {
            self.count = count
            self.bytes = bytes
            self.maxBytes = maxBytes
            self.waiting = waiting
        }
    }

    /// Modifiers, of all users.
    package struct Queue: Equatable, Sendable {
        /// Those that are not settled, and dead letters; what is left out is none.
        package var byState: [ModifierState: Int64] = [:]
        /// Unsettled ones that their origin did not apply again and again.
        package var stalled: Int64 = 0
        /// How long the first of the unsettled ones has waited; nil without any.
        package var oldestAge: Duration?
        package var maxModifiers: Int64 = 0
        /// The accounted size, and its limit.
        package var bytes: Int64 = 0
        package var maxBytes: Int64 = 0

        package init() {}

        /// The states that are told, none of them left out.
        package static let states = ModifierState.allCases.filter { !$0.isSettled || $0 == .dead }

        package var dead: Int64 { byState[.dead] ?? 0 }
        package var unsettled: Int64 { byState.values.reduce(0, +) - dead }
    }

    /// Hits of all lookups over the last minutes, 0 to 1; nil where there were none.
    package struct HitRate: Equatable, Sendable {
        package var oneMinute: Double?
        package var tenMinutes: Double?
        package var sixtyMinutes: Double?

        package init(oneMinute: Double?, tenMinutes: Double?, sixtyMinutes: Double?) {
            self.oneMinute = oneMinute
            self.tenMinutes = tenMinutes
            self.sixtyMinutes = sixtyMinutes
        }
    }

    package struct Origin: OriginConditionTelling, Equatable, Sendable {
        package var name: OriginName
        package var baseURL: WebURL
        package var condition: OriginCondition

        package init(name: OriginName, baseURL: WebURL, condition: OriginCondition) {
            self.name = name
            self.baseURL = baseURL
            self.condition = condition
        }
    }

    package init(
        version: String,
        uptime: Duration,
        state: State,
        cache: Cache,
        pins: Pins,
        connections: Int,
        flights: Int,
        origins: [Origin],
        warnings: [String]
    ) {
        self.version = version
        self.uptime = uptime
        self.state = state
        self.cache = cache
        self.pins = pins
        self.connections = connections
        self.flights = flights
        self.origins = origins
        self.warnings = warnings
    }
}
