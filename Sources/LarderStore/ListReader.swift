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
        let row = try state.claim(DurableRow.found, scope.text, id).first { DurableRow($0, shared) }
        return try row?.marked(by: state)
    }
}

extension DurableRow {
    fileprivate func marked(by state: StateReader) throws(StoreError) -> DurableRow {
        var row = self
        if !isPinned, !isTargeted { row.isNeeded = try state.isKept(number) }
        return row
    }
}
