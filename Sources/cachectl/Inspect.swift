import ArgumentParser
import LarderClient
import LarderModel
import LarderWire

/// `cachectl inspect`.
struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says what is known of one entry.",
        discussion: """
            Exit code 3 if there is nothing under the id.

            Example: cachectl inspect https://api.example.com/articles/42 --explain
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "The id, or the URL of a fetched answer.")
    var id: String

    @Flag(help: "Also the origin's headers, the digest, and why it cannot be evicted.")
    var explain = false

    @Option(help: ArgumentHelp("That of another user; for administrators.", valueName: "n"))
    var uid: UInt32?

    func run() async throws {
        let id = EntryArgument(id).rowID
        let scope = options.scope(ofUser: uid)
        let explanation = try await options.withClient { client in
            try await client.explain(id, scope: scope)
        }
        let console = Console()
        if options.json {
            let found = explanation.explanation
            let json = explain ? found.encoded() : found.item.encoded()
            try console.write(json + [UInt8(ascii: "\n")])
        } else {
            for line in table(explanation.explanation).lines { try console.line(line) }
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
        guard explain else { return table }
        add("last modified", found.lastModified ?? "-")
        add("digest", found.digest)
        add("can be evicted", found.protectedBy.isEmpty ? "yes" : "no")
        for reason in found.protectedBy { add("because", reason) }
        for field in found.headers.fields { add("header", "\(field.name): \(field.value)") }
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
