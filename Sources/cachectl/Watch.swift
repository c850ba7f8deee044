import ArgumentParser
import LarderClient
import LarderModel
import LarderWire

import struct LarderClient.WatchOptions

/// `cachectl watch`.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints what changes in the cache, as it happens.",
        discussion: """
            A line an event: what, its revision, the id or an entity's origin/key, and why; of a \
            write its id, state, and what it changes. It goes on by itself when the \
            daemon was started anew, and ends when it is interrupted. With --since it begins with \
            what has changed after a revision.

            Example: cachectl watch --prefix https://api.example.com/ --json
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(help: "Ids, or the URLs of fetched answers; without any, everything.")
    var ids: [String] = []

    @Option(help: ArgumentHelp("An entity, by its key; may be repeated.", valueName: "key"))
    var key: [String] = []

    @Option(
        help: ArgumentHelp(
            "Whose the keys are; needed where several origins have rules.",
            valueName: "name"
        )
    )
    var origin: String?

    @Option(help: ArgumentHelp("What ids begin with; may be repeated.", valueName: "prefix"))
    var prefix: [String] = []

    @Option(help: ArgumentHelp("The last revision that you have seen.", valueName: "revision"))
    var since: Int64?

    @Option(help: ArgumentHelp("End after so many events.", valueName: "number"))
    var count: Int?

    @Flag(help: "Begin with the entries that there are.")
    var initial = false

    func validate() throws {
        guard origin == nil || !key.isEmpty else {
            throw ValidationError("--origin says whose the --key is; without one it says nothing.")
        }
    }

    func run() async throws {
        var watch = WatchOptions()
        watch.ids = ids.map { EntryArgument($0).rowID }
        watch.keys = key
        watch.origin = origin
        watch.prefixes = prefix
        watch.since = since
        watch.includesExisting = initial
        let console = Console()
        try await options.withClient { client in
            // The daemon must answer once; a watch that has begun waits for one that is away.
            _ = try await client.status()
            var left = count ?? .max
            for try await element in try client.watchLines(watch) {
                switch element {
                case .frame(let frame, let line):
                    let fields = fields(frame)
                    if options.json {
                        try console.write(line + [UInt8(ascii: "\n")])
                    } else if let fields {
                        try console.columns(fields)
                    }
                    left -= fields == nil ? 0 : 1
                    guard left > 0 else { return }
                case .lost: console.note("what has changed meanwhile is not known any more")
                case .disconnected(let error): console.note(error.description)
                }
            }
        }
    }

    /// What a line for a person says; nil for what only a program needs.
    private func fields(_ frame: WatchFrame) -> [String]? {
        switch frame {
        case .put(let event), .delete(let event):
            let count = event.coalesced > 1 ? ["(\(event.coalesced) in one)"] : []
            return fields(frame, event.revision, [event.id.description, event.source] + count)
        case .evict(let event):
            return fields(frame, event.revision, [event.id.description, event.reason])
        case .modifier(let event):
            return fields(frame, event.revision, fields(event.change))
        case .auth(let revision, let name, let account, let state):
            return fields(frame, revision, ["\(name)/\(account)", state])
        case .origin(let revision, let name, let state):
            return fields(frame, revision, ["\(name)", state])
        case .bookmark, .lagged, .heartbeat, .end: return nil
        }
    }

    private func fields(
        _ frame: WatchFrame,
        _ revision: Revision,
        _ rest: [String]
    ) -> [String] {
        [frame.type, String(revision.number)] + rest
    }

    private func fields(_ change: ModifierChange) -> [String] {
        var words = [change.state.rawValue]
        if let mark = change.mark { words.append(mark.rawValue) }
        if let reason = change.reason { words.append("(\(reason.rawValue))") }
        return [
            change.id.text, words.joined(separator: " "),
            change.targets.map(\.description).joined(separator: " "),
        ]
    }
}
