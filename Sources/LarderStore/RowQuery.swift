import LarderModel

/// The statement of a list or an eviction.
///
/// One scope's rows come through the index of scope and id; the rows of all come through it, or
/// through that of uses: see RowQueryTests.
struct RowQuery {
    /// Whether an id with the beginning `:prefix` is a variant's, and no read's with a body.
    static let isVariant = """
        substr(id, length(:prefix) + 1, 5) <> 'POST=' AND substr(id, length(:prefix) + 1, 6) <> 'QUERY='
        """

    let filter: RowFilter
    let order: RowOrder
    var cursor: RowCursor?
    var table = RowTable.cache

    func sql(_ columns: String) -> String {
        let filtered = "WHERE " + conditions.joined(separator: " AND ")
        return switch table {
        case .cache:
            """
            SELECT \(columns) FROM entry JOIN recency USING (key)
            \(filtered) ORDER BY \(orderColumns)
            """
        case .claim, .claimedEntries:
            "SELECT \(columns) FROM claim \(filtered) ORDER BY \(orderColumns)"
        }
    }

    func rows<Row>(
        _ columns: String,
        in connection: SQLiteConnection,
        limit: Int,
        _ read: (SQLiteStatement) throws(StoreError) -> Row?
    ) throws(StoreError) -> [Row] {
        let statement = try connection.statement(sql(columns))
        bind(to: statement)
        return try statement.all(atMost: limit, read)
    }

    func bind(to statement: SQLiteStatement) {
        filter.scopes.bind(to: statement)
        if let prefix = filter.prefix { statement.bind(":prefix", prefix) }
        if let prefixEnd { statement.bind(":prefix_end", prefixEnd) }
        if let origin = filter.origin { statement.bind(":origin", origin.text) }
        if let moment = filter.storedBefore {
            statement.bind(":stored_before", moment.milliseconds)
        }
        if let moment = filter.shownAt, table == .cache {
            statement.bind(":shown_at", moment.milliseconds)
        }
        guard let cursor else { return }
        if order != .id { statement.bind(":after_value", cursor.value) }
        guard order != .used else { return }
        statement.bind(":after_id", cursor.id)
        if !isOfOneScope { statement.bind(":after_scope", cursor.scope) }
    }

    private var conditions: [String] {
        var conditions = [filter.scopes.condition]
        switch table {
        case .cache: if filter.shownAt != nil { conditions.append(Self.isShown) }
        case .claim: break
        // A durable row outlives its blob's ttl.
        case .claimedEntries:
            conditions.append("(kind IS NOT NULL OR targeted > 0)")
            if filter.shownAt != nil { conditions.append(Self.isShownIfClaimed) }
        }
        switch filter.part {
        case .all: break
        case .entries: conditions.append("id >= '\(EntryID.firstOfEntries)'")
        case .entities: conditions.append("id < '\(EntryID.firstOfEntries)'")
        }
        if filter.prefix != nil { conditions.append("id >= :prefix") }
        if prefixEnd != nil { conditions.append("id < :prefix_end") }
        // A bare row has no origin of its own; the URL in its id says which it is.
        let isBare = table == .claimedEntries ? " OR kind IS NULL" : ""
        if filter.origin != nil { conditions.append("(origin = :origin\(isBare))") }
        if filter.storedBefore != nil { conditions.append("\(storedAt) < :stored_before") }
        if cursor != nil { conditions.append(after) }
        return conditions
    }

    private var storedAt: String {
        switch table {
        case .cache: "recency.stored_at"
        case .claim: "stored_at"
        case .claimedEntries: RowTable.storedAtOfClaim
        }
    }
    private var lastUsed: String { table == .cache ? "last_used" : RowTable.lastUsedOfClaim }

    private var isOfOneScope: Bool { if case .one = filter.scopes { true } else { false } }

    private var orderColumns: String {
        let row = isOfOneScope ? "id" : "scope, id"
        return switch order {
        case .id: row
        case .size: "size DESC, \(row)"
        case .age: "\(storedAt), \(row)"
        // No two rows have the same use.
        case .used: lastUsed
        }
    }

    private var after: String {
        let isAfterRow = isOfOneScope ? "id > :after_id" : "(scope, id) > (:after_scope, :after_id)"
        return switch order {
        case .id: isAfterRow
        case .size: "(size < :after_value OR size = :after_value AND \(isAfterRow))"
        case .age: "(\(storedAt) > :after_value OR \(storedAt) = :after_value AND \(isAfterRow))"
        case .used: "\(lastUsed) > :after_value"
        }
    }

    private static let isShown = """
        kind <> \(EntryKind.variants.rawValue) AND \
        (kind <> \(EntryKind.blob.rawValue) OR fresh_until IS NULL OR fresh_until > :shown_at)
        """

    private static let isShownIfClaimed = "kind IS NOT \(EntryKind.variants.rawValue)"

    private var prefixEnd: String? { filter.prefix.flatMap(Self.end(ofPrefix:)) }

    /// The first text after all that begin with `prefix`, by bytes; nil where there is none.
    static func end(ofPrefix prefix: String) -> String? {
        var scalars = prefix.unicodeScalars
        while let last = scalars.popLast() {
            // UTF-8 keeps the order of scalars; the surrogates' gap is jumped over.
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            guard let scalar = Unicode.Scalar(next) else { continue }
            scalars.append(scalar)
            return String(scalars)
        }
        return nil
    }
}

enum RowTable {
    case cache
    case claim
    /// Rows with an entry, and bare rows, which only modifiers have made.
    case claimedEntries

    /// Time at which a durable row was stored; for a bare row, when its last change was accepted.
    static let storedAtOfClaim = """
        CASE WHEN kind IS NOT NULL THEN stored_at ELSE (SELECT accepted_at FROM modifier
            WHERE number = (SELECT max(change.modifier) FROM change INDEXED BY change_target
                WHERE change.id = claim.id AND change.scope = claim.scope AND settled = 0)) END
        """

    /// Orders durable rows after all others, because they are never evicted.
    static let lastUsedOfClaim = "(claim + \(firstUseOfClaim))"
    static let firstUseOfClaim: Int64 = 1 << 52
}
