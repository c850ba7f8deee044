package import LarderModel

/// Which rows a list or an eviction is about.
package struct RowFilter: Sendable {
    package var scope: ScopeKey
    package var prefix: String?
    package var origin: OriginName?
    /// Only rows whose bytes were given or confirmed before this.
    package var storedBefore: Timestamp?
    /// Only rows that are anybody's to see at this moment: no blob past its `ttl`, and none of the
    /// rows that Larder keeps for itself.
    package var shownAt: Timestamp?

    package init(scope: ScopeKey) {
        self.scope = scope
    }
}

/// In which order a list goes: ids ascending, the largest, the oldest, the least recently used.
package enum RowOrder: Sendable {
    case id
    case size
    case age
    case used

    fileprivate var columns: String {
        switch self {
        case .id: "id"
        case .size: "size DESC, id"
        case .age: "recency.stored_at, id"
        case .used: "last_used, id"
        }
    }

    /// The rows after the one that `?value` and `?id` name.
    fileprivate var after: String {
        switch self {
        case .id: "id > ?6"
        case .size: "(size < ?5 OR size = ?5 AND id > ?6)"
        case .age: "(recency.stored_at > ?5 OR recency.stored_at = ?5 AND id > ?6)"
        case .used: "(last_used > ?5 OR last_used = ?5 AND id > ?6)"
        }
    }
}

/// Where a page ended: the sorting value and the id of its last row.
package struct RowCursor: Equatable, Sendable {
    package var value: Int64
    package var id: String

    package init(value: Int64, id: String) {
        self.value = value
        self.id = id
    }
}

/// A row of a list.
package struct ListedRow: Equatable, Sendable {
    package let entry: Entry
    /// The accounted size.
    package let size: Int64
    /// The logical clock's number of its last use.
    package let lastUsed: Int64

    /// Where the page after this row begins.
    package func cursor(_ order: RowOrder) -> RowCursor {
        let value =
            switch order {
            case .id: Int64(0)
            case .size: size
            case .age: entry.storedAt.milliseconds
            case .used: lastUsed
            }
        return RowCursor(value: value, id: entry.id.text)
    }
}

extension StoreReader {
    /// A page of rows, in a transaction of its own.
    package func list(
        _ filter: RowFilter,
        order: RowOrder,
        after cursor: RowCursor?,
        limit: Int
    ) throws(StoreError) -> [ListedRow] {
        let statement = try select(
            "\(EntryRow.columnsWithoutBody), size, last_used",
            filter,
            order: order,
            after: cursor
        )
        defer { endTransaction() }
        var rows: [ListedRow] = []
        while rows.count < limit, try statement.step() {
            guard let entry = EntryRow(statement).entry() else { continue }
            rows.append(
                ListedRow(
                    entry: entry,
                    size: statement.integer(19),
                    lastUsed: statement.integer(20)
                )
            )
        }
        statement.reset()
        return rows
    }

