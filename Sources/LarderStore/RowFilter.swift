package import LarderModel

package enum RowScopes: Sendable, Hashable {
    case one(ScopeKey)
    case user(UInt32)
    case all

    var condition: String {
        switch self {
        case .one: "scope = :scope"
        case .user: "scope >= :scope AND scope < :scope_end"
        case .all: "1"
        }
    }

    package func covers(_ scope: Scope) -> Bool {
        switch self {
        case .one(let key): key.scope == scope
        case .user(let uid): scope.uid == uid
        case .all: true
        }
    }

    func bind(to statement: SQLiteStatement) {
        switch self {
        case .one(let scope): statement.bind(":scope", scope.text)
        case .user(let uid):
            // The text of a scope is the uid, a colon and the account; a semicolon comes next.
            statement.bind((":scope", "\(uid):"), (":scope_end", "\(uid);"))
        case .all: break
        }
    }
}

package struct RowFilter: Sendable {
    package var scopes: RowScopes
    package var prefix: String?
    package var origin: OriginName?
    package var storedBefore: Timestamp?
    /// Moment at which clients may see the rows.
    ///
    /// The filter leaves out blobs past their `ttl` and rows that Larder keeps for itself.
    package var shownAt: Timestamp?
    package var part = RowPart.all

    package init(scope: ScopeKey) { self.init(.one(scope)) }
    package init(_ scopes: RowScopes) { self.scopes = scopes }
}

package enum RowPart: Sendable {
    case all
    case entries
    case entities
}

/// Order of a list: by id, largest first, oldest first, or least recently used first.
///
/// In a list of several scopes, rows that are equal in it follow each other by scope and id.
package enum RowOrder: Sendable, CaseIterable {
    case id
    case size
    case age
    case used
}

package struct RowCursor: Hashable, Sendable {
    package var value: Int64
    package var scope: String
    package var id: String

    package init(value: Int64, scope: String, id: String) {
        self.value = value
        self.scope = scope
        self.id = id
    }

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

package struct ListedRow: Equatable, Sendable {
    package internal(set) var entry: Entry
    package let scope: Scope
    package let size: Int64
    package let lastUsed: Int64
    package internal(set) var isPinned: Bool
    /// Whether the row has no entry: modifiers make all that it shows.
    ///
    /// Of ``entry`` only id, origin and time are known.
    package internal(set) var isBare = false

    package func cursor(_ order: RowOrder) -> RowCursor {
        let value =
            switch order {
            case .id: Int64(0)
            case .size: size
            case .age: entry.storedAt.milliseconds
            case .used: lastUsed
            }
        return RowCursor(value: value, scope: scope.text, id: entry.id.text)
    }
}

extension ListedRow {
    /// A row of `cache.db` with ``columnsOfCache``; nil for a damaged one.
    init?(cached row: SQLiteStatement) {
        let entryRow = EntryRow(row)
        guard let entry = entryRow.entry(), let scope = row.scope(EntryColumn.scope) else {
            return nil
        }
        (self.entry, self.scope, isPinned) = (entry, scope, false)
        size = row.integer(RecencyColumn.size).clamped(to: Limits.rowBytes)
        lastUsed = row.integer(RecencyColumn.lastUsed)
    }

    /// A row of `state.db` with ``columnsOfState``, perhaps a bare one; nil for a damaged one.
    init?(saved row: SQLiteStatement) {
        guard let id = row.entryID(EntryColumn.id), let scope = row.scope(EntryColumn.scope) else {
            return nil
        }
        var numbers = RowNumbers(row)
        self.scope = scope
        size = numbers.size(DurableColumn.size)
        lastUsed = row.integer(DurableColumn.lastUsed)
        isPinned = !row.isNull(DurableColumn.pinnedAt)
        guard row.isNull(EntryColumn.kind) else {
            let entryRow = EntryRow(row)
            guard let entry = entryRow.entry() else { return nil }
            self.entry = entry
            return
        }
        let origin = row.text(EntryColumn.origin).flatMap { try? OriginName($0) }
        entry = Entry(bare: id, of: origin, storedAt: numbers.moment(DurableColumn.shownSince))
        isBare = true
        if !numbers.areSound { return nil }
    }

    static let columnsOfCache = RecencyColumn.row(EntryColumn.listed)
    static let columnsOfState = DurableColumn.row(
        EntryColumn.listed,
        [.size, .pinnedAt, .lastUsed, .shownSince]
    )

    static func merged(
        _ cached: [ListedRow],
        _ saved: [ListedRow],
        by order: RowOrder,
        limit: Int
    ) -> [ListedRow] {
        let names = Set(saved.map { $0.cursor(.id) })
        let rest = cached.filter { !names.contains($0.cursor(.id)) }
        return Array((rest + saved).sorted { $0.precedes($1, in: order) }.prefix(limit))
    }

    func precedes(_ other: ListedRow, in order: RowOrder) -> Bool {
        cursor(order).precedes(other.cursor(order), in: order)
    }
}
