import LarderModel

/// What a ``StoreReader`` knows of `state.db`: a connection that only reads it, with the same owner.
///
/// Each read is a transaction of its own, so it sees every commit that was answered and never keeps
/// the WAL from starting anew.
final class PinReader {
    private let connection: SQLiteConnection
    private let get: SQLiteStatement
    private let chunk: SQLiteStatement
    private let body: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StoreError) {
        self.connection = connection
        get = try connection.prepare(
            """
            SELECT \(Pin.bodyColumns) FROM pin
            WHERE scope = ?1 AND id = ?2 AND kind IS NOT NULL
            """
        )
        chunk = try connection.prepare("SELECT checksum, data FROM pin_chunk WHERE chunk = ?1")
        body = try connection.prepare("SELECT size FROM pin_body WHERE body = ?1 AND linked = 1")
    }

    /// Whether a body has as many chunks as its pin says, and a pin names it.
    func isWhole(_ chunked: ChunkedBody) throws(StoreError) -> Bool {
        body.bind(1, chunked.number)
        defer { body.reset() }
        return try body.step() && body.integer(0) == chunked.accountedBytes
    }

    /// Hands a pin that has bytes to `read` as the row of an entry; nil when there is none.
    func withEntry<Value>(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> Value? {
        get.bind(1, scope.text)
        get.bind(2, id.text)
        defer { get.reset() }
        guard try get.step() else { return nil }
        return read(EntryRow(get, file: .state))
    }

    /// One chunk of a pin's body; nil when it is missing or damaged.
    func chunk(_ position: Int64, of body: ChunkedBody) throws(StoreError) -> [UInt8]? {
        chunk.bind(1, CacheWriter.chunkKey(body.number, position))
        defer { chunk.reset() }
        guard try chunk.step(), Checksum.chunk(chunk.bytes(1)) == chunk.integer(0) else {
            return nil
        }
        return Array(chunk.bytes(1))
    }

    /// What is known of an id's pin; nil when there is none.
    func pin(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Pin? {
        let statement = try connection.prepare(
            "SELECT \(Pin.columns) FROM pin WHERE scope = ?1 AND id = ?2"
        )
        statement.bind(1, scope.text)
        statement.bind(2, id.text)
        return try statement.step() ? Pin(statement) : nil
    }

    /// A scope's pins in the order of their ids, after `cursor`.
    func pins(
        of scope: ScopeKey,
        after cursor: String?,
        limit: Int
    ) throws(StoreError) -> [Pin] {
        let statement = try connection.prepare(
            """
            SELECT \(Pin.columns) FROM pin WHERE scope = ?1 AND id > ?2 ORDER BY id LIMIT ?3
            """
        )
        statement.bind(1, scope.text)
        statement.bind(2, cursor ?? "")
        statement.bind(3, Int64(limit))
        return try all(statement)
    }

    /// All pins, or those that are to be fetched, in the order of their numbers.
    func pins(
        after number: Int64,
        isWanted: Bool,
        limit: Int
    ) throws(StoreError) -> [Pin] {
        let statement = try connection.prepare(
            """
            SELECT \(Pin.columns) FROM pin WHERE pin > ?1 \(isWanted ? "AND wanted = 1" : "")
            ORDER BY pin LIMIT ?2
            """
        )
        statement.bind(1, number)
        statement.bind(2, Int64(limit))
        return try all(statement)
    }

    /// The rows of a list; its columns are those of ``Pin/bodyColumns``.
    func rows(_ query: RowQuery, limit: Int) throws(StoreError) -> [ListedRow] {
        let columns = Pin.bodyColumns.replacing(", data", with: ", NULL")
        let statement = try connection.prepare(
            query.sql("\(columns), size, \(RowTable.lastUsedOfPin)")
        )
        query.bind(to: statement)
        var rows: [ListedRow] = []
        while rows.count < limit, try statement.step() {
            if let row = ListedRow(statement, isPinned: true) { rows.append(row) }
        }
        return rows
    }

    /// One id's row as a list shows it; nil while its pin has no bytes.
    func row(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> ListedRow? {
        let statement = try connection.prepare(
            """
            SELECT \(Pin.bodyColumns), size, \(RowTable.lastUsedOfPin) FROM pin
            WHERE scope = ?1 AND id = ?2 AND kind IS NOT NULL
            """
        )
        statement.bind(1, scope.text)
        statement.bind(2, id.text)
        return try statement.step() ? ListedRow(statement, isPinned: true) : nil
    }

    /// The pins that a query names, also those without bytes.
    func pins(_ query: RowQuery, limit: Int) throws(StoreError) -> [Pin] {
        let statement = try connection.prepare(query.sql(Pin.columns))
        query.bind(to: statement)
        var pins: [Pin] = []
        while pins.count < limit, try statement.step() {
            if let pin = Pin(statement) { pins.append(pin) }
        }
        return pins
    }

    /// Adds up the pins of some scopes, also those without bytes.
    func usage(_ scopes: RowScopes) throws(StoreError) -> PinUsage {
        let query = RowQuery(filter: RowFilter(scopes), order: .id, cursor: nil, table: .pins)
        let waiting = PinState.waiting.rawValue
        let statement = try connection.prepare(
            """
            SELECT count(*), coalesce(sum(size), 0), coalesce(sum(state = \(waiting)), 0)
            FROM pin \(query.scopeCondition)
            """
        )
        query.bindScope(to: statement)
        guard try statement.step() else { return PinUsage(count: 0, bytes: 0, waiting: 0) }
        return PinUsage(
            count: statement.integer(0),
            bytes: statement.integer(1),
            waiting: statement.integer(2)
        )
    }

    private func all(_ statement: SQLiteStatement) throws(StoreError) -> [Pin] {
        var pins: [Pin] = []
        while try statement.step() {
            if let pin = Pin(statement) { pins.append(pin) }
        }
        return pins
    }
}
