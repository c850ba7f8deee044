import ArgumentParser
import LarderClient
import LarderModel

struct Ls: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List what is cached.",
        discussion: """
            In a pipe the columns are id, bytes, accounted bytes, time of storing, state (fresh, \
            stale, own, known, deleted, or unsent: only writes that wait to be sent have made it) \
            and media type, with tabs between them; with --uid or --all-users whose it is comes \
            last, as 1000/work. With --type, or a prefix that begins with entity:, entities are \
            listed.

            Example: cachectl ls https://api.example.com/ --sort size --limit 20
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup(title: "Others' entries")
    var whose: ScopeOptions

    @Argument(help: "List only ids that begin with this text.", completion: DaemonWords.ids)
    var prefix: String?

    @Option(
        help: ArgumentHelp("List only entries of this origin.", valueName: "name"),
        completion: DaemonWords.origins
    )
    var origin: String?

    @Option(
        help: ArgumentHelp(
            "List entities of this type; --origin is needed if several origins have rules.",
            valueName: "type"
        )
    )
    var type: String?

    @Option(
        help: ArgumentHelp(
            "Order of the list: id, size (the largest first), age (the oldest first) or used (the "
                + "least recently used first).",
            valueName: "order"
        ),
        transform: wireArgument
    )
    var sort = EntryOrder.id

    @Option(help: ArgumentHelp("List at most this many; without it, all.", valueName: "n"))
    var limit: Int?

    func validate() throws {
        guard type == nil || prefix == nil else {
            throw ValidationError("Give one of a prefix and --type.")
        }
        if let limit, limit < 1 { throw ValidationError("--limit is a number from 1 on.") }
        _ = try whose.scope(options)
    }

    func run() async throws {
        let console = Console()
        let scope = try whose.scope(options)
        let count = try await options.withClient { client in
            var prefix = prefix
            if let type {
                let origin = try await client.entityOrigin(origin)
                prefix = LarderClient.entityID(EntityKey.typePrefix(type), of: origin)
            }
            let list = client.allEntries(prefix: prefix, origin: origin, sort: sort, scope: scope)
            return try await print(list, on: console)
        }
        if count == 0, !options.json { console.remark(type == nil ? "no entries" : "no entities") }
    }

    private func print(_ list: Pages<EntryItem>, on console: Console) async throws -> Int {
        try await console.list(
            list,
            upTo: limit,
            asJSON: options.json,
            fields: { item in
                [
                    item.id, String(item.bodyBytes), String(item.accountedBytes),
                    item.storedAt.text, state(item),
                    item.mediaType ?? "-",
                ] + owner(item.owner)
            },
            columns: [
                Column("SIZE", alignsRight: true) { HumanFormat.size(Int64($0.bodyBytes)) },
                Column("AGE", alignsRight: true) { HumanFormat.age($0.storedAt) },
                Column("STATE", state),
                Column("TYPE") { $0.mediaType ?? "-" },
            ] + owner(\.owner) + [Column("ID") { $0.id }]
        )
    }

    private func owner(_ owner: EntryOwner?) -> [String] {
        whose.areOthers ? [owner?.words ?? "-"] : []
    }

    private func owner<Item>(_ owner: @escaping (Item) -> EntryOwner?) -> [Column<Item>] {
        whose.areOthers ? [Column("USER") { owner($0)?.words ?? "-" }] : []
    }

    private func state(_ item: EntryItem) -> String {
        switch item.kind {
        case .blob: "own"
        case .tombstone: "deleted"
        case .entity: item.source == .modifier ? "unsent" : "known"
        default:
            if item.source == .modifier { "unsent" } else { item.stale ? "stale" : "fresh" }
        }
    }
}
