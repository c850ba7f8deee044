import ArgumentParser
import LarderClient
import LarderModel

struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print what changes in the cache, as it happens.",
        discussion: """
            Each event is a line: what, its revision, the id, and why; of a write its id, state, \
            and what it changes. The command goes on by itself after a restart of the daemon, and \
            ends when it is interrupted. With --since it begins with what has changed after a \
            revision.

            Example: cachectl watch --prefix https://api.example.com/ --json
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @Argument(
        help: "Ids, or URLs of fetched answers, to watch; without any, everything.",
        completion: DaemonWords.ids
    )
    var ids: [String] = []

    @Option(help: ArgumentHelp("Watch the entity of this key; may be repeated.", valueName: "key"))
    var key: [String] = []

    @Option(
        help: ArgumentHelp(
            "Origin of the --key; needed where several origins have rules.",
            valueName: "name"
        )
    )
    var origin: String?

    @Option(
        help: ArgumentHelp(
            "Watch ids that begin with this text; may be repeated.",
            valueName: "prefix"
        )
    )
    var prefix: [String] = []

    @Option(
        help: ArgumentHelp("Begin with the changes after this revision.", valueName: "revision")
    )
    var since: Int64?

    @Option(help: ArgumentHelp("End after this many events.", valueName: "number"))
    var count: Int?

    @Flag(help: "Begin with the entries that exist.")
    var initial = false

    func validate() throws {
        guard origin == nil || !key.isEmpty else {
            throw ValidationError("--origin says whose the --key is; without one it says nothing.")
        }
    }

    func run() async throws {
        var watch = WatchCommand()
        watch.prefixes = prefix
        (watch.since, watch.options.initial) = (since, initial)
        let console = Console()
        try await options.withClient { client in
            // The daemon must answer once; a watch that has begun waits for one that is away.
            _ = try await client.status()
            var names = ids
            for key in key { names.append(try await client.entityID(key, origin: origin)) }
            watch.ids = names
            var left = count ?? .max
            for try await element in client.watchLines(watch) {
                switch element.event {
                case .frame(let frame):
                    let fields = fields(frame)
                    if options.json {
                        try console.write(element.line + [UInt8(ascii: "\n")])
                    } else if let fields {
                        try console.columns(fields)
                    }
                    left -= fields == nil ? 0 : 1
                    guard left > 0 else { return }
                case .lost: console.note("what has changed meanwhile is not known any more")
                case .disconnected(let error): console.note(error.summary)
                }
            }
        }
    }

    /// Fields of a line for a person; nil for a frame that only a program needs.
    private func fields(_ frame: WatchFrame) -> [String]? {
        let words: [String]
        switch frame {
        case .put(let change), .delete(let change):
            let count = change.coalesced.map { ["(\($0) in one)"] } ?? []
            words = ["\(change.rev)", change.id, change.source] + count
        case .evict(let eviction):
            words = ["\(eviction.rev)", eviction.id, eviction.reason]
        case .modifier(let modifier): words = self.words(modifier)
        case .remapped(let change):
            words = ["\(change.rev)", change.from, change.to]
        case .auth(let auth):
            words = ["\(auth.rev)", "\(auth.origin)/\(auth.account)", auth.state]
        case .origin(let origin):
            words = ["\(origin.rev)", origin.origin, origin.state.rawValue]
        case .prefetch(let set): words = ["\(set.rev)", set.name, set.state.rawValue]
        case .bookmark, .lagged, .heartbeat, .end, .other: return nil
        }
        return [frame.type] + words
    }

    private func words(_ modifier: ModifierFrame) -> [String] {
        var words = [modifier.state.rawValue]
        if modifier.stalled == true { words.append("stalled") }
        if modifier.dropped == true { words.append("dropped") }
        if modifier.edited == true { words.append("edited") }
        if modifier.answered == true { words.append("answered") }
        if let reason = modifier.reason { words.append("(\(reason))") }
        let targets = (modifier.targets ?? modifier.reverted ?? []).map(\.id)
        return [
            "\(modifier.rev)", modifier.id, words.joined(separator: " "),
            targets.joined(separator: " "),
        ]
    }
}
