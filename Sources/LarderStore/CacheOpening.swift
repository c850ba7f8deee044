import LarderModel

/// How `cache.db` is opened: kept if it can be, else set aside and made anew.
struct CacheOpening {
    let connection: SQLiteConnection
    let keySeed: UInt64
    let highestRevision: Revision
    let findings: [String]

    init(file: DatabaseFile, newKeySeed: () -> UInt64) throws(StoreError) {
        do throws(StoreError) {
            connection = try Self.open(file, newKeySeed)
            findings = []
        } catch {
            switch error {
            case .corrupt, .newer:
                try file.setAside()
                connection = try Self.open(file, newKeySeed)
                findings = [
                    "\(error.message): it was set aside as \(file.path).aside and made anew"
                ]
            case .cannotOpen, .inUse, .sqlite, .diskFull, .tooLarge, .noRoom, .overloaded,
                .closed, .badChunk:
                throw error
            }
        }
        let seed = try connection.integer("SELECT value FROM meta WHERE name = 'key_seed'")
        keySeed = UInt64(bitPattern: seed ?? 0)
        let highest = try connection.integer("SELECT value FROM meta WHERE name = 'rev'")
        highestRevision = Revision(highest ?? 0)
    }

    private static func open(
        _ file: DatabaseFile,
        _ newKeySeed: () -> UInt64
    ) throws(StoreError) -> SQLiteConnection {
        let connection = try file.openWriter()
        let seed = Int64(bitPattern: newKeySeed())
        try connection.execute(
            """
            INSERT OR IGNORE INTO meta (name, value)
            VALUES ('key_seed', \(seed)), ('bytes', 0), ('entries', 0), ('rev', 0)
            """
        )
        try probe(connection)
        return connection
    }

    /// Reads a row at either end of every table, so that a cut or overwritten file is found out
    /// now.
    ///
    /// A look at every page would take seconds; a row's own damage is found when it is read.
    private static func probe(_ connection: SQLiteConnection) throws(StoreError) {
        let tables = [
            ("entry", "key"), ("recency", "last_used"), ("body", "body"), ("chunk", "chunk"),
        ]
        for (table, column) in tables {
            for order in ["ASC", "DESC"] {
                _ = try connection.integer(
                    "SELECT \(column) FROM \(table) ORDER BY \(column) \(order) LIMIT 1"
                )
            }
        }
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let inFile = DiskSpace.fileBytes(at: connection.path) / 4_096
        let inWAL = DiskSpace.fileBytes(at: connection.path + "-wal")
        guard pages <= inFile || inWAL > 0 else {
            throw .corrupt(step: "measure \(connection.path)")
        }
    }
}
