import LarderModel

/// What a ``StoreReader`` knows of `state.db`: a connection that only reads it.
///
/// Each read is a transaction of its own, which keeps the WAL from starting anew no longer than
/// that; reads of one moment are one (``hold()``).
final class StateReader {
    let connection: SQLiteConnection
    private let get: SQLiteStatement
    /// Whether every read sees one commit: while held, and always in the writer's transactions.
    private(set) var isHeld: Bool
    var allowance = ReadAllowance()
    let chunks: ChunkReader
    let references: ReferenceTable
    let shared: SharedCacheState

    init(
        _ connection: SQLiteConnection,
        _ shared: SharedCacheState,
        isInTransaction: Bool = false
    ) throws(StoreError) {
        self.connection = connection
        self.shared = shared
        references = try ReferenceTable(connection, of: .state)
        isHeld = isInTransaction
        get = try connection.prepare(
            """
            SELECT \(EntryColumn.listOfClaim) FROM claim
            WHERE scope = :scope AND id = :id AND kind IS NOT NULL
            """
        )
        chunks = ChunkReader(connection: connection)
    }

    /// Hands a durable row that has an entry to `read` as the row of an entry; nil when there is none.
    func withEntry<Value>(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> Value? {
        get.bind(EntryColumn.scope, scope.text)
        get.bind(EntryColumn.id, id.text)
        return try get.first { row in
            let row = EntryRow(row, file: .state)
            return read(row)
        }
    }

    func revision(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Revision? {
        try claim("rev", scope.text, id).first { row in
            var numbers = RowNumbers(row)
            return numbers.revision(.only)
        }
    }

    func claim(
        _ columns: String,
        _ scope: String,
        _ id: EntryID,
        _ condition: String = ""
    ) throws(StoreError) -> SQLiteStatement {
        try connection.statement(
            "SELECT \(columns) FROM claim WHERE scope = :scope AND id = :id \(condition)",
            (":scope", scope),
            (":id", id.text)
        )
    }

    func lastStep() throws(StoreError) -> Revision {
        let sql = """
            SELECT max(coalesce((SELECT max(change) FROM change_log), 0) / \(ChangeLog.places),
                coalesce((SELECT rev FROM change_log_start), 0))
            """
        return Revision(try connection.statement(sql).first { $0.integer(.only) } ?? 0)
    }

    func inTransaction<Value>(_ read: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        if isHeld { return try read() }
        try connection.statement("BEGIN").run()
        defer { connection.rollBack() }
        return try read()
    }

    func hold() throws(StoreError) {
        guard !isHeld else { return }
        try connection.statement("BEGIN").run()
        isHeld = true
    }

    func letGo() {
        guard isHeld else { return }
        isHeld = false
        connection.rollBack()
    }

    var queue: QueueReader { QueueReader(state: self) }

    func pin(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Pin? {
        try claim(Pin.columns, scope.text, id, "AND pinned_at IS NOT NULL").first(wholePin)
    }

    private func wholePin(_ row: SQLiteStatement) throws(StoreError) -> Pin? {
        guard var pin = Pin(row), pin.keepsShared else { return Pin(row) }
        let scope = shared.key(for: pin.scope)
        guard try sharedRows.isHidden(pin.id, from: scope) != true else { return pin }
        let row = try claim(Pin.columns, Scope.shared.text, pin.id)
        if try row.step() { pin.entry = Pin.entry(row) }
        return pin
    }

    func pins(of scope: ScopeKey, after cursor: String?, limit: Int) throws(StoreError) -> [Pin] {
        let sql = """
            SELECT \(Pin.columns) FROM claim INDEXED BY claim_pinned
            WHERE scope = :scope AND id > :id AND pinned_at IS NOT NULL ORDER BY id LIMIT :limit
            """
        let (after, limit) = ((":id", cursor ?? ""), (":limit", limit))
        return try connection.statement(sql, (":scope", scope.text), after, limit).all(wholePin)
    }

    func pins(where condition: String, after number: Int64) throws(StoreError) -> [Pin] {
        let sql = """
            SELECT \(Pin.columns) FROM claim
            WHERE claim > :after AND \(condition) ORDER BY claim LIMIT \(Limits.pageRowsMax)
            """
        let statement = try connection.statement(sql, (":after", number))
        return try statement.page(by: EntryColumn.key, after: number, Pin.init)
    }

    func usage(_ scopes: RowScopes) throws(StoreError) -> PinUsage {
        let waiting = PinState.waiting.rawValue
        let sql = """
            SELECT coalesce(sum(pinned_at IS NOT NULL AND payer IS NULL), 0) AS count,
                coalesce(sum(\(SQLiteStatement.countedSize)), 0) AS bytes,
                coalesce(sum(pinned_at IS NOT NULL AND state = \(waiting)), 0) AS waiting
            FROM claim WHERE \(scopes.condition) AND (pinned_at IS NOT NULL OR in_pins = 1)
            """
        let statement = try connection.statement(sql)
        scopes.bind(to: statement)
        _ = try statement.step()
        return PinUsage(
            count: statement.integer("count"),
            bytes: statement.integer("bytes"),
            waiting: statement.integer("waiting")
        )
    }

    func allRows() throws(StoreError) -> [DurableRow] {
        try connection.prepare("SELECT \(DurableRow.columnsWithTargets) FROM claim NOT INDEXED")
            .all { DurableRow($0, shared) }
    }

    /// Whether something keeps a row: a pin, a change, a URL of which it is a variant, or a reference from
    /// an answer or from a row that is kept, over others too.
    ///
    /// So an answer goes before its entities, and what is pinned again meanwhile has them all.
    func isKept(_ row: Int64) throws(StoreError) -> Bool {
        let sql = """
            WITH RECURSIVE above (row) AS (
                SELECT :row UNION SELECT parent FROM reference JOIN above ON child = row)
            SELECT 1 FROM above JOIN claim ON claim = row
            WHERE pinned_at IS NOT NULL OR targeted = 1 OR held = 1
                OR skeleton IS NOT NULL AND row <> :row LIMIT 1
            """
        let keeper = try connection.statement(sql, (":row", row))
        return try keeper.step()
    }

    /// One id's row as a list shows it; nil while it is neither an entry nor a target.
    func listed(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> ListedRow? {
        let condition = "AND (kind IS NOT NULL OR targeted > 0)"
        return try claim(ListedRow.columnsOfState, scope.text, id, condition)
            .first(ListedRow.init(saved:))
    }
}

extension SQLiteStatement {
    /// The column `size` as ``RowNumbers`` reads it, for sums, which stay within 64 bits by it.
    static let countedSize = counted("size")

    /// A column of bytes in the range of what a row may count.
    static func counted(_ column: String) -> String {
        let range = Limits.rowBytes
        return "max(\(range.lowerBound), min(CAST(\(column) AS INTEGER), \(range.upperBound)))"
    }

    /// The rows of a page that go up by a number from `last` on.
    ///
    /// Pages of another moment may lead back: whoever goes through such rows would never end.
    func page<Row>(
        by number: some SQLiteColumn,
        after last: Int64,
        _ read: (SQLiteStatement) throws(StoreError) -> Row?
    ) throws(StoreError) -> [Row] {
        var last = last
        return try all { row throws(StoreError) in
            guard row.integer(number) > last else { throw row.damaged() }
            last = row.integer(number)
            return try read(row)
        }
    }

    /// The rows that it answers; one that cannot be read is left out.
    func all<Row>(
        atMost limit: Int = .max,
        _ read: (SQLiteStatement) throws(StoreError) -> Row?
    ) throws(StoreError) -> [Row] {
        defer { reset() }
        var rows: [Row] = []
        while rows.count < limit, try step() {
            if let row = try read(self) { rows.append(row) }
        }
        return rows
    }

    /// The first row; nil where it answers none, or one that cannot be read.
    func first<Row>(
        _ read: (SQLiteStatement) throws(StoreError) -> Row?
    ) throws(StoreError) -> Row? {
        defer { reset() }
        return try step() ? try read(self) : nil
    }
}
