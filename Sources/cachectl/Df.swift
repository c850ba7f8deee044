import ArgumentParser
import LarderClient
import LarderModel

struct Df: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say where the bytes are.",
        discussion: """
            Entries count with their bodies, ids, headers and the cost of their rows. Pinned \
            entries have their own budget and count separately. A separate line shows what answers \
            in normalized form share. The files also hold free pages. With -v the report also \
            shows the bytes by origin and by user, and the largest entries.

            Example: cachectl df -v
            """
    )

    @OptionGroup(title: "Options of every command")
    var options: GlobalOptions

    @OptionGroup(title: "Others' entries")
    var whose: ScopeOptions

    @Flag(
        name: [.short, .long],
        help: "Show also the bytes by origin and by user, and the largest entries."
    )
    var verbose = false

    func validate() throws { _ = try whose.scope(options) }

    func run() async throws {
        let scope = try whose.scope(options)
        let (console, sent) = (Console(), SentReports())
        try await options.withClient { client in
            let usage = try await sent.noting { try await client.usage(scope: scope) }
            if options.json {
                try console.write(line: sent.last)
            } else {
                try console.lines(summary(usage).lines)
            }
            guard verbose else { return }
            let largest = try await sent.noting {
                try await client.entries(sort: .size, limit: Self.largestShown, scope: scope)
            }
            guard !options.json else {
                while let item = try sent.nextItem() { try console.write(line: item) }
                return
            }
            for table in details(usage, largest.items) {
                try console.line("")
                try console.lines(table.lines)
            }
        }
    }

    private static let largestShown = 10

    private func summary(_ report: UsageReport) -> Table {
        var table = Table(alignsRight: [false, false])
        let cache = report.cache
        table.add("cache", HumanFormat.part(cache.accountedBytes, of: cache.maxBytes))
        if cache.budgetBytes < cache.maxBytes {
            let size = HumanFormat.size(cache.budgetBytes)
            table.add("now at most", "\(size), as the disk is short of space")
        }
        let rows = report.rows
        table.add(
            options.words(whose),
            "\(HumanFormat.size(rows.accountedBytes)), \(HumanFormat.entries(Int(rows.entries))): "
                + "\(HumanFormat.size(rows.bodyBytes)) of bodies, "
                + "\(HumanFormat.size(rows.accountedBytes - rows.bodyBytes)) of ids, headers and rows"
        )
        for kind in report.byKind {
            let entries = HumanFormat.entries(Int(kind.rows.entries))
            table.add(
                "  \(HumanFormat.kind(kind.kind))",
                "\(HumanFormat.size(kind.rows.accountedBytes)), \(entries)"
            )
        }
        table.add("normalized", Self.words(report.normalized))
        table.add("pins", Self.words(report.pins))
        for file in report.files {
            let free = file.freeBytes.map { ", \(HumanFormat.size($0)) of it free" } ?? ""
            table.add(
                file.name,
                "\(HumanFormat.size(file.bytes))\(free), and \(HumanFormat.size(file.walBytes)) of log"
            )
        }
        table.add(
            "disk",
            "\(report.disk.freeBytes.map(HumanFormat.size) ?? "an unknown number of bytes") free, of which "
                + "\(HumanFormat.size(report.disk.minFreeBytes)) are left to others"
        )
        return table
    }

    private static func words(_ normalized: LarderAPI.NormalizedUsage) -> String {
        func words(_ name: String, _ count: UsageCount) -> String {
            "\(count.count) \(name) (\(HumanFormat.size(count.accountedBytes)))"
        }
        return words("entities", normalized.entities) + ", "
            + words("skeletons", normalized.skeletons) + ", "
            + words("references", normalized.references)
    }

    private static func words(_ pins: PinUsage) -> String {
        let size = HumanFormat.size(pins.accountedBytes)
        let count = pins.count == 1 ? "1 pin" : "\(pins.count) pins"
        let waiting = pins.waiting > 0 ? ", of which \(pins.waiting) waiting" : ""
        let all = HumanFormat.part(pins.totalAccountedBytes, of: pins.maxBytes)
        return "\(size), \(count)\(waiting); all pins: \(all)"
    }

    private func details(_ usage: UsageReport, _ largest: [EntryItem]) -> [Table] {
        var origins = Table(alignsRight: [true, true, false])
        origins.add("SIZE", "ENTRIES", "ORIGIN")
        for part in usage.byOrigin {
            origins.add(part.rows.sizeAndCount + [part.origin ?? "(users' own bytes)"])
        }
        var users = Table(alignsRight: [true, true, false])
        users.add("SIZE", "ENTRIES", "USER")
        for part in usage.byUser { users.add(part.rows.sizeAndCount + [part.owner]) }
        var rows = Table(alignsRight: [true, false])
        rows.add("SIZE", "LARGEST")
        for item in largest {
            rows.add(HumanFormat.size(item.accountedBytes), item.id)
        }
        return usage.byUser.isEmpty ? [origins, rows] : [origins, users, rows]
    }
}

extension UsageSum {
    fileprivate var sizeAndCount: [String] { [HumanFormat.size(accountedBytes), String(entries)] }
}

extension UsageOfUser {
    /// As a person reads it: `1000`, `1000/work`, `everybody`.
    fileprivate var owner: String {
        guard let user, let account else { return EntryOwner.everybody.words }
        return EntryOwner.user(user, account: account).words
    }
}

extension GlobalOptions {
    fileprivate func words(_ whose: ScopeOptions) -> String {
        if whose.allUsers { return "everybody's" }
        return whose.uid.map { "user \($0)" } ?? "yours"
    }
}

extension HumanFormat {
    /// `512 MiB of 1 GiB (50 %)`.
    static func part(_ bytes: Int64, of most: Int64) -> String {
        let share = percent(most > 0 ? Double(bytes) / Double(most) : nil)
        return "\(size(bytes)) of \(size(most)) (\(share))"
    }

    fileprivate static func kind(_ name: String?) -> String {
        switch name {
        case "fetched": "origins' answers"
        case "blob": "users' own bytes"
        case "tombstone": "marks of deletion"
        case "variants": "variants of answers"
        case "entity": "entities"
        default: "others"
        }
    }
}
