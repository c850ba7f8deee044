import Glibc
import LarderModel

/// Takes over what can be read of a damaged `state.db`, row by row, and keeps the old file.
///
/// The new file is made beside the old one and takes its place when it is whole and synced
/// (``StateReplacement``); a process that ends before that finds the damaged file again and begins
/// anew. SQLite's own recovery is not in Debian's build.
struct StateSalvage {
    /// Rows that were taken over.
    private(set) var rows = 0
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

        var comparison: String { self == .up ? ">" : "<" }
    }

    /// Replaces a damaged file; what could be taken over of its rows, and where the old one lies.
    static func replace(
        _ file: DatabaseFile
    ) throws(StoreError) -> (result: Result, place: StateReplacement) {
        let new = file.path + ".new"
        for suffix in ["", "-wal", "-shm"] { unlink(new + suffix) }
        let result = try take(file, into: new)
        return (result, try StateReplacement(of: file, by: new))
    }

    /// Both files are closed again when it returns, the new one with everything written back.
    ///
    /// The rows go into a file of the damaged one's own version, which is migrated as any other is.
    private static func take(_ file: DatabaseFile, into path: String) throws(StoreError) -> Result {
        let remains = try StateRemains(of: file)
        defer { remains?.close() }
        let target = DatabaseFile(
            path: path,
            schema: file.schema.at(remains?.version ?? file.schema.steps.count),
            synchronous: file.synchronous,
            faults: file.faults
        )
        let new = try target.openWriter().connection
        var result = Result()
        if let remains {
            var salvage = StateSalvage(old: remains.connection, new: new)
            try new.transaction { () throws(StoreError) in try salvage.takeTables() }
            try file.schema.migrate(new, from: remains.version)
            let findings = try new.transaction { () throws(StoreError) in
                try salvage.repairQueue()
            }
            result = Result(rows: salvage.rows, findings: findings)
        }
        try new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return result
    }

    private init(old: SQLiteConnection, new: SQLiteConnection) {
        self.old = old
        self.new = new
    }

    // MARK: Tables

    /// What has changed is not taken over: the log begins anew.
    private mutating func takeTables() throws(StoreError) {
        let statement = try new.prepare(
            """
            SELECT name FROM sqlite_schema
            WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'change_log'
            """
        )
        while try statement.step() {
            guard let table = statement.text(.only) else { continue }
            try take(table)
        }
        try takeCounter()
    }

    /// Every row of a table that can be read, with the columns that both files have.
    private mutating func take(_ table: String) throws(StoreError) {
        let known = try columns(of: table, new)
        let found = readable { () throws(StoreError) in try columns(of: table, old) }
        let there = Set((found ?? []).map(\.name))
        let names = known.map(\.name).filter(there.contains)
        guard let key = known.first(where: \.isKey)?.name, names.contains(key) else { return }
        var copy = try RowCopy(table, names, key, old, new)
        for direction in Direction.allCases { try take(table, by: key, direction, &copy) }
        try copy.takeStrays()
        rows += copy.rows
    }

    /// Goes through the keys until there is none, one cannot be read, or they do not move on: pages
    /// that are whole but of another moment may lead back.
    private func take(
        _ table: String,
        by key: String,
        _ direction: Direction,
        _ copy: inout RowCopy
    ) throws(StoreError) {
        let order = "ORDER BY \(key) \(direction.rawValue) LIMIT 1"
        let isBeyond = try new.prepare("SELECT :key \(direction.comparison) :last")
        guard let first = select("SELECT \(key) FROM \(table) \(order)"),
            let next = select(
                "SELECT \(key) FROM \(table) WHERE \(key) \(direction.comparison) :last \(order)"
            )
        else { return }
        // The key is read apart from its row: a row whose bytes lie in damaged pages is left out,
        // and only a damaged page of keys is the end in this direction.
        var keys = first
        while readable({ () throws(StoreError) in try keys.step() }) ?? false {
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

    private func select(_ sql: String) -> SQLiteStatement? {
        readable { () throws(StoreError) in try old.prepare(sql) }
    }

    /// The revisions go on where the old file says, if that can be read.
    private mutating func takeCounter() throws(StoreError) {
        let next = readable { () throws(StoreError) in
            try old.integer("SELECT next_rev FROM revision_block WHERE one = 1")
        }
        guard let next, let next, Limits.countedRevisions.contains(next) else { return }
        try new.execute("UPDATE revision_block SET next_rev = \(next) WHERE one = 1")
    }

    private func columns(
        of table: String,
        _ connection: SQLiteConnection
    ) throws(StoreError) -> [(name: String, isKey: Bool)] {
        let statement = try connection.prepare("SELECT name, pk FROM pragma_table_info(:name)")
        statement.bind(":name", table)
        var columns: [(name: String, isKey: Bool)] = []
        while try statement.step() {
            guard let name = statement.text("name") else { continue }
            columns.append((name, statement.integer("pk") == 1))
        }
        return columns
    }

    /// What the old file gives, or nil where it is damaged; the fault of a moment passes.
    func readable<Value>(_ read: () throws(StoreError) -> Value) -> Value? {
        RowCopy.readable(read)
    }
}
