import ArgumentParser
import LarderClient
import LarderModel
import LarderWire

/// `cachectl queue drop`.
struct QueueDrop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Gives writes up: such as failed for good, or were not sent.",
        discussion: """
            What depends on one that is not settled goes with it, and is named. With --state it is \
            all in that state, of --origin where that is given; it asks first on a \
            terminal, and without one needs --yes. What may have reached the server is given up \
            with --discard only: it becomes one that failed, and what the server has is asked for \
            again. Exit code 3 if there is none of this id.

            Example: cachectl queue drop 01JD2Q4W6Z0000000000000000
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var which: WriteSelection

    @Flag(help: "Also if bytes of it may have reached the server.")
    var discard = false

    func run() async throws {
        let console = Console()
        try await options.withClient { client in
            if let id = which.id { return try await drop(id, of: client, on: console) }
            let round = WriteRound(
                action: discard ? .discard : .drop,
                verb: "Drop",
                outcome: "dropped",
                selection: which,
                options: options
            )
            try await round.run(of: client, on: console)
        }
    }

    private func drop(
        _ id: String,
        of client: LarderClient,
        on console: Console
    ) async throws {
        let scope = which.scope(options)
        let dependants = try await client.modifier(id, scope: scope).dependants
        let others = dependants.count == 1 ? "1 that depends" : "\(dependants.count) that depend"
        if !dependants.isEmpty, !which.yes, console.canAsk {
            for other in dependants { console.note(line: "  \(other)") }
            guard console.confirms("Drop \(id), and \(others) on it?") else {
                throw CommandFailure(.failed, "nothing was dropped")
            }
        }
        try await client.act(discard ? .discard : .drop, onModifier: id, scope: scope)
        if options.json || dependants.isEmpty {
            for gone in [id] + dependants { try options.report("dropped", gone) }
        } else {
            console.note(
                "dropped \(id), and \(others) on it: \(dependants.joined(separator: ", "))"
            )
        }
    }
}
