import LarderModel

/// Pins of some scopes, with the rows that came with them, as `state.db` counts them.
package struct PinUsage: Equatable, Sendable {
    package let count: Int64
    package let bytes: Int64
    package let waiting: Int64
}

package struct UsageRows: Equatable, Sendable {
    package var entries: Int64 = 0
    /// The accounted size: bodies, ids, headers and the fixed cost of rows.
    package var bytes: Int64 = 0
    package var bodyBytes: Int64 = 0
}

/// The rows that have a name in common; nil where they have none.
package struct UsageGroup: Equatable, Sendable {
    package let name: String?
    package let rows: UsageRows
}

/// Usage of the shared parts of normalized answers, and of their references.
package struct NormalizedUsage: Equatable, Sendable {
    package struct Count: Equatable, Sendable {
        package var count: Int64 = 0
        /// The accounted size.
        package var bytes: Int64 = 0
    }

    package var entities = Count()
    /// Shapes of answers; a shape that several scopes have counts for each.
    package var skeletons = Count()
    /// Part of the sizes of the rows that refer.
    package var references = Count()
}

/// Bytes of some scopes, by kind, origin and scope, as of one commit of each file.
package struct StoreUsage: Equatable, Sendable {
    package var total = UsageRows()
    package var byKind: [UsageGroup] = []
    /// The largest first, at most ``Limits/usageGroupsMax``.
    package var byOrigin: [UsageGroup] = []
    /// By the scope's text, the largest first, as many at most; empty for one scope.
    package var byScope: [UsageGroup] = []
    /// Bytes of `cache.db` in pages that hold nothing.
    package var freeBytes: Int64 = 0
    package var pins: PinUsage
    package var normalized = NormalizedUsage()
}

package struct UsageReader {
    let reader: StoreReader

    /// Adds up the rows of some scopes, without their bodies, in one transaction, and their pins in
    /// another.
    package func of(_ scopes: RowScopes) throws(StoreError) -> StoreUsage {
        defer { reader.endTransaction() }
        let isOfOneScope = if case .one = scopes { true } else { false }
        let pins = try reader.stateReader().usage(scopes)
        let usage = try reader.cache.reading { file throws(StoreError) in
            let pages = try file.connection.integer("PRAGMA freelist_count") ?? 0
            let pageSize = try file.connection.integer("PRAGMA page_size") ?? 0
            return StoreUsage(
                total: try groups(by: nil, scopes, file).first?.rows ?? UsageRows(),
                byKind: try groups(by: "kind", scopes, file),
                byOrigin: try groups(by: "origin", scopes, file),
                byScope: isOfOneScope ? [] : try groups(by: "scope", scopes, file),
                freeBytes: pages * pageSize,
                pins: pins,
                normalized: try normalized(scopes, file)
            )
        }
        return usage ?? StoreUsage(pins: pins)
    }

    private func normalized(
        _ scopes: RowScopes,
        _ file: ReaderFile
    ) throws(StoreError) -> NormalizedUsage {
        func sum(_ size: String, of rows: String) throws(StoreError) -> NormalizedUsage.Count {
            let sql = "SELECT count(*) AS count, coalesce(sum(\(size)), 0) AS total FROM \(rows)"
            return try file.connection.statement(sql, of: scopes).first { row in
                NormalizedUsage.Count(count: row.integer("count"), bytes: row.integer("total"))
            } ?? NormalizedUsage.Count()
        }
        let (condition, first) = (scopes.condition, EntryID.firstOfEntries)
        var usage = NormalizedUsage()
        let entities = "entry JOIN recency USING (key) WHERE \(condition) AND id < '\(first)'"
        usage.entities = try sum("size", of: entities)
        let skeletons = "skeleton WHERE skeleton IN (SELECT skeleton FROM entry WHERE \(condition))"
        usage.skeletons = try sum("length(data) + \(Limits.rowOverheadBytes)", of: skeletons)
        let members = "length(members) + \(Limits.referenceOverheadBytes)"
        let references = "reference JOIN entry ON entry.key = parent WHERE \(condition)"
        usage.references = try sum(members, of: references)
        return usage
    }

    private func groups(
        by column: String?,
        _ scopes: RowScopes,
        _ file: ReaderFile
    ) throws(StoreError) -> [UsageGroup] {
        let grouping = column.map {
            "GROUP BY \($0) ORDER BY total DESC LIMIT \(Limits.usageGroupsMax)"
        }
        // A row counts no body that is shared as entities.
        let (size, bytes) = (SQLiteStatement.countedSize, SQLiteStatement.counted("bytes"))
        let bodyBytes = """
            CASE WHEN skeleton IS NOT NULL THEN 0
            ELSE min(\(bytes), \(size)) END
            """
        let sql = """
            SELECT \(column ?? "NULL") AS name, count(*) AS count, coalesce(sum(\(size)), 0) AS total,
                coalesce(sum(\(bodyBytes)), 0) AS body_total
            FROM entry JOIN recency USING (key) WHERE \(scopes.condition) \(grouping ?? "")
            """
        return try file.connection.statement(sql, of: scopes).all { row in
            let rows = UsageRows(
                entries: row.integer("count"),
                bytes: row.integer("total"),
                bodyBytes: row.integer("body_total")
            )
            return UsageGroup(name: row.text("name"), rows: rows)
        }
    }
}
