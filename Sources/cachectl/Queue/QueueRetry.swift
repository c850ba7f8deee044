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
            --state it is all in that state, of --origin where that is given, 10,000 at a time; it \
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
                verb: "Retry",
                outcome: "queued",
                selection: which,
                options: options
            )
            try await round.run(of: client, on: console) { report, scope throws(LarderError) in
                try await client.retryModifier(report.id, scope: scope)
            }
        }
    }

    private func retry(
        _ id: String,
        of client: LarderClient,
        on console: Console
    ) async throws {
        let accepted = try await client.retryModifier(id, scope: which.scope(options))
        if options.json {
            try console.write(accepted.encodedJSON() + [UInt8(ascii: "\n")])
        } else {
            console.remark("\(accepted.id) is \(accepted.state.rawValue)")
        }
    }
}
