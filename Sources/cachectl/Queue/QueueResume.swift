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
            try await client.resumeLane(choice.lane, scope: choice.scope(options))
        }
        let console = Console()
        if options.json {
            try console.write(JSONLine.object(["lane": choice.lane.text, "state": "resumed"]))
        } else {
            console.remark("resumed \(choice.lane.text)")
        }
    }
}
