import LarderModel

/// Checks that the rows of `state.db` agree, and reads what a start uses.
///
/// SQLite takes a whole page of another moment for sound: an index then names other rows, a count
/// is wrong, a counter goes back. Each finding throws `corrupt`, and then the file is salvaged.
struct StateCheck {
    let connection: SQLiteConnection

    func run() throws(StoreError) {
        try connection.execute(Self.repairs)
        try checkNumbers()
        try checkIndexes()
        for (what, sql) in Self.contradictions where try connection.integer(sql) != nil {
            throw damaged(what)
        }
    }

    func readPages() throws(StoreError) {
        guard try connection.text("PRAGMA quick_check(1)") == "ok" else { throw damaged("check") }
    }

    /// Reads what a start uses of a large file: the unsettled modifiers, their effects, the small
    /// tables.
    func readQueue() throws(StoreError) {
        let queue = [
            "SELECT \(ModifierColumn.withoutBytes) FROM modifier NOT INDEXED WHERE settled_at IS NULL",
            "SELECT scope, id, effect FROM change NOT INDEXED WHERE settled = 0",
            "SELECT scope, lane FROM paused_lane", "SELECT name FROM offline_origin",
            CredentialRows.all,
            "SELECT target, rev FROM reading",
            "SELECT one, rev FROM change_log_start",
        ]
        for sql in queue {
            let statement = try connection.prepare(sql)
            while try statement.step() { statement.readAll() }
        }
    }

    /// The revision after the highest that a row is of, which the counter cannot be below.
    func nextRevision() throws(StoreError) -> Int64 {
        let last = Limits.claimedRevisions.upperBound
        func highest(_ column: String, of table: String) -> String {
            "(SELECT coalesce(max(\(column)), 0) FROM \(table) WHERE \(column) BETWEEN 0 AND \(last))"
        }
        let rows = ["modifier", "claim", "history"].map { highest("rev", of: $0) }
        let logged = """
            (SELECT coalesce(max(change), 0) / \(ChangeLog.places) FROM change_log
            WHERE change BETWEEN 0 AND \(last * ChangeLog.places))
            """
        let sql = "SELECT max(\((rows + [logged]).joined(separator: ", ")))"
        return (try connection.integer(sql) ?? 0) + 1
    }

    private func damaged(_ what: String) -> StoreError {
        .corrupt(file: connection.path, step: "\(what) \(connection.path)")
    }

    // MARK: Numbers

    private func checkNumbers() throws(StoreError) {
        let numbers = Limits.foundNumbers
        let tables = [
            "modifier", "claim", "change", "history", "paused_lane", "credential", "body",
            "temporary_id", "temporary_use",
        ]
        for table in tables {
            let key = table == "modifier" ? "number" : table
            let range = table == "body" ? Limits.foundBodies : numbers
            let ends = "SELECT min(\(key)) AS first, max(\(key)) AS last FROM \(table)"
            let row = try connection.prepare(ends)
            guard try row.step(), !row.isNull("first") else { continue }
            guard range.contains(row.integer("first")), range.contains(row.integer("last")) else {
                throw damaged("number the rows of \(table) in")
            }
        }
        let last = numbers.upperBound
        let sequences = """
            SELECT 1 FROM sqlite_sequence WHERE typeof(seq) <> 'integer' OR seq NOT BETWEEN 0 AND
            CASE name WHEN 'body' THEN \(Limits.foundBodies.upperBound) ELSE \(last) END
            UNION ALL SELECT 1 WHERE (SELECT max(number) FROM history
                WHERE number BETWEEN 0 AND \(last)) >
                coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'modifier'), 0)
            """
        if try connection.integer(sequences) != nil { throw damaged("count the rows of") }
    }

    private static let contradictions: KeyValuePairs = [
        "match the changes and modifiers of": """
        SELECT 1 FROM change NOT INDEXED LEFT JOIN modifier ON number = change.modifier
        WHERE number IS NULL OR change.settled NOT IN (0, 1, 2)
            OR (change.settled = 1) <> (settled_at IS NOT NULL)
            OR (change.settled = 2 AND answered = 0) LIMIT 1
        """,
        "find the changes of targets in": """
        SELECT 1 FROM claim NOT INDEXED WHERE scope <> 'shared' AND targeted <>
            EXISTS (SELECT 1 FROM change INDEXED BY change_target
            WHERE settled = 0 AND scope = claim.scope AND id = claim.id) LIMIT 1
        """,
        "find what keeps the shared rows of": """
        SELECT 1 FROM claim NOT INDEXED WHERE scope = 'shared' AND targeted <>
            EXISTS (SELECT 1 FROM claim AS keeper INDEXED BY claim_keeper
            WHERE keeper.id = claim.id AND shared = 1 AND keeper.targeted = 1)
        UNION ALL
        SELECT 1 FROM claim AS keeper NOT INDEXED WHERE shared = 1 AND (kind IS NOT NULL
            OR (targeted = 1 OR state IN (0, 1))
            AND NOT EXISTS (SELECT 1 FROM claim WHERE scope = 'shared' AND id = keeper.id)) LIMIT 1
        """,
        "find the targets of": """
        SELECT 1 FROM change INDEXED BY change_target WHERE settled = 0 AND NOT EXISTS
            (SELECT 1 FROM claim WHERE claim.scope = change.scope AND claim.id = change.id) LIMIT 1
        """,
    ]

