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
                "transactions: \(groups.count), writes in one: median \(median), at most \(max)"
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

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say on one screen how the daemon is.",
        discussion: """
            Exit codes: 0 healthy, 1 degraded, 69 no daemon answers, 77 its socket may not be \
            opened.

            Example: cachectl status || systemctl status larder
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    func run() async throws {
        let status = try await options.show({ try await $0.status() }, lines: lines)
        guard status.state == .ok else { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func lines(_ report: StatusReport, _ console: Console) -> [TerminalText] {
        let cache = report.cache
        let health =
            report.state == .ok
            ? console.coloured("healthy", .good) : console.coloured("degraded", .bad)
        var table = Table(alignsRight: [false, false])
        table.add(
            "larderd",
            shown: "\(report.version), up \(HumanFormat.span(.seconds(report.uptime))), \(health)"
        )
        table.add(
            "cache",
            "\(HumanFormat.part(cache.accountedBytes, of: cache.maxBytes)), "
                + "\(HumanFormat.entries(cache.entries)), \(cache.evictions) evicted"
        )
        if report.pins.count > 0 { table.add("pins", describe(report.pins)) }
        if report.queue.unsettled + report.queue.failed > 0 {
            table.add("queue", describe(report.queue))
        }
        table.add(
            "on disk",
            "\(HumanFormat.size(cache.databaseBytes)), and \(HumanFormat.size(cache.walBytes)) of log"
        )
        table.add("lookups", lookups(cache))
        table.add("now", "connections: \(report.connections), fetches: \(report.flights)")
        for origin in report.origins { table.add("origin", shown: describe(origin, console)) }
        for warning in report.warnings {
            table.add("warning", shown: console.coloured(TerminalText(warning), .warning))
            let fix = report.findings.first { $0.detail == warning }?.fix
            if let fix { table.add("", fix) }
        }
        return table.lines
    }

    private func describe(_ pins: PinStatus) -> String {
        let waiting = pins.waiting > 0 ? ", \(pins.waiting) waiting for their origins" : ""
        return
            "\(pins.count), \(HumanFormat.size(pins.accountedBytes)) of \(HumanFormat.size(pins.maxBytes))\(waiting)"
    }

    private func describe(_ queue: QueueStatus) -> String {
        let states = queue.states.members.filter { $0.value > 0 }.map { "\($0.name): \($0.value)" }
        var words = states.joined(separator: ", ")
        if queue.stalled > 0 { words += ", of them stalled: \(queue.stalled)" }
        if let age = queue.oldestAgeMs {
            words += ", the oldest for \(HumanFormat.span(.milliseconds(age)))"
        }
        return
            "\(words), \(HumanFormat.size(queue.accountedBytes)) of \(HumanFormat.size(queue.maxBytes))"
    }

    private func lookups(_ cache: CacheStatus) -> String {
        let rates = [
            (cache.hitRate.oneMinute, "1 min"), (cache.hitRate.tenMinutes, "10 min"),
            (cache.hitRate.sixtyMinutes, "60 min"),
        ]
        let known = rates.compactMap { rate, span in
            rate.map { "\(HumanFormat.percent($0)) in \(span)" }
        }
        return (["hits: \(cache.hits), misses: \(cache.misses)"] + known).joined(separator: ", ")
    }

    private func describe(_ origin: OriginStatus, _ console: Console) -> TerminalText {
        let condition = origin.condition
        let colour: Console.Colour =
            switch condition.state {
            case .online: .good
            case .unknown: .quiet
            case _: .warning
            }
        let state = console.coloured(TerminalText(condition.state.rawValue), colour)
        let since = condition.since.map { " since \($0.text)" } ?? ""
        let manually = condition.offline ? " by hand" : ""
        let account = condition.retryAfterFor.map { " for \($0)" } ?? ""
        let rest = condition.retryAfterUntil.map {
            ", no background requests\(account) until \($0.text)"
        }
        return "\(origin.name) (\(origin.baseURL)): \(state)\(manually)\(since)\(rest ?? "")"
    }
}
