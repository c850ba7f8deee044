import ArgumentParser
import LarderAPI
import LarderClient
import LarderWire

/// `cachectl origin online`.
struct OriginOnline: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "online",
        abstract: "Sets a server online again that was set offline.",
        discussion: """
            Requests to it leave again. For administrators of \
            the daemon.

            Example: cachectl origin online api
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Its name.")
    var name: String

    func run() async throws {
        let origin = try await options.withClient { client in
            try await client.setOrigin(name, offline: false)
        }
        let console = Console()
        if options.json {
            try console.write(json: origin)
        } else {
            console.remark("\(origin.name) is set online")
        }
    }
}