    /// Marks settled modifiers as failed, and computes impossible sizes again.
    ///
    /// Such sizes would fill the queue, or the room of pins. A size is possible up to
    /// 1 MiB plus twice what the row holds.
    private static let repairs = """
        UPDATE modifier SET found_state = state, state = 'failed', reason = 'unreadable'
        WHERE settled_at IS NOT NULL AND state <> 'failed';
        UPDATE modifier SET size = \(heldByModifier) WHERE coalesce(size, -1) NOT BETWEEN 0 AND
            1048576 AND coalesce(size, -1) NOT BETWEEN 0 AND 1048576 + 2 * \(heldByModifier);
        UPDATE claim SET size = \(heldByClaim) WHERE coalesce(size, -1) NOT BETWEEN 0 AND 1048576
            AND coalesce(size, -1) NOT BETWEEN 0 AND 1048576 + 2 * \(heldByClaim)
        """

    private static let heldByModifier = """
        (\(Limits.rowOverheadBytes) + coalesce(length(body), 0)
            + coalesce(length(CAST(headers AS BLOB)), 0) + \(HistoryColumn.answerSize)
            + (SELECT coalesce(sum(length(effect) + coalesce(length(before), 0)
                + coalesce(length(after), 0) + \(ChangeColumn.seenSize)), 0)
                FROM change WHERE change.modifier = number))
        """

    private static let heldByClaim = """
        (\(Limits.rowOverheadBytes) + coalesce(length(data), 0)
            + coalesce(length(CAST(headers AS BLOB)), 0)
            + coalesce((SELECT count(*) * \(Limits.inlineBodyBytesMax + Limits.chunkOverheadBytes)
                FROM chunk WHERE chunk >= (claim.body << 20) AND chunk < ((claim.body + 1) << 20)
            ), 0))
        """

    // MARK: Indexes

    /// Each row has its place in each index, and no other row has one: what SQLite's own quick
    /// check leaves out.
    private func checkIndexes() throws(StoreError) {
        let indexes = try connection.prepare(
            """
            SELECT name, tbl_name, sql,
                (SELECT group_concat(coalesce(part.name, 'rowid'))
                    FROM pragma_index_info(entry.name) AS part) AS columns
            FROM sqlite_schema AS entry WHERE type = 'index' AND sql IS NOT NULL
            """
        )
        while try indexes.step() {
            guard let index = indexes.text("name"), let table = indexes.text("tbl_name"),
                let sql = indexes.text("sql"), let columns = indexes.text("columns")
            else { continue }
            // A partial index has a condition.
            let parts = sql.split(separator: " WHERE ", maxSplits: 1)
            let condition = parts.count == 2 ? String(parts[1]) : "1"
            try check(index, columns.split(separator: ","), of: table, whereRows: condition)
        }
    }

    private func check(
        _ index: String,
        _ columns: [Substring],
        of table: String,
        whereRows condition: String
    ) throws(StoreError) {
        let same = ["other.rowid = held.rowid"] + columns.map { "other.\($0) IS held.\($0)" }
        let missing = """
            SELECT 1 FROM \(table) AS held NOT INDEXED WHERE (\(condition)) AND NOT EXISTS
                (SELECT 1 FROM \(table) AS other INDEXED BY \(index)
                WHERE \(same.joined(separator: " AND ")) AND (\(condition)))
            LIMIT 1
            """
        let counts = """
            SELECT 1 WHERE (SELECT count(*) FROM \(table) NOT INDEXED WHERE \(condition)) <>
                (SELECT count(*) FROM \(table) INDEXED BY \(index) WHERE \(condition))
            """
        for sql in [missing, counts] where try connection.integer(sql) != nil {
            throw damaged("look through \(index) of")
        }
    }
}
