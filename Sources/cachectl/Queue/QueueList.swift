import ArgumentParser
import LarderClient
import LarderModel
import LarderWire

/// `cachectl queue list`.
struct QueueList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the writes that are to be sent, and those that failed for good.",
        discussion: """
            They come in the order in which they were accepted, and with --settled the latest \
            first.

            In a pipe the columns are id, state, reason, time of accepting, attempts, method, URL, \
            what it waits for, until when, and the status that its server last answered, with - for \
            nothing and tabs between them; with --uid or --all-users whose it is comes last, as \
            1000/work.

            With --json each line is an object as GET /v1/modifiers/ID answers: whose (uid, account), \
            what (request, targets), when (accepted_at, settled_at) and the outcome (state, reason, \
            answer.status). The history keeps as many as queue.history says.

            Example: cachectl queue list --settled --limit 20
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup(title: "Others' writes")
    var whose: ScopeOptions

    @Flag(help: "Those that were confirmed, failed for good or were cancelled.")
    var settled = false

    @Option(
        help: ArgumentHelp("Only those in a state: queued, dead, conflict, …", valueName: "state"),
        transform: stateArgument
    )
    var state: ModifierState?

    @Option(
        help: ArgumentHelp(
            "Only those of a lane: name:NAME, or id:ID, key:ORIGIN/KEY or key:KEY of what they "
                + "change; name: and id: may be left out.",
            valueName: "lane"
        ),
        transform: LaneArgument.init
    )
    var lane: LaneArgument?

    @Option(help: ArgumentHelp("Only those that change the entity of this key.", valueName: "key"))
    var key: String?

    @Option(
        help: ArgumentHelp(
            "Whose the key is; needed where several origins have rules.",
            valueName: "name"
        )
    )
    var origin: String?

    @Option(help: ArgumentHelp("How many at most; all without it.", valueName: "n"))
    var limit: Int?

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit is a number from 1 on.") }
        guard lane == nil || key == nil else {
            throw ValidationError("Give one of --lane and --key.")
        }
        guard origin == nil || key != nil else {
            throw ValidationError("--origin says whose the --key is; without one it says nothing.")
        }
        _ = try whose.scope(options)
    }

    func run() async throws {
        let console = Console()
        let count = try await options.withClient { client in
            try await list(client, to: console)
        }
        guard count == 0, !options.json else { return }
        let which = state.map { " in the state \($0.rawValue)" } ?? ""
        console.remark((settled ? "nothing was settled" : "nothing is to be sent") + which)
    }

    /// Prints while rows come; on a terminal, columns are aligned within each block of a page.
    private func list(_ client: LarderClient, to console: Console) async throws -> Int {
        let most = limit ?? .max
        var count = 0
        var block: [ModifierReport] = []
        let choice = key.map { LaneArgument.entity($0, origin: origin) } ?? lane
        let list = client.modifiers(
            selection,
            lane: try await choice?.lane(client),
            scope: try whose.scope(options)
        )
        for try await modifier in list where state == nil || modifier.report.state == state {
            count += 1
            if options.json {
                try console.write(modifier.report.encoded() + [UInt8(ascii: "\n")])
            } else if console.isTerminalOut {
                block.append(modifier.report)
                if block.count == Limits.pageRowsMax {
                    try show(block, on: console)
                    block = []
                }
            } else {
                try console.columns(fields(modifier.report))
            }
            if count == most { break }
        }
        try show(block, on: console)
        return count
    }

    private var selection: ModifierSelection {
        if settled { return .settled }
        return state.map { .state(ModifierStatus.State($0)) } ?? .open
    }

    private func show(_ reports: [ModifierReport], on console: Console) throws(CommandFailure) {
        guard !reports.isEmpty else { return }
        let now = WallClock.now()
        let owner = whose.areOthers ? ["USER"] : []
        var table = Table(
            alignsRight: [false, true, true, true] + owner.map { _ in false } + [
                false, false, false,
            ]
        )
        table.add(["STATE", "AGE", "TRIES", "HTTP"] + owner + ["WRITES", "WAITS FOR", "ID"])
        for report in reports {
            let words = ModifierWords(report, now: now)
            let owner = whose.areOthers ? [words.owner] : []
            let row =
                [words.state, words.age, String(report.attempts), words.status ?? "-"] + owner
                + [words.request, words.wait ?? "", report.id.text]
            table.add(row)
        }
        for line in table.lines { try console.line(line) }
    }

    private func fields(_ report: ModifierReport) -> [String] {
        let wait = report.waitingFor
        var fields = [
            report.id.text, report.state.rawValue, report.reason?.rawValue ?? "-",
            report.acceptedAt.rfc3339, String(report.attempts), report.method, report.url,
            wait.map { [$0.reason, $0.name].compactMap(\.self).joined(separator: " ") } ?? "-",
            wait?.until?.rfc3339 ?? "-", report.answer.map { String($0.status) } ?? "-",
        ]
        if whose.areOthers { fields.append(ModifierWords(report, now: WallClock.now()).owner) }
        return fields
    }
}
