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
        try await options.show {
            try await $0.setOrigin(name, offline: false)
        } lines: { origin, console in
            console.remark("\(origin.name) is set online")
            return []
        }
    }
}
