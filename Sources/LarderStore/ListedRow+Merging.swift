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

    /// A row without an entry, under an id that modifiers target.
    init(
        bare id: EntryID,
        of scope: Scope,
        _ origin: OriginName?,
        storedAt: Timestamp,
        size: Int64,
        lastUsed: Int64,
        isPinned: Bool = false
    ) {
        var entry = Entry(
            id: id,
            kind: .fetched,
            storedAt: storedAt,
            revision: Revision(0),
            body: BodySummary(of: [], isJSON: false)
        )
        entry.origin = origin
        self.init(
            entry: entry,
            scope: scope,
            size: size,
            lastUsed: lastUsed,
            isPinned: isPinned,
            isBare: true
        )
    }

    /// Of two lists in one order the first rows; a row that both have is the kept one.
    static func merged(
        _ cached: [ListedRow],
        _ saved: [ListedRow],
        by order: RowOrder,
        limit: Int
    ) -> [ListedRow] {
        struct Name: Hashable {
            let scope: Scope
            let id: EntryID
        }
        let names = Set(saved.map { Name(scope: $0.scope, id: $0.entry.id) })
        let rest = cached.filter { row in
            !names.contains(Name(scope: row.scope, id: row.entry.id))
        }
        return Array((rest + saved).sorted { $0.precedes($1, in: order) }.prefix(limit))
    }

    /// Whether it comes before another row in a list.
    func precedes(_ other: ListedRow, in order: RowOrder) -> Bool {
        cursor(order).precedes(other.cursor(order), in: order)
    }
}

extension RowCursor {
    /// Whether its row comes before another one's; texts compare by their bytes, as in SQLite.
    func precedes(_ other: RowCursor, in order: RowOrder) -> Bool {
        if value != other.value {
            return order == .size ? value > other.value : value < other.value
        }
        if !scope.utf8.elementsEqual(other.scope.utf8) {
            return scope.utf8.lexicographicallyPrecedes(other.scope.utf8)
        }
        return id.utf8.lexicographicallyPrecedes(other.id.utf8)
    }
}
