import LarderModel

/// Takes over what can be read of a damaged `state.db`, row by row.
///
/// The new file replaces the old one when it is whole and synced (``StateFileSwap``); the old
/// one is kept. A process that ends before that finds the damaged file again. Debian's SQLite has
/// no recovery.
struct StateSalvage {
    private(set) var rows = 0
    let old: SQLiteConnection
    let new: SQLiteConnection

    /// `highest` is the highest revision that the cache knows.
    static func replace(
        _ file: DatabaseFile,
        after highest: Revision
    ) throws(StoreError) -> (rows: Int, findings: [String], place: StateFileSwap) {
        let new = file.path + ".new"
        DatabaseFile.removeFiles(new)
        do throws(StoreError) {
            let (rows, findings) = try take(file, into: new, after: highest)
            return (rows, findings, try StateFileSwap(of: file, by: new))
        } catch {
            // A part of a salvage would keep a full disk full until the next start.
            DatabaseFile.removeFiles(new)
            throw error
        }
    }

    /// Takes the rows into a file of the damaged file's version, which is migrated like any other.
    ///
    /// Both files are closed again when it returns, and the new one has everything written back.
    private static func take(
        _ file: DatabaseFile,
        into path: String,
        after highest: Revision
    ) throws(StoreError) -> (rows: Int, findings: [String]) {
        let damaged = try DamagedStateReader.find(of: file)
        defer { damaged?.close() }
        let version = damaged?.version ?? file.schema.steps.count
        let new = try file.sibling(path, file.schema.at(version)).openWriter().connection
        var result = (rows: 0, findings: [String]())
        var isCounted = false
        if let damaged {
            var salvage = StateSalvage(old: damaged.connection, new: new)
            try new.transaction { () throws(StoreError) in
                try salvage.takeTables()
                isCounted = try salvage.takeCounter()
            }
            try file.schema.migrate(new, from: damaged.version)
            result.rows = salvage.rows
            result.findings = try new.transaction { () throws(StoreError) in
                try salvage.repairQueue()
            }
        }
        if !isCounted { try skipRevisions(of: new, after: highest) }
        try new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return result
    }

    // MARK: Tables

    /// Takes over every table except the change log, which begins again.
    private mutating func takeTables() throws(StoreError) {
        let statement = try new.prepare(
            """
            SELECT name FROM sqlite_schema
            WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'change_log'
            """
        )
        for table in try statement.all({ $0.text(.only) }) { try take(table) }
    }

    private mutating func take(_ table: String) throws(StoreError) {
        let known = try columns(of: table, new)
        let found = readable(try columns(of: table, old))
        let there = Set((found ?? []).map(\.name))
        let names = known.map(\.name).filter(there.contains)
        guard let key = known.first(where: \.isKey)?.name, names.contains(key) else { return }
        var copy = try RowCopy(table, names, key, old, new)
        // From both ends, as a damaged page in the middle stops each of them.
        for (order, sign) in [("ASC", ">"), ("DESC", "<")] {
            try take(table, by: key, order, sign, &copy)
        }
        try copy.takeStrays()
        rows += copy.rows
    }

    /// Goes through the keys until there is none, a key cannot be read, or a key does not move on.
    ///
    /// Pages that are whole but stale may lead back.
    private func take(
        _ table: String,
        by key: String,
        _ direction: String,
        _ sign: String,
        _ copy: inout RowCopy
    ) throws(StoreError) {
        let order = "ORDER BY \(key) \(direction) LIMIT 1"
        let isBeyond = try new.prepare("SELECT :key \(sign) :last")
        let beyond = "WHERE \(key) \(sign) :last"
        guard let first = readable(try old.prepare("SELECT \(key) FROM \(table) \(order)")),
            let next = readable(try old.prepare("SELECT \(key) FROM \(table) \(beyond) \(order)"))
        else { return }
        // The key is read apart from its row. A row in damaged pages is left out, and only a
        // damaged page of keys ends this direction.
        var keys = first
        while readable(try keys.step()) ?? false {
            isBeyond.bind(":key", of: keys)
            if keys !== first {
                guard try isBeyond.step(), isBeyond.isTrue(.only) else { return }
            }
            try copy.take(keys)
            isBeyond.bind(":last", of: keys)
            next.bind(":last", of: keys)
            keys = next
        }
    }

    /// The revisions go on where the old file says; false if that cannot be read.
    private func takeCounter() throws(StoreError) -> Bool {
        let next = readable(try old.integer("SELECT next_rev FROM revision_block WHERE one = 1"))
        guard let next, let next, Limits.countedRevisions.contains(next) else { return false }
        try new.execute("UPDATE revision_block SET next_rev = \(next) WHERE one = 1")
        return true
    }

