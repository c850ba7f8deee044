import ArgumentParser
import LarderClient
import LarderModel

struct Pin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Keep an entry permanently, or list the pins.",
        discussion: """
            A pinned entry is never evicted and outlives the loss of the cache. If an entry is not \
            cached, the daemon fetches it now, or as soon as its origin is back. The command waits \
            until the bytes are held, as long as --wait says; exit code 75 if they are not by \
            then, and the daemon goes on waiting for them. 77 for an unknown origin or an address \
            that is refused, 1 if the origin refuses or fails, 3 if nothing is cached under an id \
            or the server answers 404 or 410; a failed pin stays in the list until `unpin`. \
            - stands for ids from stdin, one a line: all of them are pinned, and the code is that \
            of the first that failed.

            With --list the columns are state (held, waiting, too_large, gone or failed), bytes, \
            time of storing, id, reason, and of a pin with --refresh the interval, the time of the \
            next request and what pauses it (offline, captive, set_offline, retry_after or \
            credential), and what keeps it (pin, prefetch:NAME), with tabs between them in a pipe.

            Example: cachectl pin --refresh 1h https://api.example.com/articles/42
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(
        help: ArgumentHelp(
            "URL of an origin's answer, or id of bytes of your own; - reads them from stdin."
        ),
        completion: DaemonWords.ids
    )
    var ids: [String] = []

    @Option(
        help: ArgumentHelp(
            "Wait at most this long while the origin does not answer, up to 1h; without it, 30s.",
            valueName: "duration"
        ),
        transform: durationArgument
    )
    var wait = Duration.seconds(30)

    @Option(
        help: ArgumentHelp(
            "Interval at which the daemon asks the origin again, also without a client, such as "
                + "1h.",
            valueName: "duration"
        ),
        transform: durationArgument
    )
    var refresh: Duration?

    @Flag(help: "List the pins.")
    var list = false

    func validate() throws {
        guard ids.isEmpty == list else {
            throw ValidationError("Give an id, or --list.")
        }
        guard refresh == nil || !list else {
            throw ValidationError("--refresh is for pinning; it changes the interval of a pin too.")
        }
        guard wait <= Limits.fetchTimeMax else {
            throw ValidationError("--wait is at most \(Limits.fetchTimeMax.unitText).")
        }
    }

    func run() async throws {
        let console = Console()
        guard !list else {
            return try await options.withClient { try await show($0, on: console) }
        }
        let names = try await StandardInput.lines(ids).map { EntryArgument($0).rowID }
        try await options.withClient { client in
            var failures: [CommandFailure] = []
            for name in names {
                do {
                    try await pin(name, of: client, on: console)
                } catch let failure as CommandFailure where names.count > 1 && !failure.isClosed {
                    console.note(failure.message)
                    failures.append(failure)
                }
            }
            guard let first = failures.first else { return }
            throw CommandFailure(
                first.code,
                "\(failures.count) of \(names.count) are not held",
                hint: first.hint
            )
        }
    }

    private func pin(
        _ name: String,
        of client: LarderClient,
        on console: Console
    ) async throws {
        let waiting = try await console.waiting(for: "waiting for \(name) to be held") {
            do throws(LarderError) {
                return try await client.pin(name, waitingFor: wait, refresh: refresh)
            } catch {
                throw CommandFailure(pinningFailedWith: error, of: name)
            }
        }
        switch waiting {
        case nil: try options.report("held", name)
        case let pin?:
            if options.json { try options.report("waiting", name) }
            let kind = pin.problem.flatMap { ProblemKind(type: $0) }
            let met = pin.reason.map { " (\($0))" } ?? ""
            throw CommandFailure(
                kind?.exit ?? .nothingToShow,
                "\(name) is not held yet\(met): it is fetched as soon as its origin gives it",
                hint: "See its state: cachectl pin --list"
            )
        }
    }

    private func show(_ client: LarderClient, on console: Console) async throws {
        let count = try await console.list(
            client.pins(),
            asJSON: options.json,
            fields: { pin in
                [
                    pin.state.rawValue, pin.bodyBytes.map { String($0) } ?? "-",
                    pin.storedAt?.text ?? "-", pin.id, pin.reason ?? "-",
                    pin.refreshing.refresh?.unitText ?? "-",
                    pin.refreshing.nextRefreshAt?.text ?? "-",
                    pin.refreshing.refreshPausedBy?.rawValue ?? "-",
                    pin.keptBy.joined(separator: " "),
                ]
            },
            columns: [
                Column("STATE") { $0.state.rawValue },
                Column("SIZE", alignsRight: true) { pin in
                    pin.bodyBytes.map { HumanFormat.size(Int64($0)) } ?? "-"
                },
                Column("AGE", alignsRight: true) { $0.storedAt.map(HumanFormat.age) ?? "-" },
                Column("REFRESH") { $0.refreshing.refresh?.unitText ?? "-" },
                Column("NEXT") { pin in
                    pin.refreshing.refreshPausedBy?.rawValue
                        ?? pin.refreshing.nextRefreshAt.map(HumanFormat.wait) ?? "-"
                },
                Column("KEPT BY") { $0.keptBy.joined(separator: " ") },
                Column("ID") { $0.id },
                Column("REASON") { $0.reason ?? "" },
            ]
        )
        if count == 0, !options.json { console.remark("nothing is pinned") }
    }
}

struct Unpin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Let a pinned entry be an ordinary one again.",
        discussion: """
            The entry stays cached as long as there is room for it. Exit code 3 if it is not pinned.

            Example: cachectl unpin https://api.example.com/articles/42
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "URL or id of the pinned entry.", completion: DaemonWords.ids)
    var id: String

    func run() async throws {
        let id = EntryArgument(id).rowID
        try await options.withClient { client in
            do throws(LarderError) {
                try await client.unpin(id)
            } catch {
                throw CommandFailure(pinningFailedWith: error, of: id)
            }
        }
        try options.report("unpinned", id)
    }
}
