import ArgumentParser
import LarderClient
import LarderWire

/// `cachectl queue retry`.
struct QueueRetry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Has a write sent again that failed or waits.",
        discussion: """
            One that failed for good shows again, and takes its place behind all others. One that \
            waits for its next attempt, a decision or a credential is sent when it is its turn. \
            Exit code 3 if there is none of this id.

            Example: cachectl queue retry 01JD2Q4W6Z0000000000000000
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var one: OneModifier

    func run() async throws {
        let accepted = try await options.withClient { client in
            try await client.retryModifier(one.id, scope: one.scope(options))
        }
        let console = Console()
        if options.json {
            try console.write(accepted.receipt.encoded() + [UInt8(ascii: "\n")])
        } else {
            console.remark("\(accepted.id) is \(accepted.state.rawValue)")
        }
    }
}
