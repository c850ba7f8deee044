import Glibc
import LarderModel
import Synchronization

/// An opened `cache.db`: the kept file, or a new one after the old one was set aside.
struct CacheOpening {
    let file: CacheFile
    let contents: CacheContents
    /// Why an earlier file was set aside; nil when none was.
    let finding: String?

    /// A new file has the key seed, revisions up to `revision`, and bodies after the number `body`.
    init(
        _ configuration: StoreConfiguration,
        keySeed: UInt64,
        revision: Revision = Revision(0),
        body: Int64 = 0
    ) throws(StoreError) {
        let database = DatabaseFile.ofCache(configuration)
        func open() throws(StoreError) -> (CacheFile, CacheContents) {
            let connection = try database.openWriter().connection
            // A file is set aside complete, with its WAL.
            connection.keepWALOnClose(true)
            try connection.setPageCache(bytes: configuration.pageCacheBytes(of: .writer))
            try connection.execute(
                """
                BEGIN IMMEDIATE;
                INSERT OR IGNORE INTO meta (name, value)
                VALUES ('key_seed', \(Int64(bitPattern: keySeed))), ('bytes', 0), ('entries', 0),
                    ('rev', \(revision.number));
                INSERT INTO sqlite_sequence (name, seq) SELECT 'body', \(body)
                WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'body');
                COMMIT
                """
            )
            let contents = try CacheContents(reading: connection)
            try Self.probe(connection)
            try Self.checkKeys(configuration.hashMask, contents.keySeed, connection)
            let file = try CacheFile(database, connection)
            connection.keepWALOnClose(false)
            return (file, contents)
        }
        do throws(StoreError) {
            (file, contents) = try open()
            finding = nil
        } catch {
            switch error {
            case .corrupt, .newer, .unusable: try database.quarantine()
            case _: throw error
            }
            (file, contents) = try open()
            finding = "\(error.message): it was set aside as \(database.path).aside and recreated"
        }
    }

    /// Throws `corrupt` if rows are not stored under the hashes of their ids.
    ///
    /// The key seed of such a file is wrong, and no lookup would find a row. One wrong row may be
    /// damaged alone; if the first and the last are both wrong, the seed is.
    private static func checkKeys(
        _ hashMask: UInt64,
        _ seed: UInt64,
        _ connection: SQLiteConnection
    ) throws(StoreError) {
        var (found, wrong) = (0, 0)
        for order in ["ASC", "DESC"] {
            let first = "SELECT key, scope, id FROM entry ORDER BY key \(order) LIMIT 1"
            let row = try connection.prepare(first)
            guard try row.step(), let scope = row.scope("scope"), let id = row.entryID("id")
            else { continue }
            let key = ScopeKey(scope, seed: seed, hashMask: hashMask)
            found += 1
            if RowKey(key, id).number != row.integer("key") { wrong += 1 }
        }
        guard found == 0 || wrong < found else {
            throw .corrupt(file: connection.path, step: "hash the ids of \(connection.path)")
        }
    }

    /// Reads a row at either end of every table, which finds a cut file without reading all of it.
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
    let folder: CacheDirectoryLock?
    let opening: Result<CacheOpening, StoreError>
    let keySeed: UInt64

    /// Another process that holds the folder is the only error: it holds the file too.
    init(
        _ configuration: StoreConfiguration,
        _ reserve: Reserve,
        keySeed: UInt64
    ) throws(StoreError) {
        let isShared = configuration.cacheDirectory == configuration.stateDirectory
        let folder = isShared ? nil : CacheDirectoryLock(configuration.cacheDirectory)
        self.folder = folder
        do throws(StoreError) {
            try folder?.ensure()
            opening = Self.open(configuration, reserve, keySeed)
        } catch {
            if case .inUse = error { throw error }
            opening = .failure(error)
        }
        self.keySeed = (try? opening.get())?.contents.keySeed ?? keySeed
    }

