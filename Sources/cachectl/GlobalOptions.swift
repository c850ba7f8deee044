import ArgumentParser
import LarderClient
import LarderJSON

/// What every subcommand takes, before or after its name.
struct GlobalOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The socket of the daemon.", valueName: "path"))
    var socket: String?

    @Flag(help: "Talk to the system's daemon, at /run/larder/api.sock.")
    var system = false

    @Flag(help: "Talk to the user's own daemon.")
    var user = false

    @Flag(help: "Print JSON, one value a line, as the API spells it.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Which of your accounts, whose entries and credential are kept apart; default "
                + "without it.",
            valueName: "name"
        )
    )
    var account: String?

    func validate() throws {
        guard [socket != nil, system, user].filter({ $0 }).count <= 1 else {
            throw ValidationError("Give one of --socket, --system and --user.")
        }
    }

    private var location: SocketLocation {
        if let socket { return .path(socket) }
        if system { return .system }
        return user ? .user : .found
    }

    /// The sockets that are tried, in this order.
    var candidates: [String] { location.candidates }

    /// Says what a command has done: `{"id":"a","outcome":"removed"}`, or `removed a` to a person.
    func report(_ outcome: String, _ id: String) throws(CommandFailure) {
        let console = Console()
        guard json else { return console.remark("\(outcome) \(id)") }
        var line = JSONWriter()
        line.object { line in
            line.member("id", id)
            line.member("outcome", outcome)
        }
        try console.write(line.bytes + [UInt8(ascii: "\n")])
    }

    /// Asks for a report and prints it: with --json as the daemon sent it, else the lines that say it.
    @discardableResult
    func show<Report: Sendable>(
        _ ask: (LarderClient) async throws -> Report,
        lines: (Report, Console) throws -> [TerminalText]
    ) async throws -> Report {
        let sent = SentReports()
        let report = try await withClient { client in
            try await sent.noting { try await ask(client) }
        }
        let console = Console()
        if json {
            try console.write(line: sent.last)
        } else {
            for line in try lines(report, console) { try console.line(line) }
        }
        return report
    }

    /// Runs `body` with a client, whose connections are closed when it returns or when the daemon
    /// does not answer any more.
    func withClient<Result>(
        _ body: (LarderClient) async throws -> Result
    ) async throws -> Result {
        let client = LarderClient(socket: location, account: account ?? "default")
        let check = DaemonCheck(of: client)
        let checking = Task { await check.run() }
        do {
            let result = try await body(client)
            checking.cancel()
            await client.shutdown()
            return result
        } catch {
            checking.cancel()
            await client.shutdown()
            throw check.error ?? error
        }
    }
}
