import ArgumentParser
import LarderAPI
import LarderClient
import LarderModel
import LarderWire

/// `cachectl purge`.
struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Takes away all that is kept of a user.",
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

    @Option(help: ArgumentHelp("Whose.", valueName: "n"))
    var uid: UInt32

    @Flag(help: "Do not ask.")
    var yes = false

    func run() async throws {
        let console = Console()
        let scope = EntryScope.user(uid, account: options.account)
        guard yes || console.canAsk else {
            throw CommandFailure(
                .usage,
                "there is no terminal to ask on",
                hint: "Give --yes to purge. See what goes: cachectl df --uid \(uid)"
            )
        }
        try await options.withClient { client in
            if !yes {
                let usage = try await client.usage(scope: scope)
                let size = Words.size(usage.rows.accountedBytes + usage.pins.accountedBytes)
                console.note(line: "uid \(uid) has \(usage.rows.entries) entries, \(size)")
                guard console.confirms("Take all of it away, with the writes that wait?") else {
                    throw CommandFailure(.failed, "nothing was purged")
                }
            }
            let sent = SentReports()
            let report = try await console.waiting(for: "purging") {
                try await sent.noting { try await client.purge(scope) }
            }
            if options.json {
                try console.write(line: sent.last)
            } else {
                let words = "\(report.entries) entries, \(Words.size(report.accountedBytes))"
                try console.line("purged: \(words), \(report.modifiers) writes")
            }
        }
    }
}
