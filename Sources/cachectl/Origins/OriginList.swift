import ArgumentParser
import LarderAPI
import LarderClient
import LarderModel
import LarderWire

/// `cachectl origin list`.
struct OriginList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the servers that the daemon may ask.",
        discussion: """
            In a pipe the columns are name, base URL, state (online, unknown, offline, captive, or \
            offline-by-hand), since when, the file that it stands in, api for one that was added, or \
            implicit for a public host that was asked, whose its answers are (user or shared), until \
            when it is to be left alone, as it has told an account to wait, and which account that \
            is (UID:ACCOUNT, or shared); with tabs between them.

            Example: cachectl origin list
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    func run() async throws {
        let console = Console()
        let count = try await options.withClient { client in
            try await console.list(
                Pages { _ throws(LarderError) in (try await client.origins(), nil) },
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
