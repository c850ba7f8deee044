import ArgumentParser
import LarderClient

/// `cachectl origin rm`.
struct OriginRm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Takes a server away that was added.",
        discussion: """
            What is cached of it stays; `cachectl evict --origin NAME` drops that. One that stands \
            in a file of the configuration is taken away there. For administrators of the daemon.

            Example: cachectl origin rm api
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Its name.")
    var name: String

    func run() async throws {
        try await options.withClient { try await $0.removeOrigin(name) }
        try options.report("removed", name)
    }
}
