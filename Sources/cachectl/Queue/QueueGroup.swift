import ArgumentParser

/// `cachectl queue`.
struct QueueGroup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Shows and works on the writes that are to be sent.",
        discussion: """
            Programs write whether there is a network or not; the daemon sends it when it can, in \
            order. What the server refuses has failed: nothing of it shows any more, and it is kept \
            here until it is sent again or dropped.

            Example: cachectl queue list
            """,
        subcommands: [
            QueueList.self, QueueShow.self, QueueRetry.self, QueueCancel.self, QueueDrop.self,
            QueuePause.self, QueueResume.self, QueueWait.self,
        ]
    )
}
