import ArgumentParser
import LarderClient

/// `cachectl queue pause`.
struct QueuePause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Sends nothing of a lane until it is resumed.",
        discussion: """
            Writes are accepted and show all the same; one that is on its way is not called back. It \
            holds when the daemon is started anew, too.

            Example: cachectl queue pause name:cart
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var choice: LaneChoice

    func run() async throws {
        let lane = try await options.withClient { client in
            let lane = try await choice.lane.lane(client)
            try await client.pauseLane(lane, scope: choice.scope(options))
            return lane
        }
        let console = Console()
        if options.json {
            try console.write(JSONLine.object(["lane": lane.text, "state": "paused"]))
        } else {
            console.remark("paused \(lane.text)")
        }
    }
}
