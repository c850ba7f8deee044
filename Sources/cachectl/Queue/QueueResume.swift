import ArgumentParser
import LarderClient

/// `cachectl queue resume`.
struct QueueResume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Sends what waits in a lane that was paused.",
        discussion: """
            One that is not paused stays as it is.

            Example: cachectl queue resume name:cart
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var choice: LaneChoice

    func run() async throws {
        try await options.withClient { client in
            let scope = choice.scope(options)
            try await client.setLane(choice.lane, paused: false, scope: scope)
        }
        try options.report("resumed", choice.lane)
    }
}
