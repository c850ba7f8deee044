import ArgumentParser
import LarderClient
import LarderModel
import LarderWire

/// `cachectl inspect`.
struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says what is known of one entry.",
        discussion: """
            With --diff it says in what the view differs from base, which is what the server said \
            last: a line with - for what is there and one with + for what is shown, each with its \
            place as a JSON pointer. Exit code 3 if there is nothing under the id.

            Example: cachectl inspect https://api.example.com/articles/42 --diff
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "The id, or the URL of a fetched answer.")
    var id: String

    @Flag(
        help: ArgumentHelp(
            "Also the origin's headers, the digest, what each write that is to be sent makes of it, "
                + "and why it cannot be evicted."
        )
    )
    var explain = false

    @Flag(help: "Only in what the view differs from base.")
    var diff = false

    @Option(help: ArgumentHelp("That of another user; for administrators.", valueName: "n"))
    var uid: UInt32?

    func run() async throws {
        let id = EntryArgument(id).rowID
        let scope = options.scope(ofUser: uid)
        let explanation = try await options.withClient { client in
            try await client.explain(id, scope: scope)
        }
        let console = Console()
        if diff { return try show(ViewDifference(explanation.explanation), on: console) }
        if options.json {
            let found = explanation.explanation
            let json = explain ? found.encoded() : found.item.encoded()
            try console.write(json + [UInt8(ascii: "\n")])
        } else {
            for line in table(explanation.explanation).lines { try console.line(line) }
        }
    }

    func validate() throws {
        if diff, explain { throw ValidationError("--diff and --explain exclude each other.") }
    }

    private func show(_ difference: ViewDifference, on console: Console) throws {
        if options.json {
            try console.write(difference.encoded() + [UInt8(ascii: "\n")])
        } else if difference.lines.isEmpty {
            console.remark("the view is what the server said last")
        } else {
            for line in difference.lines { try console.line(TerminalText.harmless(line)) }
        }
    }

    private func table(_ found: EntryExplanation) -> Table {
        let item = found.item
        let age = Words.span(WallClock.now().since(item.storedAt))
        var table = Table(alignsRight: [false, false])
        func add(_ name: String, _ value: String) {
            table.add(name, TerminalText.harmless(value))
        }
        add("id", item.id.text)
        add("kind", kind(item))
        if let origin = item.origin { add("origin", origin.text) }
        add("status", String(item.status))
        add("media type", item.mediaType ?? "-")
        add("bytes", "\(item.byteCount), with its row \(item.accountedBytes)")
        add("stored", "\(item.storedAt.rfc3339), \(age) ago")
        switch item.kind {
        case .blob: add("kept until", item.freshUntil?.rfc3339 ?? "it is removed or evicted")
        case .fetched, .variants, .tombstone:
            add("fresh until", item.freshUntil?.rfc3339 ?? "-")
            add("stale", item.isStale ? "yes" : "no")
        }
        add("revision", String(item.revision.number))
        add("etag", item.etag)
        if let pending = found.pending { add("to be sent", String(pending.count)) }
        guard explain else { return table }
        add("last modified", found.lastModified ?? "-")
        add("digest", found.digest)
        add("can be evicted", found.protectedBy.isEmpty ? "yes" : "no")
        for reason in found.protectedBy { add("because", reason) }
        for field in found.headers.fields { add("header", "\(field.name): \(field.value)") }
        guard let pending = found.pending else { return table }
        add("base", pending.base.words)
        for step in pending.steps {
            let leftOut = step.inapplicable.map { ", left out: \($0)" } ?? ""
            add("modifier", "\(step.id), \(step.state.rawValue), \(step.effect)\(leftOut)")
            if let view = step.after { add("  with it", view.words) }
            if let view = step.without { add("  without it", view.words) }
        }
        add("view", pending.view.words)
        return table
    }

    private func kind(_ item: EntryListItem) -> String {
        switch item.kind {
        case .blob: "a program's own bytes"
        case .fetched, .variants: "an origin's answer"
        case .tombstone: "deleted at the origin"
        }
    }
}
