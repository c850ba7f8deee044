import ArgumentParser
import LarderClient

/// `cachectl queue pause`.
struct QueuePause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Sends nothing of a lane until it is resumed.",
        discussion: """
            A lane that no write has used is paused all the same, and that is said. Writes are \
            accepted and show all the same; one that is on its way is not called back. It \
            holds when the daemon is started anew, too.

            Example: cachectl queue pause name:cart
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var choice: LaneChoice

    func run() async throws {
        let (lane, isUsed) = try await options.withClient { client in
            let lane = choice.lane
            let scope = choice.scope(options)
            try await client.setLane(lane, paused: true, scope: scope)
            return (lane, try await Self.isUsed(lane, scope, client))
        }
        if !isUsed {
            let console = Console()
            console.note("no write that is known has used the lane \(lane)")
            console.note(line: "See the lanes of a write: cachectl queue show ID")
        }
        try options.report("paused", lane)
    }

    /// Whether a write of the queue or of the history is of the lane.
    private static func isUsed(
        _ lane: String,
        _ scope: EntryScope,
        _ client: LarderClient
    ) async throws -> Bool {
        for selection in [ModifierSelection.open, .settled] {
            let list = client.modifiers(selection, lane: lane, scope: scope)
            for try await _ in list { return true }
        }
        return false
    }
}
