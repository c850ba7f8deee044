import ArgumentParser
import LarderClient
import LarderModel
import LarderWire

/// `cachectl queue retry`.
struct QueueRetry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Has writes sent again that failed or wait.",
        discussion: """
            One that failed for good shows again, and takes its place behind all others. One that \
            waits for its next attempt, a decision or a credential is sent when it is its turn. With \
            --state it is all in that state, of --origin where that is given; it \
            asks first on a terminal, and without one needs --yes. \
            Exit code 3 if there is none of this id.

            Example: cachectl queue retry 01JD2Q4W6Z0000000000000000
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var which: WriteSelection

    func run() async throws {
        let console = Console()
        try await options.withClient { client in
            if let id = which.id { return try await retry(id, of: client, on: console) }
            let round = WriteRound(
                action: .retry,
                verb: "Retry",
                outcome: "queued",
                selection: which,
                options: options
            )
            try await round.run(of: client, on: console)
        }
    }

    private func retry(
        _ id: String,
        of client: LarderClient,
        on console: Console
    ) async throws {
        let scope = which.scope(options)
        let state = try await client.act(.retry, onModifier: id, scope: scope)
        if options.json {
            try options.report("queued", id)
        } else {
            console.remark("\(id) is \(state?.rawValue ?? "gone")")
        }
    }
}
