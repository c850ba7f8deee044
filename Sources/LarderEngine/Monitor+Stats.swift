import LarderModel
package import LarderStore
package import LarderWire
import Synchronization

extension Monitor {
    /// What was counted and timed since the start, but for what happens at the socket.
    package func stats() -> StatsReport {
        let counts = context.meter.counts
        let lookups = context.lookups
        let totals = store.totals
        var report = StatsReport()
        report.uptime = clock.monotonic() - started
        report.lookups.hits = lookups.hits
        report.lookups.misses = lookups.misses
        report.fetches = Self.fetches(counts.endings)
        report.flights.open = context.flights.count
        report.flights.started = counts.flightsStarted
        report.flights.joined = counts.flightsJoined
        report.latencies.fetch = StatsReport.Latency(counts.fetch)
        report.latencies.network = StatsReport.Latency(counts.network)
        report.evictions.lru = totals.evictions - totals.expired - totals.evictedByRequest
        report.evictions.expired = totals.expired
        report.evictions.asked = totals.evictedByRequest
        report.groups = StatsReport.Groups(store.groupSizes)
        report.modifiers = counts.modifiers
        return report
    }

    private static func fetches(_ endings: [EngineMeter.Ending: Int64]) -> [StatsReport.Fetches] {
        FetchPolicy.allCases.flatMap { policy in
            FetchSource.allCases.flatMap { source in
                FetchResolution.allCases.compactMap { outcome in
                    let way = EngineMeter.Ending(policy: policy, source: source, outcome: outcome)
                    return endings[way].map { count in
                        .init(policy: policy, source: source, outcome: outcome, count: count)
                    }
                }
            }
        }
    }

    /// Where the bytes of some scopes are, and how the files and the disk are.
    package func usage(_ scopes: RowScopes) async throws(Problem) -> UsageReport {
        let usage = try await context.read { reader throws(StoreError) in
            try reader.usage.of(scopes)
        }
        let (totals, pins) = (store.totals, store.pins.totals)
        var report = UsageReport(
            rows: usage.total,
            byKind: usage.byKind.map { group in
                let kind = group.name.flatMap(Int64.init).flatMap(EntryKind.init(rawValue:))
                return UsageGroup(name: kind?.name, rows: group.rows)
            },
            byOrigin: usage.byOrigin,
            byUser: usage.byScope.compactMap { group in
                guard let scope = group.name.flatMap(Scope.init(text:)) else { return nil }
                return UsageReport.Owned(scope: scope, rows: group.rows)
            },
            cacheBytes: totals.bytes,
            cacheBytesMax: maxBytes,
            budgetBytes: totals.budget,
            pins: UsageReport.Pins(
                count: usage.pins.count,
                waiting: usage.pins.waiting,
                bytes: usage.pins.bytes,
                totalBytes: pins.bytes,
                maxBytes: pins.maxBytes
            ),
            files: store.files.lengths.enumerated().map { index, file in
                UsageReport.File(
                    name: file.name,
                    bytes: file.bytes,
                    walBytes: file.walBytes,
                    freeBytes: index == 0 ? usage.freeBytes : nil
                )
            },
            diskFreeBytes: store.files.diskFreeBytes,
            minFreeBytes: store.files.minFreeBytes
        )
        report.normalized = usage.normalized
        return report
    }
}

/// Counts what fetches and flights came to, and how long they took.
final class EngineMeter: Sendable {
    /// Ways in which a fetch can end: there are few, whatever clients do.
    struct Ending: Hashable {
        let policy: FetchPolicy
        let source: FetchSource
        let outcome: FetchResolution
    }

    struct Counts: Sendable {
        var endings: [Ending: Int64] = [:]
        var fetch = Histogram()
        var network = Histogram()
        var flightsStarted: Int64 = 0
        var flightsJoined: Int64 = 0
        var modifiers = StatsReport.Modifiers()
    }

    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    func count(_ event: (inout Counts) -> Void) { state.withLock { event(&$0) } }
}

struct FetchTally {
    private let started: Duration
    private var firstAnswer: Duration?
    private var source = FetchSource.none
    private var outcome: FetchResolution?

    init(started: Duration) {
        self.started = started
    }

    mutating func saw(_ frame: FetchFrame, at now: Duration) {
        if firstAnswer == nil { firstAnswer = now - started }
        switch frame {
        case .snapshot(let frame): source = frame.source == .network ? .network : .cache
        case .end(let frame): outcome = FetchResolution(frame.outcome)
        case .unchanged, .deleted, .error, .origin, .heartbeat: break
        }
    }

    /// Counts it; `refusal` is what the client gets instead of any frame.
    func end(_ policy: FetchPolicy, refusal: Problem?, at now: Duration, in meter: EngineMeter) {
        let ending = EngineMeter.Ending(
            policy: policy,
            source: source,
            outcome: refusal != nil ? .problem : outcome ?? .abandoned
        )
        let answered = firstAnswer ?? (refusal != nil ? now - started : nil)
        meter.count { counts in
            counts.endings[ending, default: 0] += 1
            if let answered { counts.fetch.record(answered) }
        }
    }
}
