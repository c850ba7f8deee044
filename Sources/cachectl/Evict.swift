import ArgumentParser
import LarderClient
import LarderModel

struct Evict: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Drop entries from the cache.",
        discussion: """
            On a terminal it says what goes and asks first. Without one it needs --yes. The ids \
            that went, or with --dry-run would go, are on stdout, one a line. - stands for ids \
            from stdin, one a line.

            Example: cachectl evict --older-than 7d --dry-run
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup(title: "Others' entries")
    var whose: ScopeOptions

    @Argument(
        help: ArgumentHelp("Ids or URLs to evict; - reads them from stdin.", valueName: "id"),
        completion: DaemonWords.ids
    )
    var ids: [String] = []

    @Option(
        help: ArgumentHelp(
            "Evict the entity of this key, of --origin if several origins have rules; may be "
                + "repeated.",
            valueName: "key"
        )
    )
    var key: [String] = []

    @Option(help: ArgumentHelp("Evict entries whose ids begin with this text.", valueName: "text"))
    var prefix: String?

    @Option(
        help: ArgumentHelp("Evict entries of this origin.", valueName: "name"),
        completion: DaemonWords.origins
    )
    var origin: String?

    @Option(
        help: ArgumentHelp(
            "Evict entries stored or confirmed longer ago, such as 7d.",
            valueName: "duration"
        ),
        transform: durationArgument
    )
    var olderThan: Duration?

    @Option(
        help: ArgumentHelp(
            "Evict the least recently used entries, until no more than this is left, such as "
                + "500MiB.",
            valueName: "size"
        ),
        transform: sizeArgument
    )
    var toBytes: Int64?

    @Flag(help: "Evict all entries.")
    var all = false

    @Flag(help: "Print what would be evicted, and evict nothing.")
    var dryRun = false

    @Flag(help: "Evict pinned entries too, and unpin them.")
    var includePinned = false

    @Flag(help: "Do not ask.")
    var yes = false

    func validate() throws {
        guard selectionCount == 1 else {
            throw ValidationError(
                "Give exactly one of ids, --key, --prefix, --origin, --older-than, --to-bytes and --all."
            )
        }
    }

    func run() async throws {
        let console = Console()
        let scope = try whose.scope(options)
        guard yes || dryRun || console.canAsk else {
            throw CommandFailure.noTerminal(
                "Give --yes to evict, or --dry-run to see what would go."
            )
        }
        try await options.withClient { client in
            for selection in try await parts(client) {
                if !yes, !dryRun { try await confirm(selection, scope, client, console) }
                let sent = SentReports()
                let report = try await console.waiting(for: "evicting") {
                    try await sent.noting { try await client.evict(selection, scope: scope) }
                }
                if options.json {
                    try console.write(line: sent.last)
                } else {
                    try show(report, on: console)
                }
            }
        }
    }

    /// The selection in parts of which each is one request: ids may be many.
    private func parts(_ client: LarderClient) async throws -> [EvictCommand] {
        var command = EvictCommand()
        (command.dryRun, command.includePinned) = (dryRun, includePinned)
        var names = try await ids.isEmpty ? [] : StandardInput.lines(ids)
        for key in key { names.append(try await client.entityID(key, origin: origin)) }
        guard names.isEmpty else {
            return names.chunks(of: Limits.evictIDsMax).map { ids in
                command.ids = ids
                return command
            }
        }
        (command.prefix, command.origin, command.olderThan) = (prefix, origin, olderThan)
        command.toBytes = toBytes.flatMap { RawJSON(String($0)) }
        command.all = all ? true : nil
        return [command]
    }

    /// Number of selections given; with --key, --origin only says whose key it is.
    private var selectionCount: Int {
        let given = [
            !ids.isEmpty, prefix != nil, !key.isEmpty, origin != nil && key.isEmpty,
            olderThan != nil, toBytes != nil, all,
        ]
        return given.count { $0 }
    }

    private func confirm(
        _ selection: EvictCommand,
        _ scope: EntryScope,
        _ client: LarderClient,
        _ console: Console
    ) async throws {
        var trial = selection
        trial.dryRun = true
        let report = try await client.evict(trial, scope: scope)
        guard report.evicted > 0 else { return }
        let shown = report.ids.prefix(Console.linesAboveQuestionMax)
        for id in shown { console.note(line: "  \(id)") }
        if report.evicted > shown.count {
            console.note(line: "  and \(report.evicted - shown.count) more")
        }
        try console.confirm("Evict \(summary(report))?", else: "nothing was evicted")
    }

    private func show(_ report: EvictReport, on console: Console) throws(CommandFailure) {
        if !console.isTerminalOut || dryRun {
            for id in report.ids { try console.line(TerminalText(id)) }
        }
        guard report.evicted > 0 || report.skipped > 0 else {
            console.note("there is nothing to evict")
            if let id = ids.first(where: { $0.hasSuffix("*") }) {
                console.note(
                    line: "A * in an id is no pattern. Evict what begins so: "
                        + "cachectl evict --prefix '\(id.dropLast())'"
                )
            }
            return
        }
        let skipped = report.skipped > 0 ? ", \(report.skipped) protected" : ""
        console.note("\(dryRun ? "would evict" : "evicted") \(summary(report))\(skipped)")
    }

    private func summary(_ report: EvictReport) -> String {
        "\(HumanFormat.entries(report.evicted)), \(HumanFormat.size(report.accountedBytes))"
    }
}

struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove all that is kept of a user.",
        discussion: """
            Entries, pins, writes that wait or failed, their history: of every account, or with \
            --account of one. Writes that were not sent are lost. Run it when a user is deleted: \
            the next one with that uid would read what the daemon kept. For administrators of \
            the daemon.

            On a terminal it says what goes and asks first. Without one it needs --yes.

            Example: cachectl purge --uid 1001 --yes && userdel --remove anna
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Option(help: ArgumentHelp("Uid of the user.", valueName: "n"), completion: DaemonWords.users)
    var uid: UInt32

    @Flag(help: "Do not ask.")
    var yes = false

    func run() async throws {
        let console = Console()
        let scope = EntryScope.user(uid, account: options.account)
        guard yes || console.canAsk else {
            throw CommandFailure.noTerminal(
                "Give --yes to purge. See what goes: cachectl df --uid \(uid)"
            )
        }
        try await options.show { client -> PurgeReport in
            if !yes {
                let usage = try await client.usage(scope: scope)
                let size = HumanFormat.size(usage.rows.accountedBytes + usage.pins.accountedBytes)
                console.note(line: "uid \(uid) has \(usage.rows.entries) entries, \(size)")
                try console.confirm(
                    "Take all of it away, with the writes that wait?",
                    else: "nothing was purged"
                )
            }
            return try await console.waiting(for: "purging") { try await client.purge(scope) }
        } lines: { report, _ in
            let words = "\(report.entries) entries, \(HumanFormat.size(report.accountedBytes))"
            return ["purged: \(words), \(report.modifiers) writes"]
        }
    }
}
