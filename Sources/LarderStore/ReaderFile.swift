import LarderModel

/// An open `cache.db` as one reader has it, with what it asks again and again.
final class ReaderFile {
    let generation: Generation
    let connection: SQLiteConnection
    let begin: SQLiteStatement
    let end: SQLiteStatement
    let get: SQLiteStatement
    let chunks: ChunkReader
    private let last: SQLiteStatement
    /// Made when a normalized answer is first read.
    private var madeReferences: ReferenceReader?

    init(
        _ database: DatabaseFile,
        cacheBytes: Int64,
        _ generation: Generation
    ) throws(StoreError) {
        self.generation = generation
        connection = try database.openReader(cacheBytes: cacheBytes)
        begin = try connection.prepare("BEGIN")
        end = try connection.prepare("COMMIT")
        get = try connection.prepare(
            "SELECT \(EntryRow.columnsWithForm) FROM entry WHERE key BETWEEN ?1 AND ?2"
        )
        chunks = try ChunkReader(connection)
        last = try connection.prepare("SELECT value FROM meta WHERE name = 'rev'")
    }

    /// The last step that is in the file, as of the open transaction.
    func lastStep() throws(StoreError) -> Revision {
        defer { last.reset() }
        return Revision(try last.step() ? last.integer(0) : 0)
    }

    /// Reads skeletons and references.
    func references() throws(StoreError) -> ReferenceReader {
        if let madeReferences { return madeReferences }
        let made = try ReferenceReader(connection)
        madeReferences = made
        return made
    }
}
