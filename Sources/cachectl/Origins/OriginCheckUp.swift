import ArgumentParser
import LarderAPI
import LarderClient
import LarderWire

/// `cachectl origin check`.
struct OriginCheckUp: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Asks a server now and says what came of it.",
        discussion: """
            It stores nothing. Exit codes: 0 if the server answered, whatever its status, 75 if it \
            did not or is set offline. For administrators of the daemon.

            Example: cachectl origin check api --path /v1/health
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Its name.")
    var name: String

    @Option(help: "Where to ask on its host, under its base URL.")
    var path: String?

    func run() async throws {
        let check = try await options.show {
            try await $0.checkOrigin(name, path: path)
        } lines: { check, _ in
            lines(check).lines
        }
        guard let problem = check.problem else { return }
        throw CommandFailure(.nothingToShow, problem.detail, hint: problem.hint)
    }

    private func lines(_ check: OriginCheckReport) -> Table {
        var table = Table(alignsRight: [false, false])
        table.add("url", check.url)
        if let status = check.status { table.add("status", "\(status)") }
        table.add("took", "\(check.latencyMs) ms")
        if let peer = check.peer {
            table.add(check.peerIsProxy ? "proxy" : "address", peer)
        }
        if let version = check.protocol { table.add("protocol", version) }
        if check.peer != nil {
            table.add("tls", check.tls.map { "\($0), certificate verified" } ?? "none")
        }
        return table
    }
}