    var highestRevision: Revision { (try? opening.get())?.contents.highestRevision ?? Revision(0) }

    /// With the counter of `state.db` as it was when the file was closed in good order.
    var highestKnownRevision: Revision {
        guard let closedAt = (try? opening.get())?.contents.closedAt,
            Limits.claimedRevisions.contains(closedAt)
        else { return highestRevision }
        return max(highestRevision, Revision(closedAt))
    }

    /// Tries twice: a file that opens later would have to have the keys of this process.
    ///
    /// On a full disk it first removes the copy that was set aside and the reserve, then the file.
    private static func open(
        _ configuration: StoreConfiguration,
        _ reserve: Reserve,
        _ keySeed: UInt64
    ) -> Result<CacheOpening, StoreError> {
        let database = DatabaseFile.ofCache(configuration)
        func attempt() -> Result<CacheOpening, StoreError> {
            Result { () throws(StoreError) in
                try CacheOpening(configuration, keySeed: keySeed)
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

/// Metadata of an opened `cache.db`.
///
/// Every number is checked except the totals: ``checkTotals(_:)`` does that.
struct CacheContents {
    let keySeed: UInt64
    let bytes: Int64
    let entries: Int64
    let owners: OwnerTotals
    let highestRevision: Revision
    let hasHiddenRows: Bool
    let highestTick: Int64
    let highestBody: Int64
    let unlinkedBodies: [Int64]
    /// Id of the machine's start at the last change.
    let boot: Int64?
    /// The next revision by `state.db` when the file was closed in good order.
    let closedAt: Int64?

    init(reading connection: SQLiteConnection) throws(StoreError) {
        func number(_ sql: String, _ range: ClosedRange<Int64>) throws(StoreError) -> Int64 {
            let number = try connection.integer(sql) ?? 0
            guard range.contains(number) else { throw .corrupt(file: connection.path, step: sql) }
            return number
        }
        let meta = "SELECT value FROM meta WHERE name = "
        guard let seed = try connection.integer(meta + "'key_seed'") else {
            throw .corrupt(file: connection.path, step: "read the keys' seed")
        }
        keySeed = UInt64(bitPattern: seed)
        bytes = try number(meta + "'bytes'", Limits.accountedBytes)
        entries = try number(meta + "'entries'", Limits.accountedBytes)
        owners = try OwnerTotals(reading: connection)
        hasHiddenRows = try connection.integer("SELECT EXISTS (SELECT 1 FROM hidden)") == 1
        highestTick = try number("SELECT max(last_used) FROM recency", Limits.uses)
        highestRevision = Revision(try number(meta + "'rev'", Limits.claimedRevisions))
        let sequence = "SELECT seq FROM sqlite_sequence WHERE name = 'body'"
        highestBody = max(
            try number("SELECT max(body) FROM body", Limits.bodies),
            try number(sequence, Limits.bodies)
        )
        let unlinked = try connection.prepare("SELECT body FROM body WHERE linked = 0")
        unlinkedBodies = try unlinked.all { $0.integer(.only) }
        guard unlinkedBodies.allSatisfy(Limits.bodies.contains) else {
            throw .corrupt(file: connection.path, step: "read the bodies' numbers")
        }
        boot = try connection.integer(meta + "'boot'")
        closedAt = try connection.integer(meta + "'closed_at'")
    }

    /// Throws `corrupt` where the rows do not add up to the totals of the file, without which the
    /// budget would mean nothing.
    ///
    /// It takes about 0.1 s for a million rows.
    static func checkTotals(_ connection: SQLiteConnection) throws(StoreError) {
        // `total` also adds numbers that are too large for an integer, and is exact for allowed
        // ones.
        let sums = try connection.prepare(
            """
            SELECT count(*) = (SELECT value FROM meta WHERE name = 'entries')
                AND total(size) + (SELECT total(length(data) + \(Limits.rowOverheadBytes))
                    FROM skeleton) + (SELECT count(*) * \(Limits.hiddenMarkBytes) FROM hidden)
                    = (SELECT value FROM meta WHERE name = 'bytes') AS is_right,
                coalesce(min(size), 0) AS least, coalesce(max(size), 0) AS most,
                coalesce(min(last_used), 0) AS used
            FROM recency
            """
        )
        guard try sums.step(), sums.isTrue("is_right"), Limits.uses.contains(sums.integer("used")),
            Limits.rowBytes.contains(sums.integer("least")),
            Limits.rowBytes.contains(sums.integer("most"))
        else { throw .corrupt(file: connection.path, step: "sum up the rows") }
    }

    /// Whether the log has every committed change.
    ///
    /// Only a machine that stops can lose the last commits of this file. `next` is the next
    /// revision as `state.db` has it, which moves with every start, synced.
    func hasWholeLog(boot: Int64?, next: Int64) -> Bool {
        if let boot, boot == self.boot { return true }
        return closedAt == next
    }
}

/// An open `cache.db` of the writer, which alone writes the file, and only when it checkpoints.
///
/// Between two checkpoints the file looks the same, unless another process has changed it.
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

    enum FileProbe: Equatable {
        case untouched
        /// Another process has deleted it, which is allowed.
        case deleted
        /// The path no longer leads to the open file, or the file was changed; the text says how.
        case lost(String)
        case written
    }

    init(_ database: DatabaseFile, _ connection: SQLiteConnection) throws(StoreError) {
        self.database = database
        self.connection = connection
        statements = try PreparedStatements(connection)
        log = try ChangeLog(connection, hasModifiers: false)
        references = ReferenceTable(connection, of: .cache)
        hidden = HiddenTable(connection, key: "key")
        wal = WriteAheadLog(of: connection)
        stamp = FileStamp(database.path)
        walStamp = FileStamp(database.path + "-wal")
    }

    func probe() -> FileProbe {
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

    /// Checks every page on the disk, after another process has written to the file.
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

/// The right of one process to a folder, by a lock on a file in it that the kernel releases with
/// the process.
final class DirectoryLock: Sendable {
    private let descriptor: Int32
    private let path: String

    /// Makes the folder (0700) where it is missing, and locks it.
    init(directory: String) throws(StoreError) {
        try Self.makeDirectory(directory)
        path = directory + "/lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            // `deinit` closes the descriptor, because every property is set by now.
            throw errno == EWOULDBLOCK ? .inUse(path: directory) : .system(path)
        }
    }

    deinit {
        // A process that is just being begun has the descriptor, too, until it runs its own
        // program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Whether the locked file is still in the folder, which may have been emptied or removed.
    var isInPlace: Bool {
        var here = stat()
        var there = stat()
        return fstat(descriptor, &here) == 0 && lstat(path, &there) == 0
            && here.st_dev == there.st_dev && here.st_ino == there.st_ino
    }

    private static func makeDirectory(_ path: String) throws(StoreError) {
        var made = ""
        for part in path.split(separator: "/") {
            made += (made.isEmpty && !path.hasPrefix("/") ? "" : "/") + part
            guard mkdir(made, 0o700) == 0 || errno == EEXIST else { throw .system(made) }
        }
    }
}

/// The lock on the cache's folder, taken again after the folder was removed or emptied.
///
/// The store owns it, so the folder is free as soon as the store is gone.
final class CacheDirectoryLock: Sendable {
    private let directory: String
    private let lock = Mutex<DirectoryLock?>(nil)

    /// Holds nothing until ``ensure()``.
    init(_ directory: String) { self.directory = directory }

    func ensure() throws(StoreError) {
        try lock.withLock { lock throws(StoreError) in
            if lock?.isInPlace ?? false { return }
            lock = nil
            lock = try DirectoryLock(directory: directory)
        }
    }
}