    /// The revisions go on far above all that rows and the cache say.
    ///
    /// Without the counter, numbers that no row has any more would be given again.
    private static func skipRevisions(
        of new: SQLiteConnection,
        after highest: Revision
    ) throws(StoreError) {
        let next = max(try StateCheck(connection: new).nextRevision(), highest.number + 1)
        let first = next + Limits.skippedRevisions
        try new.execute("UPDATE revision_block SET next_rev = \(first) WHERE one = 1")
    }

    private func columns(
        of table: String,
        _ connection: SQLiteConnection
    ) throws(StoreError) -> [(name: String, isKey: Bool)] {
        let statement = try connection.prepare("SELECT name, pk FROM pragma_table_info(:name)")
        statement.bind(":name", table)
        return try statement.all { row in
            row.text("name").map { (name: $0, isKey: row.integer("pk") == 1) }
        }
    }
}

/// Result of a read of the old file, nil if it is damaged; a second try covers a momentary fault.
func readable<Value>(_ read: @autoclosure () throws(StoreError) -> Value) -> Value? {
    (try? read()) ?? (try? read())
}

struct RowCopy {
    private(set) var rows = 0
    private var strays: Set<Int64> = []
    private let table: String
    private let key: String
    private let isKeyInteger: Bool
    private let row: SQLiteStatement?
    private let insert: SQLiteStatement
    private let new: SQLiteConnection

    init(
        _ table: String,
        _ names: [String],
        _ key: String,
        _ old: SQLiteConnection,
        _ new: SQLiteConnection
    ) throws(StoreError) {
        let list = names.joined(separator: ", ")
        let values = names.map { ":\($0)" }.joined(separator: ", ")
        self.table = table
        self.key = key
        self.new = new
        let type = "SELECT type FROM pragma_table_info('\(table)') WHERE name = '\(key)'"
        isKeyInteger = try new.text(type) == "INTEGER"
        insert = try new.prepare("INSERT OR IGNORE INTO \(table) (\(list)) VALUES (\(values))")
        row = readable(try old.prepare("SELECT \(list) FROM \(table) WHERE \(key) = :key"))
    }

    mutating func take(_ keys: SQLiteStatement) throws(StoreError) {
        guard let row else { return }
        if isKeyInteger, !keyRange.contains(keys.integer(.only)) {
            // The number of a body is in its chunks' keys, too: others name nothing.
            if keyRange == Limits.foundNumbers { strays.insert(keys.integer(.only)) }
            return
        }
        row.bind(":key", of: keys)
        try copy(row)
    }

    /// Gives each row under an impossible number the next free one; no row depends on it.
    mutating func takeStrays() throws(StoreError) {
        guard let row else { return }
        for key in strays.sorted() {
            row.bind(":key", key)
            try copy(row, asNew: true)
        }
    }

    private mutating func copy(_ row: SQLiteStatement, asNew: Bool = false) throws(StoreError) {
        defer { row.reset() }
        guard readable(try row.step()) ?? false else { return }
        insert.bindAll(of: row)
        if asNew { insert.bind(":" + key, Int64?.none) }
        let before = new.totalChanges
        try insert.run()
        rows += Int(new.totalChanges - before)
    }

    private var keyRange: ClosedRange<Int64> {
        switch table {
        case "body", "kept_body": Limits.foundBodies
        case "chunk", "kept_chunk": 0...(.max)
        case _: Limits.foundNumbers
        }
    }
}

