import ArgumentParser
import LarderClient
import LarderJSON
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
        help: ArgumentHelp(
            "List writes in this state: queued, failed, unknown, …",
            valueName: "state"
        ),
        completion: DaemonWords.values(LarderAPI.ModifierState.self),
        transform: wireArgument
    )
    var state: LarderAPI.ModifierState?

    @Option(
        help: ArgumentHelp(
            "List writes of this lane: name:NAME, or id:ID of what they change; name: and id: may "
                + "be left out.",
            valueName: "lane"
        ),
        completion: DaemonWords.lanes,
        transform: laneArgument
    )
    var lane: String?

    @Option(help: ArgumentHelp("List writes that change the entity of this key.", valueName: "key"))
    var key: String?

    @Option(
        help: ArgumentHelp(
            "Origin of the --key; needed where several origins have rules.",
            valueName: "name"
        ),
        completion: DaemonWords.origins
    )
    var origin: String?

    @Option(help: ArgumentHelp("List at most this many; without it, all.", valueName: "n"))
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
        let words = ModifierFormatter.init(report:)
        return try await console.list(
            list,
            upTo: limit,
            asJSON: options.json,
            fields: fields,
            columns: [
                Column("STATE") { words($0).state },
                Column("AGE", alignsRight: true) { HumanFormat.age($0.acceptedAt) },
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
            fields.append(ModifierFormatter(report: report).owner)
        }
        return fields
    }
}

