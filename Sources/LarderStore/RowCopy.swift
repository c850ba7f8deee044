import LarderModel

struct RowCopy {
    private(set) var rows = 0
    /// Keys that no row of ours has.
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

    /// What stands under a number that none of ours has gets the next one; no row depends on it.
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
