import Glibc
import LarderModel

/// Takes over what can be read of a damaged `state.db`, row by row, and keeps the old file.
///
/// The new file is made beside the old one and takes its place when it is whole and synced; a
/// process that ends before that finds the damaged file again and begins anew. SQLite's own
/// recovery is not in Debian's build.
struct StateSalvage {
    /// Rows that were taken over.
    private(set) var rows = 0
    /// What could not be, in words for the log.
    private(set) var findings: [String] = []
    private let file: DatabaseFile
    let old: SQLiteConnection
    let new: SQLiteConnection

    /// What was taken over.
    struct Result {
        var rows = 0
        var findings: [String] = []
    }

    /// In which direction a table is read: from both ends, as a damaged page in the middle stops
    /// each of them.
    private enum Direction: String, CaseIterable {
        case up = "ASC"
        case down = "DESC"
    }

    private static func newPath(_ file: DatabaseFile) -> String { file.path + ".new" }

    /// Puts a new file into its place that a process which ended meanwhile has left whole.
    static func finishEarlier(_ file: DatabaseFile) throws(StoreError) {
        guard !file.path.isThere, newPath(file).isThere else { return }
        try putIntoPlace(file)
    }

    /// Replaces a damaged file; what could be taken over of its rows.
    static func replace(_ file: DatabaseFile) throws(StoreError) -> Result {
        for suffix in ["", "-wal", "-shm"] { unlink(newPath(file) + suffix) }
        let result = try take(file)
        try file.setAside()
        try putIntoPlace(file)
        return result
    }

    private static func putIntoPlace(_ file: DatabaseFile) throws(StoreError) {
        guard rename(newPath(file), file.path) == 0 else {
            throw .cannotOpen(path: file.path, reason: lastSystemError())
        }
    }

    /// Both files are closed again when it returns, the new one with everything written back.
    private static func take(_ file: DatabaseFile) throws(StoreError) -> Result {
        let target = DatabaseFile(
            path: newPath(file),
            schema: file.schema,
            synchronous: file.synchronous,
            faults: file.faults
        )
        let new = try target.openWriter().connection
        do throws(StoreError) {
            let remains = try StateRemains(of: file, like: new)
            defer { remains.close() }
            var salvage = StateSalvage(file: file, old: remains.connection, new: new)
            try new.execute("BEGIN IMMEDIATE")
            try salvage.run()
            try new.execute("COMMIT")
            try new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return Result(rows: salvage.rows, findings: salvage.findings)
        } catch .corrupt {
            // Not even its tables are known: there is nothing to take over.
            new.rollBack()
            try new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return Result()
        }
    }

    private init(file: DatabaseFile, old: SQLiteConnection, new: SQLiteConnection) {
        self.file = file
        self.old = old
        self.new = new
    }

    // MARK: Tables

    private mutating func run() throws(StoreError) {
        let statement = try new.prepare(
            """
            SELECT name FROM sqlite_schema
            WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'revision_block'
                AND name NOT IN ('change_log', 'change_log_start', 'secret')
            """
        )
        while try statement.step() {
            guard let table = statement.text(0) else { continue }
            try take(table)
        }
        try takeCounter()
        try takeSecret()
        findings = try repairQueue()
    }

    /// Every row of a table that can be read, with the columns that both files have.
    private mutating func take(_ table: String) throws(StoreError) {
        let known = try columns(of: table, new)
        let there = Set(try columns(of: table, old).map(\.name))
        let names = known.map(\.name).filter(there.contains)
        guard !names.isEmpty, let key = known.first(where: \.isKey)?.name else { return }
        for direction in Direction.allCases {
            try take(table, names, by: key, direction)
        }
    }

    private mutating func take(
        _ table: String,
        _ names: [String],
        by key: String,
        _ direction: Direction
    ) throws(StoreError) {
        let list = names.joined(separator: ", ")
        let places = names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        let insert = try new.prepare("INSERT OR IGNORE INTO \(table) (\(list)) VALUES (\(places))")
        let comparison = direction == .up ? ">" : "<"
        let order = "ORDER BY \(key) \(direction.rawValue) LIMIT 1"
        guard let first = select("SELECT \(key) FROM \(table) \(order)"),
            let next = select("SELECT \(key) FROM \(table) WHERE \(key) \(comparison) ?1 \(order)"),
            let row = select("SELECT \(list) FROM \(table) WHERE \(key) = ?1")
        else { return }
        // The key is read apart from its row: a row whose bytes lie in damaged pages is left out,
        // and only a damaged page of keys is the end in this direction.
        var keys = first
        while readable({ () throws(StoreError) in try keys.step() }) ?? false {
            row.bind(1, column: 0, of: keys)
            if readable({ () throws(StoreError) in try row.step() }) ?? false {
                for position in names.indices {
                    insert.bind(Int32(position + 1), column: Int32(position), of: row)
                }
                let before = new.totalChanges
                try insert.run()
                rows += Int(new.totalChanges - before)
            }
            row.reset()
            next.bindAgain(1, column: 0, of: keys)
            keys = next
        }
    }

    private func select(_ sql: String) -> SQLiteStatement? {
        readable { () throws(StoreError) in try old.prepare(sql) }
    }

    /// The revisions go on where the old file says, if that can be read.
    private mutating func takeCounter() throws(StoreError) {
        let next = readable { () throws(StoreError) in
            try old.integer("SELECT next_rev FROM revision_block WHERE one = 1")
        }
        guard let next, let next, Limits.revisions.contains(next) else { return }
        try new.execute("UPDATE revision_block SET next_rev = \(next) WHERE one = 1")
    }

    /// The secret stays, if it can be read; else the next start draws another.
    private mutating func takeSecret() throws(StoreError) {
        guard let old = select("SELECT digest_key FROM secret WHERE one = 1"),
            readable({ () throws(StoreError) in try old.step() }) ?? false
        else { return }
        let insert = try new.prepare("INSERT INTO secret (one, digest_key) VALUES (1, ?1)")
        guard old.bytes(0).count == 16 else { return }
        insert.bind(1, column: 0, of: old)
        try insert.run()
    }

    private func columns(
        of table: String,
        _ connection: SQLiteConnection
    ) throws(StoreError) -> [(name: String, isKey: Bool)] {
        let statement = try connection.prepare("SELECT name, pk FROM pragma_table_info(?1)")
        statement.bind(1, table)
        var columns: [(name: String, isKey: Bool)] = []
        while try statement.step() {
            guard let name = statement.text(0) else { continue }
            columns.append((name, statement.integer(1) == 1))
        }
        return columns
    }

    /// What the old file gives, or nil where it is damaged; the fault of a moment passes.
    func readable<Value>(_ read: () throws(StoreError) -> Value) -> Value? {
        (try? read()) ?? (try? read())
    }
}
