import LarderModel
import LarderStore
package import LarderWire

extension Monitor {
    /// What was counted and timed since the start, but for what happens at the socket.
    package func stats() -> StatsReport {
        let counts = context.meter.counts
        let reads = context.reads
        let totals = store.totals
        var report = StatsReport()
        report.uptime = clock.monotonic() - started
        report.lookups.hits = reads.hits
        report.lookups.misses = reads.misses
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
        var fetches: [StatsReport.Fetches] = []
        for policy in FetchPolicy.allCases {
            for source in FetchSource.allCases {
                for outcome in FetchResolution.allCases {
                    let ending = EngineMeter.Ending(
                        policy: policy,
                        source: source,
                        outcome: outcome
                    )
                    guard let count = endings[ending] else { continue }
                    fetches.append(
                        StatsReport.Fetches(
                            policy: policy,
                            source: source,
                            outcome: outcome,
                            count: count
                        )
                    )
                }
            }
        }
        return fetches
    }
}
