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
        let lane = try await options.withClient { client in
            let lane = try await choice.lane.lane(client)
            try await client.setLane(lane, paused: false, scope: choice.scope(options))
            return lane
        }
        try options.report("resumed", lane)
    }
}
