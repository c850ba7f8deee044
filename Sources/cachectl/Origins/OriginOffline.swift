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
        try await options.show {
            try await $0.setOrigin(name, offline: true)
        } lines: { origin, console in
            console.remark("\(origin.name) is set offline")
            return []
        }
    }
}
