import ArgumentParser
import LarderAPI
import LarderClient
import LarderWire

/// `cachectl origin offline`.
struct OriginOffline: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "offline",
        abstract: "Sets a server offline: nothing leaves for it until it is online again.",
        discussion: """
            What is cached is still shown; it holds when the daemon is started anew, too. For administrators of \
            the daemon.

            Example: cachectl origin offline api
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Its name.")
    var name: String

    func run() async throws {
        let origin = try await options.withClient { client in
            try await client.setOrigin(name, offline: true)
        }
        let console = Console()
        if options.json {
            try console.write(json: origin)
        } else {
            console.remark("\(origin.name) is set offline")
        }
    }
}
