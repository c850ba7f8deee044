import ArgumentParser
import LarderClient

struct QueueGroup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Show and work on the writes that are to be sent.",
        discussion: """
            Programs write whether there is a network or not; the daemon sends the writes when it \
            can, in order. A write that the server refuses has failed: nothing of it shows any \
            more, and it is kept here until it is sent again or dropped.

            Example: cachectl queue list
            """,
        subcommands: [
            QueueList.self, QueueShow.self, QueueEdit.self, QueueRetry.self, QueueCancel.self,
            QueueDrop.self, QueuePause.self, QueueResume.self, QueueWait.self,
        ]
    )
}

struct QueueWait: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until nothing is left to be sent or answered.",
        discussion: """
            The command waits for writes that need a person's decision, but not for writes that \
            failed permanently. Exit code 75 if something is left when the time is over.

            Example: cachectl queue wait --timeout 30s
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup(title: "Others' writes")
    var whose: ScopeOptions

    @Option(
        help: ArgumentHelp(
            "Wait at most this long, such as 30s; without it, there is no limit.",
            valueName: "duration"
        ),
        transform: durationArgument
    )
    var timeout: Duration?

    func validate() throws { _ = try whose.scope(options) }

    func run() async throws {
        let scope = try whose.scope(options)
        let console = Console()
        let isSent = try await options.withClient { client in
            try await console.waiting(for: "waiting for what is to be sent") {
                try await client.waitUntilSent(within: timeout, scope: scope)
            }
        }
        if options.json {
            let state = isSent ? "settled" : "unsettled"
            try console.write(Array("{\"state\":\"\(state)\"}\n".utf8))
        }
        guard isSent else {
            throw CommandFailure(
                .nothingToShow,
                "there are writes that are not settled yet",
                hint: "See what each waits for: cachectl queue list"
            )
        }
        if !options.json { console.remark("everything is settled") }
    }
}

struct QueuePause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Send nothing of a lane until it is resumed.",
        discussion: """
            A lane that no write has used is paused all the same, and that is said. Writes are \
            accepted and show all the same; one that is on its way is not called back. The lane \
            stays paused after a restart of the daemon.

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
            let scope = options.scope(ofUser: choice.other.uid)
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

struct QueueResume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Send what waits in a lane that was paused.",
        discussion: """
            A lane that is not paused stays as it is.

            Example: cachectl queue resume name:cart
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var choice: LaneChoice

    func run() async throws {
        try await options.withClient { client in
            let scope = options.scope(ofUser: choice.other.uid)
            try await client.setLane(choice.lane, paused: false, scope: scope)
        }
        try options.report("resumed", choice.lane)
    }
}
