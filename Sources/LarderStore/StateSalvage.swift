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

    static func replace(
        _ file: DatabaseFile
    ) throws(StoreError) -> (rows: Int, findings: [String], place: StateFileSwap) {
        let new = file.path + ".new"
        DatabaseFile.removeFiles(new)
        let (rows, findings) = try take(file, into: new)
        return (rows, findings, try StateFileSwap(of: file, by: new))
    }

    /// Takes the rows into a file of the damaged file's version, which is migrated like any other.
    ///
    /// Both files are closed again when it returns, and the new one has everything written back.
    private static func take(
        _ file: DatabaseFile,
        into path: String
    ) throws(StoreError) -> (rows: Int, findings: [String]) {
        let damaged = try DamagedStateReader.find(of: file)
        defer { damaged?.close() }
        let version = damaged?.version ?? file.schema.steps.count
        let new = try file.sibling(path, file.schema.at(version)).openWriter().connection
        var result = (rows: 0, findings: [String]())
        if let damaged {
            var salvage = StateSalvage(old: damaged.connection, new: new)
            try new.transaction { () throws(StoreError) in try salvage.takeTables() }
            try file.schema.migrate(new, from: damaged.version)
            result.rows = salvage.rows
            result.findings = try new.transaction { () throws(StoreError) in
                try salvage.repairQueue()
            }
        }
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
        try takeCounter()
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

    /// The revisions go on where the old file says, if that can be read.
    private mutating func takeCounter() throws(StoreError) {
        let next = readable(try old.integer("SELECT next_rev FROM revision_block WHERE one = 1"))
        guard let next, let next, Limits.countedRevisions.contains(next) else { return }
        try new.execute("UPDATE revision_block SET next_rev = \(next) WHERE one = 1")
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
