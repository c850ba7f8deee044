/// An open `cache.db` of the writer, which alone writes the file, and only when it checkpoints:
/// between two checkpoints the file looks the same, unless another process has touched it.
final class CacheFile {
    let connection: SQLiteConnection
    let statements: PreparedStatements<CacheStatement>
    let log: ChangeLog
    let references: ReferenceTable
    let hidden: HiddenTable
    let wal: WriteAheadLog
    private let database: DatabaseFile
    private var stamp: FileStamp?
    private let walStamp: FileStamp?

    enum Look: Equatable {
        case untouched
        /// Another process has deleted it, which is allowed.
        case deleted
        /// It is no longer the file that is open: what was done to it, in words.
        case lost(String)
        case written
    }

    init(_ database: DatabaseFile, _ connection: SQLiteConnection) throws(StoreError) {
        self.database = database
        self.connection = connection
        statements = try PreparedStatements(connection)
        log = try ChangeLog(connection, hasModifiers: false)
        references = try ReferenceTable(connection, of: .cache)
        hidden = HiddenTable(connection, key: "key")
        wal = WriteAheadLog(of: connection)
        stamp = FileStamp(database.path)
        walStamp = FileStamp(database.path + "-wal")
    }

    func look() -> Look {
        guard let stamp, let walStamp else { return .lost("it was gone when it was opened") }
        guard let now = FileStamp(database.path) else {
            return database.isDeleted ? .deleted : .lost("it cannot be looked at")
        }
        guard now.isSameFile(as: stamp) else { return .lost("it was replaced") }
        guard now.bytes == stamp.bytes else { return .lost("it was cut or extended") }
        let walNow = FileStamp(database.path + "-wal")
        guard let walNow else { return .lost("its WAL was deleted") }
        guard walNow.isSameFile(as: walStamp) else { return .lost("its WAL was replaced") }
        return now == stamp ? .untouched : .written
    }

    func accept() { stamp = FileStamp(database.path) }

    /// Reads every page as it lies on the disk; for a file that somebody has written.
    func isSound() -> Bool {
        let reader = try? database.openReader(cacheBytes: 0)
        return (try? reader?.text("PRAGMA quick_check(1)")) == "ok"
    }

    @discardableResult func checkpoint(truncating: Bool) throws(StoreError) -> Bool {
        defer { accept() }
        return try wal.checkpoint(truncating: truncating)
    }

    func abandon() { connection.keepWALOnClose(true) }
}
