import ArgumentParser
import LarderClient

/// `cachectl queue wait`.
struct QueueWait: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Waits until nothing is left to be sent or answered.",
        discussion: """
            What failed for good is not waited for; what waits for a person is. Exit code 75 if \
            something is left when the time is over.

            Example: cachectl queue wait --timeout 30s
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup(title: "Others' writes")
    var whose: ScopeOptions

    @Option(
        help: ArgumentHelp(
            "How long at most, 30s; else as long as it takes.",
            valueName: "duration"
        ),
        transform: durationArgument
    )
    var timeout: Duration?

    func validate() throws {
        _ = try whose.scope(options)
    }

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
