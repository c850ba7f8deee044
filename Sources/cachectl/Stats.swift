import ArgumentParser
import LarderClient
import LarderModel

struct Stats: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say what the daemon has counted, and how long it took, since its start.",
        discussion: """
            Times are what half of the requests did not exceed, 90 and 99 in a hundred, and the \
            longest.

            Example: cachectl stats --json | jq .latencies.hit
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    func run() async throws {
        try await options.show {
            try await $0.stats()
        } lines: { report, _ in
            let parts = [counts(report), requests(report), fetches(report), latencies(report)]
            return Array(parts.filter { !$0.isEmpty }.joined(separator: [""]))
        }
    }

    private func counts(_ report: StatsReport) -> [TerminalText] {
        let (connections, flights) = (report.connections, report.flights)
        let (evictions, groups) = (report.evictions, report.groups)
        var table = Table(alignsRight: [false, false])
        table.add("since", "\(HumanFormat.span(.seconds(report.uptime))) ago")
        table.add(
            "connections",
            "open: \(connections.open), accepted: \(connections.accepted), "
                + "refused: \(connections.refused)"
        )
        table.add(
            "bodies",
            "\(HumanFormat.size(report.bytes.received)) received, \(HumanFormat.size(report.bytes.sent)) sent"
        )
        let lookups = report.lookups
        table.add(
            "lookups",
            "hits: \(lookups.hits), of them ready: \(lookups.ready), misses: \(lookups.misses)"
        )
        let ready = report.readyAnswers
        table.add(
            "ready answers",
            "\(HumanFormat.size(ready.bytes)), not there: \(ready.missing), expired: \(ready.expired), "
                + "stale: \(ready.stale)"
        )
        table.add(
            "origins",
            "requests: \(flights.started), shared by others: \(flights.joined), "
                + "under way: \(flights.open)"
        )
        table.add(
            "evicted",
            "for room: \(evictions.lru), past their ttl: \(evictions.expired), "
                + "by request: \(evictions.asked)"
        )
        let modifiers = report.modifiers
        table.add(
            "modifiers",
            "accepted: \(modifiers.accepted), sent: \(modifiers.attempts), "
                + "confirmed: \(modifiers.confirmed), failed: \(modifiers.failed), "
                + "cancelled: \(modifiers.cancelled), reverted: \(modifiers.reverts)"
        )
        if let median = groups.p50, let max = groups.max {
            table.add(
                "writes",
                "transactions: \(groups.count), with \(median) writes as a rule, \(max) at most"
            )
        }
        return table.lines
    }

    private func requests(_ report: StatsReport) -> [TerminalText] {
        var table = Table(alignsRight: [false, true, true, true, true])
        table.add("requests", "2xx", "3xx", "4xx", "5xx")
        let asked = report.requests.filter { $0.counts.contains { $0 > 0 } }
        for requests in asked {
            table.add([requests.family] + requests.counts.map { String($0) })
        }
        return asked.isEmpty ? [] : table.lines
    }

    private func fetches(_ report: StatsReport) -> [TerminalText] {
        guard !report.fetches.isEmpty else { return [] }
        var table = Table(alignsRight: [false, false, false, true])
        table.add("fetches", "shown from", "outcome", "count")
        for fetches in report.fetches {
            let fields = [fetches.policy.rawValue, fetches.source, fetches.outcome]
            table.add(fields + [String(fetches.count)])
        }
        return table.lines
    }

    private func latencies(_ report: StatsReport) -> [TerminalText] {
        let latencies = report.latencies
        let rows = [
            ("hit", latencies.hit), ("fetch", latencies.fetch), ("put", latencies.put),
            ("network", latencies.network),
        ].filter { $0.1.count > 0 }
        guard !rows.isEmpty else { return [] }
        var table = Table(alignsRight: [false, true, true, true, true, true])
        table.add("time", "half", "90 %", "99 %", "longest", "timed")
        for (name, latency) in rows {
            let times = [latency.p50Ms, latency.p90Ms, latency.p99Ms, latency.maxMs]
            table.add([name] + times.map(HumanFormat.time) + [String(latency.count)])
        }
        return table.lines
    }
}
