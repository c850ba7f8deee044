import ArgumentParser
import LarderAPI
import LarderClient
import LarderModel
import LarderWire

struct QueueRetry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retry writes that failed or wait.",
        discussion: """
            A write that failed permanently shows again, and is queued after all others. A write \
            that waits for its next attempt, a decision or a credential is sent when it is its \
            turn. With --state the command retries all writes in that state, of --origin where \
            that is given; it asks first on a terminal, and without one needs --yes. Exit code 3 \
            if no write has this id.

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
            try await which.act(.retry, "Retry", "queued", options, of: client, on: console)
        }
    }

    private func retry(
        _ id: String,
        of client: LarderClient,
        on console: Console
    ) async throws {
        let scope = options.scope(ofUser: which.other.uid)
        let state = try await client.act(.retry, onModifier: id, scope: scope)
        if options.json {
            try options.report("queued", id)
        } else {
            console.remark("\(id) is \(state?.rawValue ?? "gone")")
        }
    }
}

struct QueueCancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Take a write back before it is sent.",
        discussion: """
            The changes of the write do not show any more, and what depends on it is taken back \
            with it. A write that may have reached the server is not taken back; `cachectl queue \
            drop --discard` gives it up. Exit code 3 if no write has this id.

            Example: cachectl queue cancel 01JD2Q4W6Z0000000000000000
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var one: OneModifier

    func run() async throws {
        let scope = options.scope(ofUser: one.other.uid)
        try await options.withClient { client in
            _ = try await client.act(.cancel, onModifier: one.id, scope: scope)
        }
        try options.report("cancelled", one.id)
    }
}

struct QueueDrop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Give up writes that failed permanently or were not sent.",
        discussion: """
            The writes that depend on a write that is not settled go with it, and are named. With \
            --state the command drops all writes in that state, of --origin where that is given; \
            it asks first on a terminal, and without one needs --yes. A write that may have \
            reached the server is given up with --discard only: it becomes a failed write, and the \
            daemon asks again for what the server has. Exit code 3 if no write has this id.

            Example: cachectl queue drop 01JD2Q4W6Z0000000000000000
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var which: WriteSelection

    @Flag(help: "Drop a write also if bytes of it may have reached the server.")
    var discard = false

    func run() async throws {
        let console = Console()
        try await options.withClient { client in
            if let id = which.id { return try await drop(id, of: client, on: console) }
            guard let state = which.state else { return }
            let step = action(in: state)
            try await which.act(step, "Drop", "dropped", options, of: client, on: console)
        }
    }

    /// A write that waits is taken back or given up; the daemon drops only one that failed.
    private func action(in state: LarderAPI.ModifierState) -> ModifierAction {
        if state == .failed { return .drop }
        return discard ? .discard : .cancel
    }

    private func drop(
        _ id: String,
        of client: LarderClient,
        on console: Console
    ) async throws {
        let scope = options.scope(ofUser: which.other.uid)
        let report = try await client.modifier(id, scope: scope)
        let dependants = report.dependants
        let others = dependants.count == 1 ? "1 that depends" : "\(dependants.count) that depend"
        if !dependants.isEmpty, !which.yes, console.canAsk {
            for other in dependants { console.note(line: "  \(other)") }
            try console.confirm("Drop \(id), and \(others) on it?", else: "nothing was dropped")
        }
        try await client.act(action(in: report.state), onModifier: id, scope: scope)
        if options.json || dependants.isEmpty {
            for gone in [id] + dependants { try options.report("dropped", gone) }
        } else {
            console.note(
                "dropped \(id), and \(others) on it: \(dependants.joined(separator: ", "))"
            )
        }
    }
}

struct QueueEdit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Give a write other changes and another request.",
        discussion: """
            The JSON is an object with `changes` and `request` as in a new write, and replaces both. A \
            write that waits keeps its place. A write that failed stays so until `cachectl queue \
            retry` sends it again. A write that the server may have applied is not changed. Exit code \
            3 if no write has this id.

            Example: cachectl queue edit 01JD2Q4W6Z0000000000000000 --file write.json
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup
    var one: OneModifier

    @Option(help: ArgumentHelp("File with the JSON; - or nothing is stdin.", valueName: "path"))
    var file = "-"

    func run() async throws {
        var json: [UInt8] = []
        for try await chunk in try InputFile(file) { json += chunk }
        let given = json
        try await options.withClient { client in
            let edit: ModifierEdit
            do throws(APIDecodingError) {
                edit = try APIDecoder(.strict).decode(from: given)
            } catch {
                throw LarderError.problem(Problem(error))
            }
            try await client.edit(one.id, to: edit, scope: options.scope(ofUser: one.other.uid))
        }
        try options.report("edited", one.id)
    }
}
