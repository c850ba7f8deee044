import LarderModel

/// Copies rows of one table by their keys, as far as they can be read.
struct RowCopy {
    /// Rows that were taken over.
    private(set) var rows = 0
    /// Keys that no row of ours has.
    private var strays: Set<Int64> = []
    private let table: String
    private let names: [String]
    /// The place of the key among the names.
    private let keyPlace: Int?
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
        let places = names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        self.table = table
        self.names = names
        self.new = new
        let type = try new.text(
            "SELECT type FROM pragma_table_info('\(table)') WHERE name = '\(key)'"
        )
        keyPlace = type == "INTEGER" ? names.firstIndex(of: key) : nil
        insert = try new.prepare("INSERT OR IGNORE INTO \(table) (\(list)) VALUES (\(places))")
        row = Self.readable { () throws(StoreError) in
            try old.prepare("SELECT \(list) FROM \(table) WHERE \(key) = ?1")
        }
    }

    /// Takes the row over whose key stands in the first column.
    mutating func take(_ keys: SQLiteStatement) throws(StoreError) {
        guard let row else { return }
        if keyPlace != nil, !keyRange.contains(keys.integer(.only)) {
            if isNumberedAnew { strays.insert(keys.integer(.only)) }
            return
        }
        row.bind(1, column: 0, of: keys)
        try copy(row)
    }

    /// What stands under a number that none of ours has gets the next one; no row depends on it.
    mutating func takeStrays() throws(StoreError) {
        guard let row, let keyPlace else { return }
        for key in strays.sorted() {
            row.bind(1, key)
            try copy(row, without: keyPlace)
        }
    }

    private mutating func copy(
        _ row: SQLiteStatement,
        without place: Int? = nil
    ) throws(StoreError) {
        defer { row.reset() }
        guard Self.readable({ () throws(StoreError) in try row.step() }) ?? false else { return }
        for position in names.indices {
            insert.bind(Int32(position + 1), column: Int32(position), of: row)
        }
        if let place { insert.bind(Int32(place + 1), Int64?.none) }
        let before = new.totalChanges
        try insert.run()
        rows += Int(new.totalChanges - before)
    }

    /// The number of a body stands in its chunks' keys, too: others name nothing.
    private var isNumberedAnew: Bool { keyRange == Limits.foundNumbers }

    private var keyRange: ClosedRange<Int64> {
        switch table {
        case "body", "kept_body": Limits.foundBodies
        case "chunk", "kept_chunk": 0...(.max)
        case _: Limits.foundNumbers
        }
    }

    /// What the old file gives, or nil where it is damaged; the fault of a moment passes.
    static func readable<Value>(_ read: () throws(StoreError) -> Value) -> Value? {
        (try? read()) ?? (try? read())
    }
}
