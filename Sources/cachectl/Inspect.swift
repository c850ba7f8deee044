import ArgumentParser
import LarderAPI
import LarderClient

/// `cachectl inspect`.
struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says what is known of one entry or entity.",
        discussion: """
            With --diff it says in what the view differs from base, which is what the server said \
            last: a line with - for what is there and one with + for what is shown, each with its \
            place as a JSON pointer. An argument with :// is a URL, any other an id if there is \
            one, else an entity's key. Exit code 3 if there is nothing.

            Example: cachectl inspect https://api.example.com/articles/42 --diff
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "The id, the URL of a fetched answer, or an entity's key.")
    var id: String

    @OptionGroup(title: "Entities")
    var entity: KeyOptions

    @Flag(
        help: ArgumentHelp(
            "Also the origin's headers, the digest, what it refers to and what refers to it, what "
                + "each write that is to be sent makes of it, and why it cannot be evicted."
        )
    )
    var explain = false

    @Flag(help: "Only in what the view differs from base.")
    var diff = false

    @Option(help: ArgumentHelp("That of another user; for administrators.", valueName: "n"))
    var uid: UInt32?

    func run() async throws {
        let scope = options.scope(ofUser: uid)
        func found(_ client: LarderClient) async throws -> EntryExplanation {
            try await entity.found(id, of: client) { id throws(LarderError) in
                try await client.explain(id, scope: scope)
            }
        }
        guard diff else {
            try await options.show(found) { found, _ in found.table(explain: explain).lines }
            return
        }
        try show(ViewDifference(await options.withClient(found)), on: Console())
    }

    func validate() throws {
        if case .url = EntryArgument(id), entity.isForced {
            throw ValidationError("--key and --origin are for keys; '\(id)' is a URL.")
        }
        if diff, explain { throw ValidationError("--diff and --explain exclude each other.") }
    }

    private func show(_ difference: ViewDifference, on console: Console) throws {
        if options.json {
            try console.write(difference.encoded() + [UInt8(ascii: "\n")])
        } else if difference.lines.isEmpty {
            console.remark("the view is what the server said last")
        } else {
            for line in difference.lines { try console.line(TerminalText(line)) }
        }
    }
}
