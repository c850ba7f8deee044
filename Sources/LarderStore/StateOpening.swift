import LarderModel

/// Opens `state.db`, and reads everything that a start needs of it: damage is found and salvaged before
/// any of it is used.
struct StateOpening {
    let connection: SQLiteConnection
    let nextRevision: Int64
    let rows: [DurableRow]
    let deadTargets: [(scope: Scope, id: EntryID)]
    let digestKey: DigestKey
    let notices: [String]
    /// Whether an earlier version has saved answers without their entities and variants.
    let takesAlong: Bool

    /// Reads every page of a file of at most `checkedBytes`, and of one in which damage was met.
    init(_ file: DatabaseFile, _ shared: SharedCacheState, checkedBytes: Int64) throws(StoreError) {
        let wal = DiskSpace.fileBytes(at: file.path + "-wal")
        guard wal == 0 || DiskSpace.fileBytes(at: file.path) > 0 else {
            // SQLite would delete it: it is all that is left.
            throw .corrupt(file: file.path, step: "find the file of \(file.path)-wal")
        }
        let opened = try file.openWriter()
        connection = opened.connection
        // What turns out to be damaged stays as it is, with its WAL.
        connection.keepWALOnClose(true)
        let counter = try StateWriter.nextRevision(connection)
        let check = StateCheck(connection: connection)
        let isSmall = DiskSpace.fileBytes(at: file.path) <= checkedBytes
        if isSmall || file.mark?.isThere == true {
            // What is damaged now can be saved in part, before more is written over it.
            try check.readPages()
        } else {
            try check.readQueue()
        }
        try Self.shrink(connection)
        try check.run()
        digestKey = try Self.secret(of: connection)
        nextRevision = max(counter, try check.nextRevision())
        // Of steps that are still to come nothing can be told.
        let first = nextRevision * ChangeLog.places
        try connection.execute("DELETE FROM change_log WHERE change < 0 OR change >= \(first)")
        try connection.execute("PRAGMA foreign_keys=ON")
        if try connection.integer("SELECT 1 FROM hidden LIMIT 1") != nil { shared.noteHiddenRow() }
        let reader = try StateReader(connection, shared)
        rows = try reader.allRows()
        deadTargets = try reader.deadTargets()
        takesAlong = try connection.integer("SELECT takes_along FROM revision_block") == 1
        let versions = opened.migratedFrom.map { "\($0) to \(Schema.state.steps.count)" }
        let copy = file.copyPath
        notices = [versions].compactMap { $0 }.map {
            "\(file.path) was brought from version \($0); \(copy) holds it as it was"
        }
    }

    /// The secret of the file, drawn anew where it has none that can be read.
    private static func secret(of connection: SQLiteConnection) throws(StoreError) -> DigestKey {
        try connection.execute(
            """
            INSERT OR REPLACE INTO secret (one, digest_key) SELECT 1, randomblob(16)
            WHERE NOT EXISTS (SELECT 1 FROM secret
                WHERE one = 1 AND typeof(digest_key) = 'blob' AND length(digest_key) = 16)
            """
        )
        let row = try connection.prepare("SELECT digest_key FROM secret WHERE one = 1")
        guard try row.step(), let key = DigestKey(Array(row.bytes(.only))) else {
            throw .corrupt(file: connection.path, step: "read the secret of \(connection.path)")
        }
        return key
    }

    /// Version 1 gave no pages back; it is a few pages long, so writing it anew costs nothing.
    private static func shrink(_ connection: SQLiteConnection) throws(StoreError) {
        guard try connection.integer("PRAGMA auto_vacuum") == 0 else { return }
        try connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        try connection.execute("VACUUM")
    }
}
