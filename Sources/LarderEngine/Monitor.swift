package import LarderAPI
import LarderModel
package import LarderStore
import LarderStrategy
import LarderWire
import Synchronization

package final class Monitor: EnginePart {
    let context: EngineContext
    let started: Duration
    var maxBytes: Int64 { store.limits.maxBytes.bytes }
    package let version: String
    /// Findings about the configuration, which the status shows besides those of the store.
    private let findings: Mutex<[String]>
    private let meter = Mutex(HitMeter())

    init(_ context: EngineContext, version: String, findings: [String]) {
        self.context = context
        self.version = version
        self.findings = Mutex(findings)
        started = context.clock.monotonic()
    }

    package func setFindings(_ findings: [String]) {
        self.findings.withLock { $0 = findings }
    }

    /// The status of the daemon, in numbers and words.
    ///
    /// The findings are those of `asker`. An administrator gets those of all users, and so does a
    /// call without `asker`.
    package func status(
        connections: Int,
        for asker: ClientStatus? = nil
    ) async -> StatusReport {
        updateMeter()
        store.maintenanceTrigger.want()
        let (totals, pins) = (store.totals, store.pins.totals)
        let files = store.files.sizes
        let now = clock.monotonic()
        let (hits, misses, rates) = meter.withLock { meter in
            (meter.hits, meter.misses, [1, 10, 60].map { meter.rate(overMinutes: $0, at: now) })
        }
        let (queue, queueWarnings) = await queueStatus()
        let findings = await findings(for: asker)
        let aside = store.files.asideSets.map { "\($0.sentence): \($0.removal)" }
        let origins = originStatuses(for: asker)
        let portals = origins.filter { $0.condition.state == .captive }
            .map { "a captive portal answers for the origin '\($0.name)': sign in to the network" }
        let warnings =
            warnings(totals) + aside + portals + queueWarnings + findings.map(\.detail)
        var report = StatusReport()
        report.version = version
        report.uptime = (now - started).components.seconds
        report.state = warnings.isEmpty ? .ok : .degraded
        report.cache.accountedBytes = totals.bytes
        report.cache.maxBytes = maxBytes
        report.cache.entries = Int(totals.entries)
        report.cache.databaseBytes = files.database
        report.cache.walBytes = files.wal
        report.cache.evictions = Int(totals.evictions)
        report.cache.hits = Int(hits)
        report.cache.misses = Int(misses)
        report.cache.hitRate.oneMinute = rates[0]
        report.cache.hitRate.tenMinutes = rates[1]
        report.cache.hitRate.sixtyMinutes = rates[2]
        report.pins.count = Int(pins.count)
        report.pins.accountedBytes = pins.bytes
        report.pins.maxBytes = pins.maxBytes
        report.pins.waiting = Int(pins.waiting)
        report.connections = connections
        report.flights = context.flights.count
        report.origins = origins
        report.warnings = warnings
        report.queue = queue
        report.findings = findings
        report.you = asker
        return report
    }

    func updateMeter() {
        let (hits, misses) = context.lookups
        let now = clock.monotonic()
        meter.withLock { $0.advance(hits: hits, misses: misses, at: now) }
    }

    package func checkStore() async throws(Problem) {
        try await storing(await store.check())
    }

    private func originStatuses(for asker: ClientStatus?) -> [OriginStatus] {
        (context.origins.origins + context.health.implicitOrigins).map { origin in
            OriginStatus(
                name: origin.name.text,
                baseURL: origin.baseURL.text,
                condition: context.originStates.condition(of: origin.name, toldTo: asker)
            )
        }
    }

    func warnings(_ totals: StoreTotals) -> [String] {
        var warnings = store.files.warnings + store.files.findings
        warnings += findings.withLock { $0 }
        if totals.isFull {
            warnings.append("protected entries fill the cache: nothing new is stored")
        }
        if totals.budget < maxBytes {
            warnings.append(
                "the disk is short of space: the cache keeps to \(totals.budget) bytes"
                    + (totals.diskEvictions > 0
                        ? ", \(totals.diskEvictions) entries were evicted for it since the start"
                        : "")
            )
        }
        let counts = [
            (totals.damaged, "damaged rows were met and left out"),
            (totals.keysTaken, "entries were not stored, as others have their keys"),
            (store.pins.totals.damaged, "pinned entries were damaged on the disk"),
        ]
        for (count, trouble) in counts where count > 0 { warnings.append("\(count) \(trouble)") }
        return warnings
    }

    /// The status of the queue, and one sentence for each problem that needs attention.
    ///
    /// However long the queue is, this reads one row.
    func queueStatus() async -> (QueueStatus, warnings: [String]) {
        let totals = store.modifiers.totals
        var queue = QueueStatus()
        let states = ModifierState.allCases.filter { !$0.isSettled || $0 == .failed }
        queue.states = NamedValues(
            states.map { .init($0.rawValue, totals.byState[$0] ?? 0) }
        )
        queue.failed = totals.byState[.failed] ?? 0
        queue.unsettled = totals.byState.values.reduce(0, +) - queue.failed
        queue.stalled = totals.stalled
        queue.maxModifiers = totals.maxModifiers
        queue.accountedBytes = totals.bytes
        queue.maxBytes = totals.maxBytes
        var warnings: [String] = []
        if totals.stalled > 0 {
            warnings.append("\(totals.stalled) modifiers are stalled: their origins put them off")
        }
        if totals.isNearlyFull {
            warnings.append(
                "the queue is nearly full: \(totals.count) of \(totals.maxModifiers) modifiers, "
                    + "\(totals.bytes) of \(totals.maxBytes) bytes, dead letters too"
            )
        }
        do throws(StoreError) {
            let now = clock.now()
            queue.oldestAgeMs = try await store.modifiers.oldestAcceptedAt().map {
                max(now.since($0), .zero).milliseconds
            }
        } catch {
            warnings.append("the queue was not read: \(error.message)")
        }
        return (queue, warnings)
    }

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
        static let outcomes = FetchOutcome.known.map(\.rawValue) + [problem, abandoned]
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