/// Repairs the queue after its rows were taken over, so that nothing of it is lost silently.
extension StateSalvage {
    /// Repairs the queue; findings for the log, none where nothing is missing.
    ///
    /// Every target of an unsettled change is kept again. A modifier whose own row is lost becomes
    /// a dead letter without a request, with the changes that are left of it. A reader finds a
    /// modifier that misses some of its changes as unreadable.
    func repairQueue() throws(StoreError) -> [String] {
        var findings: [String] = []
        try numberOrphans()
        let orphans = "modifier NOT IN (SELECT number FROM modifier)"
        let lost = try new.integer("SELECT count(DISTINCT modifier) FROM change WHERE \(orphans)")
        if let lost, lost > 0 {
            try new.execute(
                """
                INSERT INTO modifier (number, scope, id, origin, state, reason, depends_on,
                    attempts, not_applied, stalled, round, accepted_at, settled_at, rev,
                    digest_high, digest_low, size, changes, method, url, headers)
                SELECT modifier, scope, 'lost-' || modifier || CASE WHEN EXISTS (
                        SELECT 1 FROM modifier AS other WHERE other.scope = change.scope
                        AND other.id = 'lost-' || change.modifier
                    ) THEN '-' || modifier ELSE '' END, '', 'failed', 'unreadable', '', 0, 0, 0,
                    1, 0, 0, 0, 0, 0, 0, count(*), '', '', ''
                FROM change WHERE \(orphans) GROUP BY modifier
                """
            )
            let words = "modifiers only the changes could be read: they are dead letters now"
            findings.append("of \(lost) \(words)")
        }
        try new.execute(
            """
            UPDATE change SET settled = (SELECT settled_at IS NOT NULL FROM modifier
                WHERE number = change.modifier)
            """
        )
        let parts = try new.integer(
            """
            SELECT count(*) FROM modifier WHERE settled_at IS NULL AND changes <>
                (SELECT count(*) FROM change WHERE modifier = number)
            """
        )
        if let parts, parts > 0 {
            let words = "modifiers have lost a part of their changes and cannot be sent"
            findings.append("\(parts) \(words)")
        }
        // Without its first page, a file of version 15 does not say that it lacks the mark.
        try new.execute(
            "UPDATE modifier SET perhaps_applied = 1 WHERE attempts > 0 OR state = 'unknown'"
        )
        // Rows that are made from here on have new numbers.
        try takeNumbers()
        try keepTargets()
        try new.execute(Self.lostParts)
        // Sweeps rows that no row names any more, and chunks without a body.
        try new.execute(
            """
            DELETE FROM temporary_use WHERE modifier NOT IN (SELECT number FROM modifier)
                OR temporary_id NOT IN (SELECT temporary_id FROM temporary_id);
            UPDATE temporary_id SET state = 2 WHERE state = 0 AND NOT EXISTS
                (SELECT 1 FROM modifier WHERE number = creator AND settled_at IS NULL);
            DELETE FROM hidden WHERE claim NOT IN (SELECT claim FROM claim WHERE scope = 'shared');
            DELETE FROM chunk WHERE (chunk >> 20) NOT IN (SELECT body FROM body);
            UPDATE body SET linked = 0
            WHERE body NOT IN (SELECT body FROM claim WHERE body IS NOT NULL);
            UPDATE revision_block SET takes_along = 1
            """
        )
        return findings
    }

    /// Collects changes under impossible modifier numbers in one dead letter.
    private func numberOrphans() throws(StoreError) {
        let numbers = Limits.foundNumbers
        try new.execute(
            """
            UPDATE OR REPLACE change SET position = change, modifier = 1 +
                max(coalesce((SELECT max(number) FROM modifier), 0), coalesce((SELECT max(modifier)
                FROM change WHERE modifier <= \(numbers.upperBound) - 1), 0))
            WHERE modifier NOT BETWEEN \(numbers.lowerBound) AND \(numbers.upperBound)
            """
        )
    }

    private func keepTargets() throws(StoreError) {
        let counted = "settled = 0 AND change.scope = claim.scope AND change.id = claim.id"
        try new.execute(
            """
            UPDATE claim SET shared = 0 WHERE kind IS NOT NULL OR scope = 'shared';
            UPDATE claim SET targeted = EXISTS (SELECT 1 FROM change WHERE \(counted));
            INSERT INTO claim (scope, id, size, targeted, shared, wanted)
            SELECT scope, id,
                \(Limits.rowOverheadBytes) + length(CAST(scope AS BLOB)) + length(CAST(id AS BLOB)),
                1, 0, 0
            FROM change WHERE settled = 0 AND NOT EXISTS (SELECT 1 FROM claim WHERE \(counted))
            GROUP BY scope, id;
            \(Self.keptRows)
            """
        )
    }

    /// Each shared row that is kept has its row, and says what keeps it.
    private static let keptRows = """
        INSERT INTO claim (scope, id, size, targeted, shared, wanted)
        SELECT DISTINCT 'shared', id, \(Limits.rowOverheadBytes) + 6 + length(CAST(id AS BLOB)), 0, 0, 0
        FROM claim AS keeper WHERE shared = 1
            AND NOT EXISTS (SELECT 1 FROM claim WHERE scope = 'shared' AND id = keeper.id);
        UPDATE claim SET (targeted, pinned_at) = (
            SELECT coalesce(max(targeted), 0), min(CASE WHEN state IN (0, 1, 4) THEN pinned_at END)
            FROM claim AS keeper WHERE keeper.id = claim.id AND shared = 1)
        WHERE scope = 'shared';
        UPDATE claim SET state = iif(pinned_at IS NULL, NULL, 0), payer = (
            SELECT CAST(scope AS INTEGER) FROM claim AS keeper WHERE keeper.id = claim.id AND shared = 1
            ORDER BY pinned_at IS NULL OR state NOT IN (0, 1, 4), claim LIMIT 1)
        WHERE scope = 'shared';
        """

