import ArgumentParser
import LarderClient
import LarderModel

/// Which writes a command works on: one by its id, or all in a state, perhaps of one origin.
struct WriteSelection: ParsableArguments {
    @Argument(
        help: "Id of the write, as `cachectl queue list` has it.",
        completion: DaemonWords.writes
    )
    var id: String?

    @Option(
        help: ArgumentHelp(
            "Select all writes in this state: failed, unknown, …",
            valueName: "state"
        ),
        completion: DaemonWords.values(LarderAPI.ModifierState.self),
        transform: wireArgument
    )
    var state: LarderAPI.ModifierState?

    @Option(
        help: ArgumentHelp("With --state, select only writes to this origin.", valueName: "name"),
        completion: DaemonWords.origins
    )
    var origin: String?

    @OptionGroup
    var other: OtherUser

    @Flag(help: "Do not ask.")
    var yes = false

    func validate() throws {
        guard (id == nil) != (state == nil) else {
            throw ValidationError("Give an id, or --state.")
        }
        guard origin == nil || state != nil else {
            throw ValidationError("--origin says which of those in --state are meant.")
        }
    }
}

extension WriteSelection {
    /// Acts on all that are in the state, after a person has said yes; those that it cannot be done
    /// to stay, and are counted.
    ///
    /// The daemon gets the ids that were listed. So a write that comes into the state while the
    /// question is open stays as it is.
    ///
    /// `verb` is `Drop` or `Retry`, `outcome` `dropped` or `queued`.
    func act(
        _ action: ModifierAction,
        _ verb: String,
        _ outcome: String,
        _ options: GlobalOptions,
        of client: LarderClient,
        on console: Console
    ) async throws {
        guard let state else { return }
        let scope = options.scope(ofUser: other.uid)
        let (reports, isMore) = try await selected(state, scope, client)
        guard !reports.isEmpty else {
            let place = origin.map { " for '\($0)'" } ?? ""
            return console.note("no write\(place) is in the state '\(state.rawValue)'")
        }
        if !yes { try confirm(reports, isMore, in: state, verb, outcome, console) }
        var (done, gone, failures) = (0, 0, [CommandFailure]())
        for (owner, ids) in batches(of: reports) {
            let command = ModifierActionCommand(action, ids: ids)
            for result in try await client.act(command, owner).items {
                if let problem = result.problem {
                    if hasLeft(state, problem) {
                        gone += 1
                    } else {
                        failures.append(CommandFailure(.problem(problem)))
                    }
                    continue
                }
                done += 1
                if options.json {
                    try options.report(outcome, result.id)
                } else if !console.isTerminalOut {
                    try console.line(TerminalText(result.id))
                }
            }
        }
        let left = gone > 0 ? ", \(gone) had left already" : ""
        console.note("\(Self.writes(done)) \(outcome)\(left)")
        if isMore { console.note("more are in the state '\(state.rawValue)', run it again") }
        if let first = failures.first {
            throw CommandFailure(
                first.code,
                "\(Self.writes(failures.count)) could not be \(outcome): \(first.message)",
                hint: first.hint
            )
        }
    }

    /// Asks a person, who sees the first of the writes.
    private func confirm(
        _ reports: [ModifierReport],
        _ isMore: Bool,
        in state: LarderAPI.ModifierState,
        _ verb: String,
        _ outcome: String,
        _ console: Console
    ) throws(CommandFailure) {
        let count = (isMore ? "the first " : "") + Self.writes(reports.count)
        guard console.canAsk else {
            throw CommandFailure.noTerminal(
                "\(count) would be \(outcome). Give --yes to do it; see them: cachectl queue "
                    + "list --state \(state.rawValue)"
            )
        }
        for report in reports.prefix(Console.linesAboveQuestionMax) {
            let words = ModifierFormatter(report: report)
            console.note(line: "  \(words.request)    \(report.id)")
        }
        try console.confirm("\(verb) \(count)?", else: "nothing was \(outcome)")
    }

    /// The ids in commands, each with the account whose writes they are.
    private func batches(of reports: [ModifierReport]) -> [(owner: EntryScope, ids: [String])] {
        var batches: [(owner: EntryScope, ids: [String])] = []
        let accounts = Dictionary(grouping: reports, by: \.account)
        for (account, reports) in accounts.sorted(by: { $0.key < $1.key }) {
            let owner = other.uid.map { EntryScope.user($0, account: account) } ?? .own
            for ids in reports.map(\.id).chunks(of: Limits.pageRowsMax) {
                batches.append((owner, ids))
            }
        }
        return batches
    }

    /// Whether a write has left since it was listed: by itself, or with one that it depended on.
    private func hasLeft(_ listed: LarderAPI.ModifierState, _ problem: Problem) -> Bool {
        if problem.kind == .noSuchModifier { return true }
        return problem.kind == .alreadySettled && (listed == .failed || !listed.isSettled)
    }

    private static func writes(_ count: Int) -> String {
        count == 1 ? "1 write" : "\(count) writes"
    }

    /// At most ``Limits/modifiersByHandMax``, and whether there are more.
    private func selected(
        _ state: LarderAPI.ModifierState,
        _ scope: EntryScope,
        _ client: LarderClient
    ) async throws -> (reports: [ModifierReport], isMore: Bool) {
        let isMeant = try await filter(client)
        var reports: [ModifierReport] = []
        let list = client.modifiers(.state(state), scope: scope)
        for try await modifier in list where isMeant(modifier) {
            guard reports.count < Limits.modifiersByHandMax else { return (reports, true) }
            reports.append(modifier)
        }
        return (reports, false)
    }

    /// Whether a write goes to the origin that is named: that of the longest base URL.
    private func filter(_ client: LarderClient) async throws -> (ModifierReport) -> Bool {
        guard let name = origin else { return { _ in true } }
        let origins = try await client.origins()
        guard origins.contains(where: { $0.name == name }) else {
            let advice = nearestNameAdvice(on: name, among: origins.map(\.name))
            throw CommandFailure(.notFound, "there is no origin '\(name)', \(advice)")
        }
        let bases = origins.compactMap { origin in
            (try? WebURL(origin.baseURL)).map { (name: origin.name, url: $0) }
        }
        return { report in
            guard let url = try? WebURL(report.request.url) else { return false }
            let owner = bases.filter { $0.url.isPrefix(of: url) }
                .max { $0.url.text.utf8.count < $1.url.text.utf8.count }
            return owner?.name == name
        }
    }
}

/// The user whose row a command is about.
struct OtherUser: ParsableArguments {
    @Option(
        help: ArgumentHelp("Uid of the user, if not your own; for administrators.", valueName: "n"),
        completion: DaemonWords.users
    )
    var uid: UInt32?
}

struct OneModifier: ParsableArguments {
    @Argument(
        help: "Id of the write, as `cachectl queue list` has it.",
        completion: DaemonWords.writes
    )
    var id: String

    @OptionGroup
    var other: OtherUser
}

struct LaneChoice: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Lane: name:NAME, or id:ID of what its writes change; name: and id: may be left out.",
            valueName: "lane"
        ),
        completion: DaemonWords.lanes,
        transform: laneArgument
    )
    var lane: String

    @OptionGroup
    var other: OtherUser
}

/// Reads `name:cart` and `id:notes/1`; without either, what is a URL or an entity's id is an id and
/// all else a name.
func laneArgument(_ text: String) -> String {
    if text.hasPrefix("name:") || text.hasPrefix("id:") { return text }
    let isID = text.contains("://") || text.hasPrefix(EntryID.entityScheme)
    return (isID ? "id:" : "name:") + text
}
