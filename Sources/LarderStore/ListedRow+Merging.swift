import LarderModel

extension ListedRow {
    /// A row whose columns are those of ``EntryRow``, its size and its last use; nil for one whose
    /// scope or id is none, which only damage leaves.
    init?(_ statement: SQLiteStatement, isPinned: Bool = false) {
        let row = EntryRow(statement)
        guard let entry = row.entry(),
            let scope = statement.text(1).flatMap(Scope.init(text:))
        else { return nil }
        self.init(
            entry: entry,
            scope: scope,
            size: statement.integer(19).clamped(to: Limits.rowBytes),
            lastUsed: statement.integer(20),
            isPinned: isPinned
        )
    }

    /// Of two lists in one order the first rows; a row that both have is the kept one.
    static func merged(
        _ cached: [ListedRow],
        _ kept: [ListedRow],
        by order: RowOrder,
        limit: Int
    ) -> [ListedRow] {
        struct Name: Hashable {
            let scope: Scope
            let id: EntryID
        }
        let names = Set(kept.map { Name(scope: $0.scope, id: $0.entry.id) })
        var rest = cached.filter { row in
            !names.contains(Name(scope: row.scope, id: row.entry.id))
        }[...]
        var kept = kept[...]
        var rows: [ListedRow] = []
        while rows.count < limit, let next = rest.first ?? kept.first {
            if let first = kept.first, rest.isEmpty || first.precedes(next, in: order) {
                rows.append(first)
                kept.removeFirst()
            } else {
                rows.append(next)
                rest.removeFirst()
            }
        }
        return rows
    }

    /// Whether it comes before another row in a list; texts compare by their bytes, as in SQLite.
    private func precedes(_ other: ListedRow, in order: RowOrder) -> Bool {
        let (one, two) = (cursor(order), other.cursor(order))
        if one.value != two.value {
            return order == .size ? one.value > two.value : one.value < two.value
        }
        if !one.scope.utf8.elementsEqual(two.scope.utf8) {
            return one.scope.utf8.lexicographicallyPrecedes(two.scope.utf8)
        }
        return one.id.utf8.lexicographicallyPrecedes(two.id.utf8)
    }
}
