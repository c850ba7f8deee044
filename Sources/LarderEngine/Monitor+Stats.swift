package import LarderAPI
import LarderModel
package import LarderStore
import LarderWire
import Synchronization

extension Monitor {
    /// Counts and times since the start, except those of the socket.
    package func stats() -> StatsReport {
        let counts = context.meter.counts
        let lookups = context.lookups
        let totals = store.totals
        var report = StatsReport()
        report.uptime = (clock.monotonic() - started).components.seconds
        report.lookups.hits = lookups.hits
        report.lookups.misses = lookups.misses
        report.fetches = Self.fetches(counts.endings)
        report.flights.open = context.flights.count
        report.flights.started = counts.flightsStarted
        report.flights.joined = counts.flightsJoined
        report.latencies.fetch = Latency(counts.fetch)
        report.latencies.network = Latency(counts.network)
        report.evictions.lru = totals.evictions - totals.expired - totals.evictedByRequest
        report.evictions.expired = totals.expired
        report.evictions.asked = totals.evictedByRequest
        report.groups = GroupStats(store.groupSizes)
        report.modifiers = counts.modifiers
        return report
    }

    private static func fetches(
        _ endings: [EngineMeter.Ending: Int64]
    ) -> [FetchStats] {
        FetchPolicy.allCases.flatMap { policy in
            EngineMeter.Ending.sources.flatMap { source in
                EngineMeter.Ending.outcomes.compactMap { outcome in
                    let way = EngineMeter.Ending(policy: policy, source: source, outcome: outcome)
                    return endings[way].map { count in
                        let policy = LarderAPI.FetchPolicy(rawValue: policy.rawValue)
                        return FetchStats(
                            policy: policy,
                            source: source,
                            outcome: outcome,
                            count: count
                        )
                    }
                }
            }
        }
    }

    /// The bytes of some scopes, and the state of the files and the disk.
    package func usage(_ scopes: RowScopes) async throws(Problem) -> UsageReport {
        let usage = try await context.read { reader throws(StoreError) in
            try reader.usage.of(scopes)
        }
        let (totals, pins) = (store.totals, store.pins.totals)
        var report = UsageReport()
        report.rows = UsageSum(usage.total)
        report.byKind = usage.byKind.map { group in
            let kind = group.name.flatMap(Int64.init).flatMap(EntryKind.init(rawValue:))
            let name = kind.map { LarderAPI.EntryKind($0).rawValue }
            return UsageOfKind(kind: name, rows: UsageSum(group.rows))
        }
        report.byOrigin = usage.byOrigin.map { group in
            UsageOfOrigin(origin: group.name, rows: UsageSum(group.rows))
        }
        report.byUser = usage.byScope.compactMap { group in
            guard let scope = group.name.flatMap(Scope.init(text:)) else { return nil }
            return UsageOfUser(
                user: scope.uid,
                account: scope.uid == nil ? nil : scope.account.text,
                rows: UsageSum(group.rows)
            )
        }
        report.cache.accountedBytes = totals.bytes
        report.cache.maxBytes = maxBytes
        report.cache.budgetBytes = totals.budget
        report.normalized.entities = UsageCount(usage.normalized.entities)
        report.normalized.skeletons = UsageCount(usage.normalized.skeletons)
        report.normalized.references = UsageCount(usage.normalized.references)
        report.pins.count = usage.pins.count
        report.pins.waiting = usage.pins.waiting
        report.pins.accountedBytes = usage.pins.bytes
        report.pins.totalAccountedBytes = pins.bytes
        report.pins.maxBytes = pins.maxBytes
        report.files = store.files.lengths.map {
            FileUsage(name: $0.name, bytes: $0.bytes, walBytes: $0.walBytes)
        }
        report.files[0].freeBytes = usage.freeBytes
        report.disk.freeBytes = store.files.diskFreeBytes
        report.disk.minFreeBytes = store.files.minFreeBytes
        return report
    }
}

extension UsageSum {
    fileprivate init(_ rows: UsageRows) {
        self.init(entries: rows.entries, accountedBytes: rows.bytes, bodyBytes: rows.bodyBytes)
    }
}

extension UsageCount {
    fileprivate init(_ part: NormalizedUsage.Count) {
        self.init(count: part.count, accountedBytes: part.bytes)
    }
}

/// Counts the outcomes of fetches and flights, and their durations.
final class EngineMeter: Sendable {
    /// Ways in which a fetch can end; clients cannot make them more.
    struct Ending: Hashable {
        let policy: FetchPolicy
        let source: String
        let outcome: String

        static let sources = ["cache", "network", none]
        /// Outcomes of the frame `end`, and two of fetches without that frame.
        static let outcomes = [
            "network", "unchanged", "deleted", "cache", "error", "shutdown", problem, abandoned,
        ]
        static let none = "none"
        static let problem = "problem"
        static let abandoned = "abandoned"
    }

    struct Counts: Sendable {
        var endings: [Ending: Int64] = [:]
        var fetch = Histogram()
        var network = Histogram()
        var flightsStarted: Int64 = 0
        var flightsJoined: Int64 = 0
        var modifiers = ModifierStats()
    }

    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    func count(_ event: (inout Counts) -> Void) { state.withLock { event(&$0) } }
}

struct FetchCounters {
    let started: Duration
    private(set) var firstAnswer: Duration?
    private(set) var source = EngineMeter.Ending.none
    private(set) var outcome: String?

    mutating func saw(_ frame: FetchFrame, at now: Duration) {
        if firstAnswer == nil { firstAnswer = now - started }
        switch frame {
        case .snapshot(let frame): source = frame.source == .network ? "network" : "cache"
        case .end(let frame): outcome = frame.outcome.rawValue
        case .unchanged, .deleted, .problem, .origin, .heartbeat, .other: break
        }
    }

    /// Counts it; `refusal` is what the client gets instead of any frame.
    func end(_ policy: FetchPolicy, refusal: Problem?, at now: Duration, in meter: EngineMeter) {
        let ending = EngineMeter.Ending(
            policy: policy,
            source: source,
            outcome: refusal != nil
                ? EngineMeter.Ending.problem : outcome ?? EngineMeter.Ending.abandoned
        )
        let answered = firstAnswer ?? (refusal != nil ? now - started : nil)
        meter.count { counts in
            counts.endings[ending, default: 0] += 1
            if let answered { counts.fetch.record(answered) }
        }
    }
}
