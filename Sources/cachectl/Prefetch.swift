import ArgumentParser
import LarderClient
import LarderModel

struct Prefetch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fetch a set of entries in advance and keep it, or list the sets.",
        discussion: """
            The daemon looks up the sizes first and refuses a set that is larger than what is free \
            for pins. It then fetches what is missing, pins every entry, and goes on after this \
            command has ended. A set of that name is replaced: what is only in the old one stays \
            until the new one is fetched. - stands for URLs from stdin, one a line.

            The command shows the progress and waits as long as --wait says. Exit code 75 if entries \
            are missing by then; they are listed with their problems, and the daemon tries again \
            what may succeed later. 77 for an unknown origin, 1 if there is no room.

            Without URLs it shows the set; without a name it lists all. The columns are state \
            (filling, ready or incomplete), held entries, entries, bytes, end and name, with tabs \
            between them in a pipe.

            Example: cachectl prefetch tonight --expires 12h https://api.example.com/articles/42
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Name of the set.", completion: DaemonWords.sets)
    var name: String?

    @Argument(help: "URLs of configured origins; - reads them from stdin.")
    var urls: [String] = []

    @Option(
        help: ArgumentHelp(
            "Entities that are cached, the most recently used first; 100 without a number.",
            valueName: "origin/type[=number]"
        ),
        transform: entitiesArgument
    )
    var entities: [PrefetchEntities] = []

    @Option(
        help: ArgumentHelp(
            "Interval at which the daemon asks the origins again and evaluates --entities again.",
            valueName: "duration"
        ),
        transform: durationArgument
    )
    var refresh: Duration?

    @Option(
        help: ArgumentHelp(
            "Time after which the set ends and its entries become ordinary ones, such as 7d.",
            valueName: "duration"
        ),
        transform: durationArgument
    )
    var expires: Duration?

    @Option(
        help: ArgumentHelp(
            "Wait at most this long until everything is held; without it, 1h, which is the "
                + "maximum.",
            valueName: "duration"
        ),
        transform: durationArgument
    )
    var wait = Limits.fetchTimeMax

    @Flag(help: "Look up the sizes only.")
    var dryRun = false

    @Flag(help: "Remove the set; its entries become ordinary ones.")
    var remove = false

    private var isNew: Bool { !urls.isEmpty || !entities.isEmpty }

    func validate() throws {
        guard isNew || refresh == nil && expires == nil && !dryRun else {
            throw ValidationError("Give the URLs of the set, too.")
        }
        guard !remove || name != nil && !isNew else {
            throw ValidationError("--remove takes the name of a set and nothing else.")
        }
        guard wait <= Limits.fetchTimeMax else {
            throw ValidationError("--wait is at most \(Limits.fetchTimeMax.unitText).")
        }
    }

    func run() async throws {
        guard let name else { return try await list() }
        guard !remove else {
            try await options.withClient { try await $0.removePrefetch(name) }
            return try options.report("removed", name)
        }
        guard isNew else {
            _ = try await options.show({ try await $0.prefetched(name) }, lines: lines)
            return
        }
        let items =
            try await StandardInput.lines(urls).map { PrefetchItem(url: $0) }
            + entities.map { PrefetchItem(entities: $0) }
        var command = PrefetchCommand(items: items)
        (command.refresh, command.expires) = (refresh, expires)
        let ready = command
        let report = try await options.show(
            { try await put(name, ready, of: $0) },
            lines: lines
        )
        guard !dryRun, report.state != .ready else { return }
        throw CommandFailure(
            .nothingToShow,
            "\(report.items - report.held) of \(report.items) entries of '\(name)' are missing",
            hint: "See which: cachectl prefetch \(name)"
        )
    }

    private func put(
        _ name: String,
        _ command: PrefetchCommand,
        of client: LarderClient
    ) async throws -> PrefetchReport {
        let console = Console()
        var report = try await console.waiting(for: "looking up the sizes") {
            try await client.prefetch(name, command, dryRun: dryRun)
        }
        let clock = ContinuousClock()
        let end = clock.now + wait
        let isDrawn = console.isTerminalErr && !console.isQuiet
        defer { if isDrawn { console.draw("") } }
        while report.state == .filling, clock.now < end {
            if isDrawn {
                let size = HumanFormat.size(report.bytes)
                console.draw("\(report.held) of \(report.items) entries are held, \(size)")
            }
            try await clock.sleep(for: min(Self.progressTime, end - clock.now))
            report = try await client.prefetched(name)
        }
        return report
    }

    private static let progressTime = Duration.milliseconds(500)

    private func list() async throws {
        let sets = try await options.show({ try await $0.prefetches() }, lines: table)
        if sets.isEmpty, !options.json { Console().remark("there are no sets") }
    }

    private func table(
        _ reports: [PrefetchReport],
        _ console: Console
    ) throws -> [TerminalText] {
        guard console.isTerminalOut else {
            for report in reports { try console.columns(fields(report)) }
            return []
        }
        try console.table(
            reports,
            [
                Column("STATE") { $0.state.rawValue },
                Column("HELD", alignsRight: true) { "\($0.held) of \($0.items)" },
                Column("SIZE", alignsRight: true) { HumanFormat.size($0.bytes) },
                Column("END") { $0.expiresAt?.text ?? "-" },
                Column("NAME") { $0.name },
            ]
        )
        return []
    }

    private func fields(_ report: PrefetchReport) -> [String] {
        [
            report.state.rawValue, String(report.held), String(report.items),
            String(report.bytes), report.expiresAt?.text ?? "-", report.name,
        ]
    }

    private func lines(_ report: PrefetchReport, _ console: Console) throws -> [TerminalText] {
        guard console.isTerminalOut else {
            try console.columns(fields(report))
            for failure in report.failed ?? [] {
                try console.columns(["missing", failure.id, failure.problem.detail])
            }
            return []
        }
        let size = HumanFormat.size(report.state == .planned ? report.estimatedBytes : report.bytes)
        let unknown = report.unknownSizes > 0 ? ", \(report.unknownSizes) of unknown size" : ""
        let end = report.expiresAt.map { ", until \($0.text)" } ?? ""
        var texts = [
            "\(report.name) is \(report.state): \(report.held) of \(report.items) entries are held, "
                + "\(size)\(unknown)\(end)"
        ]
        for failure in report.failed ?? [] {
            texts.append("missing: \(failure.id): \(failure.problem.detail)")
        }
        return texts.map { TerminalText($0) }
    }

    private static func entitiesArgument(_ text: String) throws -> PrefetchEntities {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let names = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard names.count == 2, names.allSatisfy({ !$0.isEmpty }) else {
            throw ValidationError("'\(text)' is no query such as books/Book or books/Book=50.")
        }
        var query = PrefetchEntities(origin: String(names[0]), type: String(names[1]))
        guard parts.count == 2 else { return query }
        guard let limit = Int(parts[1]) else {
            throw ValidationError("'\(parts[1])' is no number of entities.")
        }
        query.limit = limit
        return query
    }
}