    /// One id's row as a list shows it; nil when there is none.
    package func row(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> ListedRow? {
        try openTransaction()
        defer { endTransaction() }
        let columns = EntryRow.columns.replacing("stored_at", with: "entry.stored_at")
        let statement = try prepare(
            """
            SELECT \(columns), size, last_used FROM entry JOIN recency USING (key)
            WHERE scope = ?1 AND id = ?2
            """
        )
        statement.bind(1, scope.text)
        statement.bind(2, id.text)
        guard try statement.step(), let entry = EntryRow(statement).entry() else { return nil }
        return ListedRow(
            entry: entry,
            size: statement.integer(19),
            lastUsed: statement.integer(20)
        )
    }

    /// Rows to evict: a page of them.
    package func candidates(
        _ filter: RowFilter,
        order: RowOrder = .used,
        after cursor: RowCursor?,
        limit: Int
    ) throws(StoreError) -> [EvictionCandidate] {
        let statement = try select(
            "key, id, rev, size, last_used",
            filter,
            order: order,
            after: cursor
        )
        defer { endTransaction() }
        var candidates: [EvictionCandidate] = []
        while candidates.count < limit, try statement.step() {
            guard let id = try? EntryID(statement.text(1) ?? "") else { continue }
            candidates.append(
                EvictionCandidate(
                    key: RowKey(statement.integer(0)),
                    revision: Revision(statement.integer(2)),
                    id: id,
                    size: statement.integer(3),
                    lastUsed: statement.integer(4)
                )
            )
        }
        statement.reset()
        return candidates
    }

    /// The row of one id as an eviction names it; nil when there is none.
    package func candidate(
        _ scope: ScopeKey,
        _ id: EntryID
    ) throws(StoreError) -> EvictionCandidate? {
        try openTransaction()
        defer { endTransaction() }
        let statement = try prepare(
            """
            SELECT key, scope, id, rev, size, last_used FROM entry JOIN recency USING (key)
            WHERE key BETWEEN ?1 AND ?2
            """
        )
        let first = RowKey(scope, id)
        statement.bind(1, first.number)
        statement.bind(2, first.last.number)
        while try statement.step() {
            guard statement.isText(1, scope.text), statement.isText(2, id.text) else { continue }
            return EvictionCandidate(
                key: RowKey(statement.integer(0)),
                revision: Revision(statement.integer(3)),
                id: id,
                size: statement.integer(4),
                lastUsed: statement.integer(5)
            )
        }
        return nil
    }

    private func select(
        _ columns: String,
        _ filter: RowFilter,
        order: RowOrder,
        after cursor: RowCursor?
    ) throws(StoreError) -> SQLiteStatement {
        try openTransaction()
        var conditions = ["scope = ?1"]
        if filter.shownAt != nil { conditions.append(Self.isShown) }
        let prefixEnd = filter.prefix.flatMap(Self.end(ofPrefix:))
        if filter.prefix != nil { conditions.append("id >= ?2") }
        if prefixEnd != nil { conditions.append("id < ?7") }
        if filter.origin != nil { conditions.append("origin = ?3") }
        if filter.storedBefore != nil { conditions.append("recency.stored_at < ?4") }
        if cursor != nil { conditions.append(order.after) }
        let qualified = columns.replacing(
            "key, scope, id, kind, stored_at",
            with: "key, scope, id, kind, entry.stored_at"
        )
        let statement = try prepare(
            """
            SELECT \(qualified) FROM entry JOIN recency USING (key)
            WHERE \(conditions.joined(separator: " AND ")) ORDER BY \(order.columns)
            """
        )
        statement.bind(1, filter.scope.text)
        if let prefix = filter.prefix { statement.bind(2, prefix) }
        if let prefixEnd { statement.bind(7, prefixEnd) }
        if let origin = filter.origin { statement.bind(3, origin.text) }
        if let moment = filter.storedBefore { statement.bind(4, moment.milliseconds) }
        if let moment = filter.shownAt { statement.bind(8, moment.milliseconds) }
        if let cursor {
            if order != .id { statement.bind(5, cursor.value) }
            statement.bind(6, cursor.id)
        }
        return statement
    }

    private static let isShown = """
        kind <> \(EntryKind.variants.rawValue) AND \
        (kind <> \(EntryKind.blob.rawValue) OR fresh_until IS NULL OR fresh_until > ?8)
        """

    /// The first text in the order of bytes that does not begin with `prefix`; nil when every
    /// later one does.
    private static func end(ofPrefix prefix: String) -> String? {
        var scalars = Array(prefix.unicodeScalars)
        while let last = scalars.popLast() {
            // UTF-8 keeps the order of scalars; the surrogates' gap is jumped over.
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            guard let scalar = Unicode.Scalar(next) else { continue }
            scalars.append(scalar)
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars)
            return String(text)
        }
        return nil
    }
}
