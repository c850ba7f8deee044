import ArgumentParser
import LarderClient
import LarderModel
import LarderWire

import struct LarderClient.EntryItem

/// `cachectl ls`.
struct Ls: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists what is cached.",
        discussion: """
            In a pipe the columns are id, bytes, accounted bytes, time of storing, state (fresh, \
            stale, own, deleted, or unsent: only writes that wait to be sent have made it) and media \
            type, with tabs between them; with --uid or --all-users whose it is comes last, as \
            1000/work. With --type entities are listed, by their keys: key, bytes, accounted bytes, \
            time of storing and state (known, deleted or unsent).

            Example: cachectl ls https://api.example.com/ --sort size --limit 20
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup(title: "Others' entries")
    var whose: ScopeOptions

    @Argument(help: "Only ids that begin with it.")
    var prefix: String?

    @Option(help: ArgumentHelp("Only what is of this origin.", valueName: "name"))
    var origin: String?

    @Option(
        help: ArgumentHelp(
            "Entities of this type, of --origin where several have rules.",
            valueName: "type"
        )
    )
    var type: String?

    @Option(
        help: ArgumentHelp(
            "The order: id, size (the largest first), age (the oldest first) or used (the least "
                + "recently used first).",
            valueName: "order"
        ),
        transform: orderArgument
    )
    var sort = EntryOrder.id

    @Option(help: ArgumentHelp("How many at most; all without it.", valueName: "n"))
    var limit: Int?

    func validate() throws {
        guard type == nil || (prefix == nil && sort == .id) else {
            throw ValidationError("Entities are listed by key: neither a prefix nor --sort goes.")
        }
        if let limit, limit < 1 { throw ValidationError("--limit is a number from 1 on.") }
        _ = try whose.scope(options)
    }

    func run() async throws {
        let console = Console()
        let count = try await options.withClient { client in
            guard let type else { return try await list(client, to: console) }
            let list = client.allEntities(
                origin: origin,
                type: type,
                scope: try whose.scope(options)
            )
            return try await EntityLines(console: console, isJSON: options.json)
                .write(list, upTo: limit ?? .max)
        }
        if count == 0, !options.json { console.remark(type == nil ? "no entries" : "no entities") }
    }

    /// Prints while rows come; on a terminal, columns are aligned within each block of a page.
    private func list(_ client: LarderClient, to console: Console) async throws -> Int {
        let most = limit ?? .max
        var count = 0
        var block: [EntryItem] = []
        let list = client.allEntries(
            prefix: prefix,
            origin: origin,
            sort: sort,
            scope: try whose.scope(options)
        )
        for try await item in list {
            count += 1
            if options.json {
                try console.write(item.item.encoded() + [UInt8(ascii: "\n")])
            } else if console.isTerminalOut {
                block.append(item)
                if block.count == Limits.pageRowsMax {
                    try show(block, on: console)
                    block = []
                }
            } else {
                try console.columns(fields(item))
            }
            if count == most { break }
        }
        try show(block, on: console)
        return count
    }

    private func show(_ items: [EntryItem], on console: Console) throws(CommandFailure) {
        guard !items.isEmpty else { return }
        let now = WallClock.now()
        let tellsOwners = items.contains { $0.owner != nil }
        let owner = tellsOwners ? ["USER"] : []
        var table = Table(
            alignsRight: [true, true, false, false] + owner.map { _ in false } + [false]
        )
        table.add(["SIZE", "AGE", "STATE", "TYPE"] + owner + ["ID"])
        for item in items {
            let facts = [
                Words.size(Int64(item.byteCount)),
                Words.span(now.since(item.item.storedAt)),
                state(item),
                item.mediaType ?? "-",
            ]
            let owner = tellsOwners ? [item.owner?.words ?? "-"] : []
            table.add(facts + owner + [item.id])
        }
        for line in table.lines { try console.line(line) }
    }

    private func fields(_ item: EntryItem) -> [String] {
        var fields = [
            item.id, String(item.byteCount), String(item.accountedBytes),
            item.item.storedAt.rfc3339, state(item), item.mediaType ?? "-",
        ]
        if let owner = item.owner { fields.append(owner.words) }
        return fields
    }

    private func state(_ item: EntryItem) -> String {
        switch item.kind {
        case .blob: "own"
        case .fetched where item.isUnsent: "unsent"
        case .fetched: item.isStale ? "stale" : "fresh"
        case .tombstone: "deleted"
        }
    }
}
