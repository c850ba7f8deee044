import ArgumentParser
import LarderClient
import LarderModel

struct OriginGroup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "origin",
        abstract: "Show and change the servers that the daemon may ask.",
        discussion: """
            All users may list them, and log in and out for themselves; the rest is for \
            administrators of the daemon.

            Example: cachectl origin add api https://api.example.com
            """,
        subcommands: [
            OriginList.self, OriginAdd.self, OriginRm.self, OriginCheckUp.self,
            OriginOffline.self, OriginOnline.self, OriginLogin.self, OriginLogout.self,
        ]
    )
}

struct OriginRm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Remove a server that was added.",
        discussion: """
            The cached answers of the origin stay; `cachectl evict --origin NAME` drops them. \
            Remove an origin that a configuration file defines from that file. For administrators \
            of the daemon.

            Example: cachectl origin rm api
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Name of the origin.", completion: DaemonWords.origins)
    var name: String

    func run() async throws {
        try await options.withClient { try await $0.removeOrigin(name) }
        try options.report("removed", name)
    }
}

struct OriginCheckUp: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Ask a server now, and say how it answered.",
        discussion: """
            The daemon stores nothing of the answer. Exit codes: 0 if the server answered, \
            whatever its status, 75 if it did not or is set offline. For administrators of the \
            daemon.

            Example: cachectl origin check api --path /v1/health
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Name of the origin.", completion: DaemonWords.origins)
    var name: String

    @Option(help: "Path to ask for; it begins with the path of the base URL.")
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

struct OriginList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the servers that the daemon may ask.",
        discussion: """
            In a pipe the columns are name, base URL, state (online, unknown, offline, captive, or \
            offline-by-hand), since when, the file that defines it, api for one that was added, or \
            implicit for a public host that was asked, whose its answers are (user or shared), \
            until when it is to be left alone, as it has told an account to wait, and which \
            account that is (UID:ACCOUNT, or shared); with tabs between them.

            Example: cachectl origin list
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    func run() async throws {
        let console = Console()
        let count = try await options.withClient { client in
            try await console.list(
                Pages { _ throws(LarderError) in Page(items: try await client.origins()) },
                asJSON: options.json,
                fields: fields,
                columns: columns
            )
        }
        if count == 0, !options.json {
            console.remark("no origins; add one with: cachectl origin add NAME URL")
        }
    }

    private var columns: [Column<OriginReport>] {
        let names = ["NAME", "URL", "STATE", "SINCE", "FROM", "SHARED", "RETRY AFTER", "FOR"]
        return names.enumerated().map { number, name in Column(name) { fields($0)[number] } }
    }

    private func fields(_ origin: OriginReport) -> [String] {
        let condition = origin.condition
        return [
            origin.name, origin.baseURL,
            condition.offline ? "offline-by-hand" : condition.state.rawValue,
            condition.since?.text ?? "-", origin.file ?? origin.source.rawValue,
            origin.settings.shared == true ? "yes" : "no",
            condition.retryAfterUntil?.text ?? "-", condition.retryAfterFor ?? "-",
        ]
    }
}

struct OriginOffline: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "offline",
        abstract: "Set a server offline: nothing leaves for it until it is online again.",
        discussion: """
            Cached answers are still shown; the server stays offline after a restart of the \
            daemon. For administrators of the daemon.

            Example: cachectl origin offline api
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Name of the origin.", completion: DaemonWords.origins)
    var name: String

    func run() async throws {
        try await options.show {
            try await $0.setOrigin(name, offline: true)
        } lines: { origin, console in
            console.remark("\(origin.name) is set offline")
            return []
        }
    }
}

struct OriginOnline: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "online",
        abstract: "Set a server online again that was set offline.",
        discussion: """
            Requests to it leave again. For administrators of \
            the daemon.

            Example: cachectl origin online api
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Name of the origin.", completion: DaemonWords.origins)
    var name: String

    func run() async throws {
        try await options.show {
            try await $0.setOrigin(name, offline: false)
        } lines: { origin, console in
            console.remark("\(origin.name) is set online")
            return []
        }
    }
}
