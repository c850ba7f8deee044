import LarderModel

final class ReaderFile {
    let generation: Generation
    let connection: SQLiteConnection
    let begin: SQLiteStatement
    let end: SQLiteStatement
    let get: SQLiteStatement
    let chunks: ChunkReader
    private var madeReferences: ReferenceTable?

    init(_ database: DatabaseFile, cacheBytes: Int64, _ generation: Generation) throws(StoreError) {
        self.generation = generation
        connection = try database.openReader(cacheBytes: cacheBytes)
        begin = try connection.prepare("BEGIN")
        end = try connection.prepare("COMMIT")
        get = try connection.prepare("SELECT \(EntryColumn.list) FROM entry WHERE key = :key")
        chunks = ChunkReader(connection: connection)
    }

    @inline(__always)
    func find(_ key: RowKey, _ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Bool {
        get.bind(EntryColumn.key, key.number)
        return try get.step() && get.isText(EntryColumn.scope, scope.text)
            && get.isText(EntryColumn.id, id.text)
    }

    func isHidden(_ key: RowKey, from scope: ScopeKey) throws(StoreError) -> Bool {
        let sql = CacheHiding.isHiddenSQL
        return try connection.statement(sql, (":key", key.number), (":scope", scope.text)).step()
    }

    func lastStep() throws(StoreError) -> Revision {
        let last = try connection.statement("SELECT value FROM meta WHERE name = 'rev'")
        return Revision(try last.first { $0.integer(.only) } ?? 0)
    }

    func references() throws(StoreError) -> ReferenceTable {
        if let madeReferences { return madeReferences }
        let made = try ReferenceTable(connection, of: .cache)
        madeReferences = made
        return made
    }
}
