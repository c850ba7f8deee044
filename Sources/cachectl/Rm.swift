import ArgumentParser
import LarderClient

/// `cachectl rm`.
struct Rm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Removes bytes of your own, or forgets what an origin answered.",
        discussion: """
            Exit code 3 if there is nothing under the id.

            Example: cachectl rm clock
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "The id, or the URL of a fetched answer.")
    var id: String

    @Flag(help: "Remove the row that all users see; for administrators.")
    var shared = false

    func run() async throws {
        let id = EntryArgument(id).rowID
        let scope: EntryScope = shared ? .shared : .own
        _ = try await options.withClient { try await $0.remove(id, from: scope) }
        try options.report("removed", id)
    }
}
