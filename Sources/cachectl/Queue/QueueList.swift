import ArgumentParser
import LarderClient
import LarderModel

struct QueueList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the writes that are to be sent, and those that failed permanently.",
        discussion: """
            The writes come in the order in which they were accepted, and with --settled the \
            latest first.

            In a pipe the columns are id, state, reason, time of accepting, attempts, method, URL, \
            what it waits for, until when, and the status that its server last answered, with - \
            for nothing and tabs between them; with --uid or --all-users whose it is comes last, \
            as 1000/work.

            With --json each line is an object as GET /v1/modifiers/ID answers: whose (uid, \
            account), what (request, targets), when (accepted_at, settled_at) and the outcome \
            (state, reason, answer.status). The history keeps as many as queue.history says.

            Example: cachectl queue list --settled --limit 20
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup(title: "Others' writes")
    var whose: ScopeOptions

    @Flag(help: "List writes that were confirmed, failed permanently or were cancelled.")
    var settled = false

    @Option(
        help: ArgumentHelp("Only those in a state: queued, failed, unknown, …", valueName: "state"),
        transform: wireArgument
    )
    var state: LarderAPI.ModifierState?

    @Option(
        help: ArgumentHelp(
            "Only those of a lane: name:NAME, or id:ID of what they change; name: and id: may be "
                + "left out.",
            valueName: "lane"
        ),
        transform: laneArgument
    )
    var lane: String?

    @Option(help: ArgumentHelp("Only those that change the entity of this key.", valueName: "key"))
    var key: String?

    @Option(
        help: ArgumentHelp(
            "Origin of the --key; needed where several origins have rules.",
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

    private func list(_ client: LarderClient, to console: Console) async throws -> Int {
        var lane = lane
        if let key { lane = "id:" + (try await client.entityID(key, origin: origin)) }
        let list = client.modifiers(
            selection,
            lane: lane,
            scope: try whose.scope(options)
        )
        let now = WallClock.now()
        func words(_ report: ModifierReport) -> ModifierFormatter {
            ModifierFormatter(report: report, now: now)
        }
        return try await console.list(
            list,
            upTo: limit,
            asJSON: options.json,
            fields: fields,
            columns: [
                Column("STATE") { words($0).state },
                Column("AGE", alignsRight: true) { words($0).age },
                Column("TRIES", alignsRight: true) { String($0.attempts) },
                Column("HTTP", alignsRight: true) { words($0).status ?? "-" },
            ] + (whose.areOthers ? [Column("USER") { words($0).owner }] : []) + [
                Column("WRITES") { words($0).request },
                Column("WAITS FOR") { words($0).wait ?? "" },
                Column("ID") { $0.id },
            ],
            where: { state == nil || $0.state == state }
        )
    }

    private var selection: ModifierSelection {
        if settled { return .settled }
        return state.map { .state($0) } ?? .open
    }

    private func fields(_ report: ModifierReport) -> [String] {
        let wait = report.waitingFor
        var fields = [
            report.id, report.state.rawValue, report.reason?.rawValue ?? "-",
            report.acceptedAt.text, String(report.attempts), report.request.method,
            report.request.url,
            wait.map { [$0.reason, $0.name].compactMap(\.self).joined(separator: " ") } ?? "-",
            wait?.until?.text ?? "-", report.answer.map { String($0.status) } ?? "-",
        ]
        if whose.areOthers {
            fields.append(ModifierFormatter(report: report, now: WallClock.now()).owner)
        }
        return fields
    }
}