struct QueueShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Say what is known of one write.",
        discussion: """
            The report says what is sent, why it waits and until when, what the server answered, \
            and what each target shows without the write and with it. A refusal restores what the \
            target shows without it. Exit code 3 if no write has this id.

            Example: cachectl queue show 01JD2Q4W6Z0000000000000000
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var one: OneModifier

    func run() async throws {
        let scope = options.scope(ofUser: one.other.uid)
        try await options.show {
            try await $0.modifier(one.id, scope: scope)
        } lines: { report, _ in
            table(report).lines
        }
    }

    private func table(_ report: ModifierReport) -> Table {
        let words = ModifierFormatter(report: report)
        var table = Table(alignsRight: [false, false])
        func add(_ name: String, _ value: String?) {
            if let value { table.add(name, value) }
        }
        add("id", report.id)
        add("state", words.state)
        add("waits for", words.wait)
        add("until", report.waitingFor?.until?.text)
        add("request", "\(words.request), \(report.request.bodyBytes) bytes")
        add("idempotency key", report.request.idempotencyKey)
        add("joined into", report.joinedInto)
        add("attempts", String(report.attempts))
        if report.nextAttemptAt != report.waitingFor?.until {
            add("next attempt", report.nextAttemptAt?.text)
        }
        if let answer = report.answer {
            add("answer", "\(answer.status), \(answer.at.text)")
            if let unclear = answer.unclearStatus, unclear != answer.status {
                add("before it", "\(unclear), which leaves open whether it was applied")
            }
            add("answer's body", ViewReport.json(answer.body.bytes, isComplete: true).words)
        }
        for lane in report.lanes { add("lane", lane) }
        for id in report.dependants { add("needed by", id) }
        add("user", words.owner)
        add("accepted", "\(report.acceptedAt.text), \(HumanFormat.age(report.acceptedAt)) ago")
        add("settled", report.settledAt?.text)
        for conflict in report.conflict ?? [] {
            add("conflict", conflict.id)
            add("  base", conflict.base?.words)
            add("  mine", conflict.mine?.words)
            add("  theirs", conflict.theirs?.words)
        }
        for target in report.targets {
            add("target", target.id)
            add("  without it", target.before?.words)
            add("  with it", target.after?.words)
        }
        return table
    }
}

/// A modifier in words for a person.
struct ModifierFormatter {
    let report: ModifierReport

    /// `queued`, `failed: refused`, `retry_wait, stalled`.
    var state: String {
        let reason = report.reason.map { ": \($0.rawValue)" } ?? ""
        return ([report.state.rawValue + reason] + report.marks.map(\.rawValue))
            .joined(separator: ", ")
    }

    /// `PATCH https://api.example.com/articles/42`.
    var request: String { "\(report.request.method) \(report.request.url)" }

    /// `1000`, `1000/work`.
    var owner: String { EntryOwner.user(report.user, account: report.account).words }

    /// `its next attempt, in 12 s`; nil where nothing keeps it.
    var wait: String? {
        guard let wait = report.waitingFor else { return nil }
        let end = wait.until.map { ", in \(HumanFormat.wait(until: $0))" } ?? ""
        return thing(wait) + end
    }

    /// The status that the server last answered; nil where it did not.
    var status: String? { report.answer.map { String($0.status) } }

    private var namesTemporaryID: Bool {
        ([report.request.url] + report.targets.map(\.id)).contains { $0.contains("tmp:") }
    }

    private func login(at origin: String?) -> String {
        let isDefault = report.account == AccountName.default.text
        let option = isDefault ? "" : " --account \(report.account)"
        return "cachectl origin login \(origin ?? "NAME")\(option)"
    }

    /// A write after an attempt without a clear answer is not cancelled.
    private static let conflictChoice = "queue retry keeps it, queue drop --discard takes theirs"
    private static let unknownChoice = "queue retry repeats it, queue drop --discard gives it up"

    private func thing(_ wait: ModifierWait) -> String {
        let name = wait.name ?? "its lane"
        return switch wait.reason {
        case "hold": "the end of its hold"
        case "lane": "those before it in \(name)"
        case "paused": "\(name), which is paused"
        case "dependency": "what it depends on"
        case "backoff": "its next attempt"
        case "credential": "a credential that its server takes: \(login(at: wait.name))"
        case "decision" where report.conflict != nil:
            "a decision, as another device changed the same: \(Self.conflictChoice)"
        case "decision" where report.state == .conflict && namesTemporaryID:
            "a decision, as its server has told no id for a thing that it names: queue edit names "
                + "the real id and queue retry sends it, queue cancel takes it back"
        case "decision" where report.state == .conflict:
            "a decision, as its server has another version: \(Self.conflictChoice)"
        case "decision" where report.state == .unknown && report.isAnsweredOtherwise:
            "a decision, as its server gave an unexpected page: \(Self.unknownChoice); with "
                + "modifiers: {expect: any} the origin's pages count as answers"
        case "decision": "a decision: \(Self.unknownChoice)"
        case "offline": "its server, which does not answer"
        case "captive": "its server, which a captive portal blocks"
        case "set_offline": "its server, which is set offline"
        case "retry_after": "its server, which has told its account to wait"
        case "turn": "others on their way to its server"
        case "answer": "its answer"
        case "confirmation": "the server to show it"
        // A reason from a later version of the daemon.
        default: [wait.reason, wait.name].compactMap(\.self).joined(separator: " ")
        }
    }
}

extension RawJSON {
    fileprivate var words: String { ViewReport.json(bytes, isComplete: true).words }
}

extension ViewReport {
    /// The view of a target; its JSON is cut to a length that fits on a screen.
    var words: String {
        switch state {
        case .deleted: return "it is gone"
        case .value: break
        // A dead letter keeps values that are JSON only.
        default: return "no JSON value is known"
        }
        guard let body else { return "\(bodyBytes ?? 0) bytes" }
        let count = body.bytes.count
        return String(decoding: body.bytes.prefix(Self.shownBytesMax), as: UTF8.self)
            + (count > Self.shownBytesMax ? "…, \(count) bytes" : "")
            + (complete == false ? "    (the rest is not known)" : "")
    }

    private static let shownBytesMax = 1_000
}

extension ModifierReport {
    /// Whether the last answer was a 2xx that does not count as the server's word.
    fileprivate var isAnsweredOtherwise: Bool {
        answer.map { (200..<300).contains($0.status) } ?? false
    }
}
