import ArgumentParser
import LarderClient

/// `cachectl queue drop`.
struct QueueDrop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Gives a write up: one that failed for good, or was not sent.",
        discussion: """
            What may have reached the server is given up with --discard only: it becomes one that \
            failed, and what the server has is asked for again. Exit code 3 if there is none of \
            this id.

            Example: cachectl queue drop 01JD2Q4W6Z0000000000000000
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var one: OneModifier

    @Flag(help: "Also if bytes of it may have reached the server.")
    var discard = false

    func run() async throws {
        let scope = one.scope(options)
        try await options.withClient { client in
            if discard {
                try await client.discardModifier(one.id, scope: scope)
            } else {
                try await client.cancelModifier(one.id, scope: scope)
            }
        }
        let console = Console()
        if options.json {
            try console.write(JSONLine.object(["id": one.id, "outcome": "dropped"]))
        } else {
            console.remark("dropped \(one.id)")
        }
    }
}
