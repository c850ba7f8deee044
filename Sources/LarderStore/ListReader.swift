package import LarderModel

package struct ListReader {
    let reader: StoreReader
    private var shared: SharedCacheState { reader.shared }

    /// A page of rows of both files, in one order.
    ///
    /// The page includes ids that only modifiers have made, and entities of that kind under their
    /// own URLs (``ListedRow/isBare``).
    package func page(
        _ filter: RowFilter,
        order: RowOrder,
        after cursor: RowCursor?,
        limit: Int
    ) throws(StoreError) -> [ListedRow] {
        var query = RowQuery(filter: filter, order: order, cursor: cursor)
        guard !shared.residency.isEmpty else { return try cachedRows(query, limit: limit) }
        // Without the hold, a row that leaves `state.db` now would be in the pages of neither file.
        let isHeld = reader.cache.hold != .none
        if !isHeld { try reader.stateReader().hold() }
        defer {
            if !isHeld { reader.letStateGo() }
            reader.endTransaction()
        }
        var cached: [ListedRow] = []
        while cached.count < limit {
            let page = try cachedRows(query, limit: limit)
            for row in page where try !isSaved(reader.key(for: row.scope), row.entry.id) {
                cached.append(row)
            }
            guard page.count == limit else { break }
            query.cursor = page.last?.cursor(order)
        }
        query = RowQuery(filter: filter, order: order, cursor: cursor, table: .claimedEntries)
        let state = try reader.stateReader().connection
        let saved = try query.rows(ListedRow.columnsOfState, in: state, limit: limit) {
            row throws(StoreError) -> ListedRow? in
            guard let row = ListedRow(saved: row), try isListed(row, filter) else { return nil }
            return row
        }
        let rows = ListedRow.merged(cached.map(marked), saved.map(named), by: order, limit: limit)
        let made = try entitiesByURL(query, limit: limit)
        return made.isEmpty ? rows : ListedRow.merged(rows, made, by: order, limit: limit)
    }

    private func isListed(_ row: ListedRow, _ filter: RowFilter) throws(StoreError) -> Bool {
        guard row.isBare else { return true }
        if let origin = filter.origin, origin != named(row).entry.origin { return false }
        return try reader.withRow(reader.key(for: row.scope), row.entry.id) { _ in false } ?? true
    }

    private func named(_ row: ListedRow) -> ListedRow {
        guard row.isBare, row.entry.origin == nil else { return row }
        var named = row
        named.entry.origin = shared.origins.origin(row.entry.id, row.scope)
        return named
    }

    /// Entities that modifiers target, under their own URLs, where these have no row.
    ///
    /// Each page looks at all of them, as their order is not that of their keys.
    private func entitiesByURL(_ query: RowQuery, limit: Int) throws(StoreError) -> [ListedRow] {
        let (filter, order, cursor) = (query.filter, query.order, query.cursor)
        guard filter.part != .entities, !shared.origins.rules.isEmpty else { return [] }
        var targets = RowFilter(filter.scopes)
        targets.part = .entities
        targets.prefix = filter.origin.map { EntryID.entityPrefix($0) }
        let targeted = RowQuery(filter: targets, order: .id, cursor: nil, table: .claimedEntries)
        let state = try reader.stateReader().connection
        let found = try targeted.rows(ListedRow.columnsOfState, in: state, limit: .max) {
            row throws(StoreError) -> ListedRow? in
            guard let row = ListedRow(saved: row), let name = row.entry.id.entity,
                let id = shared.origins.ownID(name),
                filter.prefix.map({ id.text.utf8.starts(with: $0.utf8) }) ?? true,
                filter.storedBefore.map({ row.entry.storedAt < $0 }) ?? true,
                (shared.residency.place(reader.key(for: row.scope), row.entry.id)?.targets ?? 0) > 0
            else { return nil }
            var byURL = row
            byURL.entry = Entry(bare: id, of: name.origin, storedAt: row.entry.storedAt)
            (byURL.isPinned, byURL.isBare) = (false, true)
            return cursor?.precedes(byURL.cursor(order), in: order) ?? true ? byURL : nil
        }
        var rows: [ListedRow] = []
        for row in found.sorted(by: { $0.precedes($1, in: order) }) {
            guard rows.count < limit else { break }
            let hasRow = try self.row(reader.key(for: row.scope), row.entry.id) != nil
            if !hasRow { rows.append(marked(row)) }
        }
        return rows
    }

    private func isSaved(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Bool {
        guard shared.residency.covers(scope, id) else { return false }
        return try reader.stateReader().listed(scope, id)?.isBare == false
    }

    private func marked(_ row: ListedRow) -> ListedRow {
        var row = row
        let scope = shared.key(for: row.scope)
        row.isPinned = shared.residency.place(scope, row.entry.id)?.isPinned == true
        return row
    }

    private func cachedRows(_ query: RowQuery, limit: Int) throws(StoreError) -> [ListedRow] {
        defer { reader.endTransaction() }
        let columns = ListedRow.columnsOfCache
        return try reader.cache.reading { file throws(StoreError) in
            try query.rows(columns, in: file.connection, limit: limit, ListedRow.init(cached:))
        } ?? []
    }

    package func row(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> ListedRow? {
        let cached = { () throws(StoreError) in
            try cachedRow(scope, id, ListedRow.columnsOfCache, ListedRow.init(cached:))
        }
        guard shared.residency.covers(scope, id) else { return try cached() }
        let saved = try reader.stateReader().listed(scope, id)
        if let saved, !saved.isBare { return saved }
        return try cached().map(marked) ?? saved.map(named)
    }

    private func cachedRow<Row>(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ columns: String,
        _ read: (SQLiteStatement) -> Row?
    ) throws(StoreError) -> Row? {
        defer { reader.endTransaction() }
        let sql = """
            SELECT \(columns) FROM entry JOIN recency USING (key)
            WHERE scope = :scope AND id = :id
            """
        return try reader.cache.reading { file throws(StoreError) in
            try file.connection.statement(sql, (":scope", scope.text), (":id", id.text)).first(read)
        } ?? nil
    }

    package func candidates(
        _ filter: RowFilter,
        order: RowOrder = .used,
        after cursor: RowCursor?,
        limit: Int
    ) throws(StoreError) -> [EvictionCandidate] {
        defer { reader.endTransaction() }
        let query = RowQuery(filter: filter, order: order, cursor: cursor)
        return try reader.cache.reading { file throws(StoreError) in
            try query.rows(EvictionCandidate.columns, in: file.connection, limit: limit) {
                row throws(StoreError) -> EvictionCandidate? in
                guard let candidate = EvictionCandidate(row) else { return nil }
                let scope = row.scope(EntryColumn.scope).map(reader.key(for:))
                if let scope, try isSaved(scope, candidate.id) { return nil }
                return candidate
            }
        } ?? []
    }

    package func candidate(
        _ scope: ScopeKey,
        _ id: EntryID
    ) throws(StoreError) -> EvictionCandidate? {
        guard try !isSaved(scope, id) else { return nil }
        return try cachedRow(scope, id, EvictionCandidate.columns, EvictionCandidate.init)
    }

    package func claimRows(
        _ filter: RowFilter,
        after cursor: RowCursor?,
        limit: Int
    ) throws(StoreError) -> [DurableRow] {
        guard !shared.residency.isEmpty else { return [] }
        let query = RowQuery(filter: filter, order: .id, cursor: cursor, table: .claim)
        let state = try reader.stateReader()
        return try query.rows(DurableRow.found, in: state.connection, limit: limit) {
            row throws(StoreError) in
            try DurableRow(row, shared)?.marked(by: state)
        }
    }

    package func claimRow(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> DurableRow? {
        guard shared.residency.covers(scope, id) else { return nil }
        let state = try reader.stateReader()
        let row = try state.claim(DurableRow.found, TargetName(scope, id))
            .first { DurableRow($0, shared) }
        return try row?.marked(by: state)
    }
}

extension DurableRow {
    fileprivate func marked(by state: StateReader) throws(StoreError) -> DurableRow {
        var row = self
        if !isPinned, !isTargeted { row.isNeeded = try state.isKept(self) }
        return row
    }
}

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

    /// The one user; nil for all.
    package var uid: UInt32? {
        switch self {
        case .one(let key): key.scope.uid
        case .user(let uid): uid
        case .all: nil
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
package enum RowOrder: String, Sendable, CaseIterable {
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

    /// Whether the row is in `state.db`, where no uses are noted.
    package var isOfState: Bool { lastUsed > RowTable.firstUseOfClaim }

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
