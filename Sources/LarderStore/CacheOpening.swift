import LarderModel

/// How `cache.db` is opened: kept if it can be, else set aside and made anew.
struct CacheOpening {
    let file: CacheFile
    let contents: CacheContents
    /// Why an earlier file was set aside; nil when none was.
    let finding: String?

    struct Birth {
        var keySeed: UInt64
        var hashMask = UInt64.max
        /// A new file says that there were revisions up to this one.
        var revision = Revision(0)
        /// Its bodies are numbered from the one after this.
        var body: Int64 = 0
    }

    init(_ database: DatabaseFile, cacheBytes: Int64, _ birth: Birth) throws(StoreError) {
        do throws(StoreError) {
            (file, contents) = try Self.open(database, cacheBytes, birth)
            finding = nil
        } catch {
            switch error {
            case .corrupt, .newer, .unusable: try database.setAside()
            case _: throw error
            }
            (file, contents) = try Self.open(database, cacheBytes, birth)
            finding = "\(error.message): it was set aside as \(database.path).aside and made anew"
        }
    }

    private static func open(
        _ database: DatabaseFile,
        _ cacheBytes: Int64,
        _ birth: Birth
    ) throws(StoreError) -> (CacheFile, CacheContents) {
        let connection = try database.openWriter().connection
        // What is set aside is set aside whole, with its WAL.
        connection.keepWALOnClose(true)
        try connection.setPageCache(bytes: cacheBytes)
        try give(birth, to: connection)
        let contents = try CacheContents(reading: connection)
        try probe(connection)
        try checkKeys(birth, contents.keySeed, connection)
        let file = try CacheFile(database, connection)
        connection.keepWALOnClose(false)
        return (file, contents)
    }

    /// Throws `corrupt` where rows do not stand under the hashes of their ids: with another seed
    /// none would be found.
    ///
    /// A row that does not may be damaged alone; the first and the last together are not.
    private static func checkKeys(
        _ birth: Birth,
        _ seed: UInt64,
        _ connection: SQLiteConnection
    ) throws(StoreError) {
        var (found, wrong) = (0, 0)
        for order in ["ASC", "DESC"] {
            let first = "SELECT key, scope, id FROM entry ORDER BY key \(order) LIMIT 1"
            let row = try connection.prepare(first)
            guard try row.step(), let scope = row.scope("scope"), let id = row.entryID("id")
            else { continue }
            let key = ScopeKey(scope, seed: seed, hashMask: birth.hashMask)
            found += 1
            if RowKey(key, id).number != row.integer("key") { wrong += 1 }
        }
        guard found == 0 || wrong < found else {
            throw .corrupt(file: connection.path, step: "hash the ids of \(connection.path)")
        }
    }

    private static func give(_ birth: Birth, to connection: SQLiteConnection) throws(StoreError) {
        try connection.execute(
            """
            BEGIN IMMEDIATE;
            INSERT OR IGNORE INTO meta (name, value)
            VALUES ('key_seed', \(Int64(bitPattern: birth.keySeed))), ('bytes', 0), ('entries', 0),
                ('rev', \(birth.revision.number));
            INSERT INTO sqlite_sequence (name, seq) SELECT 'body', \(birth.body)
            WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'body');
            COMMIT
            """
        )
    }

    /// Reads a row at either end of every table, which finds a cut or overwritten file: reading
    /// every page would take seconds.
    private static func probe(_ connection: SQLiteConnection) throws(StoreError) {
        let tables = [
            ("entry", "key"), ("recency", "last_used"), ("body", "body"), ("chunk", "chunk"),
            ("change_log", "change"), ("skeleton", "skeleton"), ("reference", "child"),
            ("hidden", "key"),
        ]
        for (table, column) in tables {
            for order in ["ASC", "DESC"] {
                let first = "SELECT \(column) FROM \(table) ORDER BY \(column) \(order) LIMIT 1"
                _ = try connection.integer(first)
            }
        }
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let inFile = DiskSpace.fileBytes(at: connection.path) / 4_096
        let inWAL = DiskSpace.fileBytes(at: connection.path + "-wal")
        guard pages <= inFile || inWAL > 0 else {
            throw .corrupt(file: connection.path, step: "measure \(connection.path)")
        }
    }
}

struct CacheStart {
    /// Nil where the folder is the state's, whose lock serves both.
    let folder: FolderHold?
    let opening: Result<CacheOpening, StoreError>
    let keySeed: UInt64

    /// Another process that holds the folder is the only error: it holds the file too.
    init(
        _ database: DatabaseFile,
        _ configuration: StoreConfiguration,
        _ reserve: Reserve,
        keySeed: UInt64
    ) throws(StoreError) {
        let isShared = configuration.cacheDirectory == configuration.stateDirectory
        let folder = isShared ? nil : FolderHold(configuration.cacheDirectory)
        self.folder = folder
        do throws(StoreError) {
            try folder?.ensure()
            opening = Self.open(database, configuration, reserve, keySeed)
        } catch {
            if case .inUse = error { throw error }
            opening = .failure(error)
        }
        self.keySeed = (try? opening.get())?.contents.keySeed ?? keySeed
    }

    var highestRevision: Revision { (try? opening.get())?.contents.highestRevision ?? Revision(0) }

    /// Tries twice: a file that opens later would have to have the keys of this process.
    ///
    /// On a full disk it first removes the copy that was set aside and the reserve, then the file.
    private static func open(
        _ database: DatabaseFile,
        _ configuration: StoreConfiguration,
        _ reserve: Reserve,
        _ keySeed: UInt64
    ) -> Result<CacheOpening, StoreError> {
        let birth = CacheOpening.Birth(keySeed: keySeed, hashMask: configuration.hashMask)
        let cacheBytes = configuration.pageCacheBytes(of: .writer)
        func attempt() -> Result<CacheOpening, StoreError> {
            Result { () throws(StoreError) in
                try CacheOpening(database, cacheBytes: cacheBytes, birth)
            }
        }
        let first = attempt()
        guard case .failure(let error) = first else { return first }
        guard case .diskFull = error else { return attempt() }
        database.removeAside()
        _ = reserve.release()
        let second = attempt()
        guard case .failure(.diskFull) = second, reserve.fitsInPlace(of: database) else {
            return second
        }
        return Result { () throws(StoreError) in
            try database.remove()
            return try attempt().get()
        }
    }
}
