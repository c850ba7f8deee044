import ArgumentParser
import LarderClient
import LarderModel

struct Put: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Store bytes of your own under an id.",
        discussion: """
            The bytes are on disk when the command returns. Of any size, they are streamed.

            Example: date | cachectl put clock --type text/plain --ttl 7d
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Id of the entry: any text except a URL under an origin's base URL.")
    var id: String

    @Argument(help: "File with the bytes; - or nothing is stdin.")
    var file = "-"

    @Option(
        help: ArgumentHelp(
            "Media type; by default the one of the file's name, or application/octet-stream.",
            valueName: "media-type"
        )
    )
    var type: String?

    @Option(
        help: ArgumentHelp("Keep the entry for this long, such as 7d.", valueName: "duration"),
        transform: durationArgument
    )
    var ttl: Duration?

    @Flag(help: "Pin the entry as well: it is never evicted and outlives the loss of the cache.")
    var pin = false

    func run() async throws {
        let input = try InputFile(file)
        let receipt = try await options.withClient { client in
            try await client.put(
                id,
                chunks: input,
                byteCount: input.byteCount,
                mediaType: type ?? MediaTypes.guess(file),
                ttl: ttl,
                isPinned: pin
            )
        }
        try options.report(receipt.isNew ? "created" : "replaced", id)
    }
}

private enum MediaTypes {
    static func guess(_ path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return unknown }
        return known[name[name.index(after: dot)...].lowercased()] ?? unknown
    }

    private static let unknown = "application/octet-stream"
    private static let known = [
        "css": "text/css",
        "csv": "text/csv",
        "gif": "image/gif",
        "htm": "text/html",
        "html": "text/html",
        "jpeg": "image/jpeg",
        "jpg": "image/jpeg",
        "js": "text/javascript",
        "json": "application/json",
        "md": "text/markdown",
        "pdf": "application/pdf",
        "png": "image/png",
        "svg": "image/svg+xml",
        "txt": "text/plain",
        "xml": "application/xml",
        "yaml": "application/yaml",
    ]
}

struct Rm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove bytes of your own, or forget what an origin answered.",
        discussion: """
            Exit code 3 if there is nothing under the id.

            Example: cachectl rm clock
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Id of the entry, or URL of a fetched answer.", completion: DaemonWords.ids)
    var id: String

    @Flag(help: "Remove the row that all users see; for administrators.")
    var shared = false

    func run() async throws {
        let id = EntryArgument(id).rowID
        let scope: EntryScope = shared ? .shared : .own
        _ = try await options.withClient { try await $0.remove(id, from: scope) }
        try options.report("removed", id)
    }
}