    /// Clears entries whose body or skeleton is lost, and shared answers without an entity.
    ///
    /// Pins of what cannot be shown, as a part of it is lost, want it from an origin again.
    private static let lostParts = """
        UPDATE claim SET state = iif(kind = \(fetched), \(waiting), \(PinState.failed.rawValue)),
            problem = iif(kind = \(fetched), NULL, '\(PinTrouble.damaged.problem)'),
            reason = iif(kind = \(fetched), NULL, '\(PinTrouble.damaged.reason)'),
            gone_status = NULL, wanted = (kind = \(fetched))
        WHERE pinned_at IS NOT NULL AND scope <> 'shared' AND \(isWithoutBytes);
        \(above) UPDATE claim SET \(DurableStatement.cleared), size = \(Limits.rowOverheadBytes)
            + length(CAST(scope || id || coalesce(origin, '') AS BLOB))
            + coalesce(length(request), 0)
        WHERE (\(isWithoutBytes)) OR scope = 'shared' AND skeleton IS NOT NULL
            AND claim IN (SELECT row FROM above);
        \(above) UPDATE claim SET state = \(waiting), wanted = 1
        WHERE pinned_at IS NOT NULL AND state = \(PinState.held.rawValue) AND scope <> 'shared'
            AND (skeleton IS NOT NULL AND claim IN (SELECT row FROM above) OR shared = 1
                AND id NOT IN (SELECT id FROM claim WHERE scope = 'shared' AND kind IS NOT NULL
                    AND (skeleton IS NULL OR claim NOT IN (SELECT row FROM above))));
        DELETE FROM reference WHERE child NOT IN (SELECT claim FROM claim)
            OR parent NOT IN (SELECT claim FROM claim WHERE kind IS NOT NULL);
        """

    /// The rows above those that are lost.
    private static let above = """
        WITH RECURSIVE above (row) AS (
            SELECT parent FROM reference WHERE child NOT IN (SELECT claim FROM claim)
            UNION SELECT parent FROM reference JOIN above ON child = row)
        """
    private static let fetched = EntryKind.fetched.rawValue
    private static let waiting = PinState.waiting.rawValue
    private static let isWithoutBytes = """
        kind IS NOT NULL AND (skeleton IS NOT NULL
                AND skeleton NOT IN (SELECT skeleton FROM skeleton)
            OR body IS NOT NULL AND (body NOT IN (SELECT body FROM body)
                OR bytes <> (SELECT coalesce(sum(length(data)), 0) FROM chunk
                    WHERE chunk >= body << 20 AND chunk < (body + 1) << 20)))
        """

    /// No number is given twice: those of lost rows, which other rows may name, count as given.
    private func takeNumbers() throws(StoreError) {
        try takeNumbers(
            of: "modifier",
            ["number", "number FROM history", "creator FROM temporary_id"]
        )
        try takeNumbers(of: "history", ["history"])
        try takeNumbers(
            of: "claim",
            ["claim", "child FROM reference", "parent FROM reference", "claim FROM hidden"],
            before: "kept"
        )
        try takeNumbers(
            of: "body",
            ["body", "body FROM claim", "chunk >> 20 FROM chunk"],
            before: "kept_body"
        )
        try takeNumbers(of: "skeleton", ["skeleton", "skeleton FROM claim"])
        try takeNumbers(of: "prefetch", ["prefetch", "prefetch FROM prefetch_item"])
    }

    /// `columns` has the key of the table and every column that names its rows; `earlier` is the
    /// name that the table had before.
    private func takeNumbers(
        of table: String,
        _ columns: [String],
        before earlier: String = ""
    ) throws(StoreError) {
        let sequence = """
            SELECT max(seq) FROM sqlite_sequence WHERE name IN ('\(table)', '\(earlier)')
            """
        let before = readable(try old.integer(sequence))
        let range = table == "body" ? Limits.foundBodies : Limits.foundNumbers
        let numbers = columns.map { column in
            " UNION ALL SELECT \(column)" + (column.contains(" ") ? "" : " FROM \(table)")
        }
        let known = try new.integer(
            """
            SELECT max(number) FROM (SELECT 0 AS number\(numbers.joined()))
            WHERE number BETWEEN 0 AND \(range.upperBound)
            """
        )
        let said = (before ?? nil) ?? 0
        let last = max(known ?? 0, range.contains(said) ? said : 0)
        guard last > 0 else { return }
        try new.execute(
            """
            DELETE FROM sqlite_sequence WHERE name = '\(table)';
            INSERT INTO sqlite_sequence (name, seq) VALUES ('\(table)', \(last))
            """
        )
    }
}
