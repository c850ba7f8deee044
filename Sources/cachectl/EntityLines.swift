import LarderClient
import LarderModel
import LarderWire

import struct LarderClient.EntityItem

/// A list of entities, line by line.
struct EntityLines {
    let console: Console
    let isJSON: Bool

    /// Writes so many at most; on a terminal, columns are aligned within each block of a page.
    func write(_ list: Pages<EntityItem>, upTo most: Int) async throws -> Int {
        var count = 0
        var block: [EntityItem] = []
        for try await item in list {
            count += 1
            if isJSON {
                try console.write(item.item.encoded() + [UInt8(ascii: "\n")])
            } else if console.isTerminalOut {
                block.append(item)
                if block.count == Limits.pageRowsMax {
                    try show(block)
                    block = []
                }
            } else {
                try console.columns(fields(item))
            }
            if count == most { break }
        }
        try show(block)
        return count
    }

    private func show(_ items: [EntityItem]) throws(CommandFailure) {
        guard !items.isEmpty else { return }
        let now = WallClock.now()
        let tellsOwners = items.contains { $0.owner != nil }
        var table = Table(
            alignsRight: [true, true, false] + (tellsOwners ? [false] : []) + [false]
        )
        table.add(["SIZE", "AGE", "STATE"] + (tellsOwners ? ["USER"] : []) + ["KEY"])
        for item in items {
            let facts = [
                Words.size(Int64(item.byteCount)),
                Words.span(now.since(item.item.storedAt)),
                state(item),
            ]
            let owner = tellsOwners ? [item.owner?.words ?? "-"] : []
            table.add(facts + owner + [item.key])
        }
        for line in table.lines { try console.line(line) }
    }

    private func fields(_ item: EntityItem) -> [String] {
        var fields = [
            item.key, String(item.byteCount), String(item.accountedBytes),
            item.item.storedAt.rfc3339, state(item),
        ]
        if let owner = item.owner { fields.append(owner.words) }
        return fields
    }

    private func state(_ item: EntityItem) -> String {
        if item.isDeleted { return "deleted" }
        return item.isUnsent ? "unsent" : "known"
    }
}
