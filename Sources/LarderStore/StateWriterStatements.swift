/// The prepared statements of the writer of `state.db`.
struct StateWriterStatements {
    let begin: SQLiteStatement
    let commit: SQLiteStatement
    let find: SQLiteStatement
    let get: SQLiteStatement
    let count: SQLiteStatement
    let insert: SQLiteStatement
    let setEntry: SQLiteStatement
    let refresh: SQLiteStatement
    let setState: SQLiteStatement
    let setPinned: SQLiteStatement
    let clearEntry: SQLiteStatement
    let delete: SQLiteStatement
    let insertBody: SQLiteStatement
    let setBody: SQLiteStatement
    let deleteBody: SQLiteStatement
    let insertChunk: SQLiteStatement
    let deleteChunks: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StoreError) {
        begin = try connection.prepare(SQL.begin)
        commit = try connection.prepare(SQL.commit)
        find = try connection.prepare(SQL.find)
        get = try connection.prepare(SQL.get)
        count = try connection.prepare(SQL.count)
        insert = try connection.prepare(SQL.insert)
        setEntry = try connection.prepare(SQL.setEntry)
        refresh = try connection.prepare(SQL.refresh)
        setState = try connection.prepare(SQL.setState)
        setPinned = try connection.prepare(SQL.setPinned)
        clearEntry = try connection.prepare(SQL.clearEntry)
        delete = try connection.prepare(SQL.delete)
        insertBody = try connection.prepare(SQL.insertBody)
        setBody = try connection.prepare(SQL.setBody)
        deleteBody = try connection.prepare(SQL.deleteBody)
        insertChunk = try connection.prepare(SQL.insertChunk)
        deleteChunks = try connection.prepare(SQL.deleteChunks)
    }

    private enum SQL {
        static let begin = "BEGIN IMMEDIATE"
        static let commit = "COMMIT"
        static let find = """
            SELECT kept, kind, rev, bytes, digest_high, digest_low, body, size, state, etag,
                last_modified, origin, gone_status, wanted, pinned_at, targeted, shared
            FROM kept WHERE scope = ?1 AND id = ?2
            """
        static let get = """
            SELECT \(KeptRow.entryColumns), gone_status, pinned_at, targeted, shared FROM kept
            WHERE scope = ?1 AND id = ?2
            """
        static let count = """
            SELECT count(*) FROM kept INDEXED BY kept_pinned
            WHERE scope >= ?1 AND scope < ?2 AND pinned_at IS NOT NULL
            """
        static let insert = """
            INSERT INTO kept (scope, id, origin, size, targeted, shared, pinned_at, state, wanted)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """
        static let setEntry = """
            UPDATE kept SET kind = ?2, stored_at = ?3, fresh_until = ?4, rev = ?5, origin = ?6,
                status = ?7, media_type = ?8, etag = ?9, last_modified = ?10, headers = ?11,
                bytes = ?12, json = ?13, digest_high = ?14, digest_low = ?15, body = ?16,
                data = ?17, size = ?18, state = ?19, problem = ?20, reason = ?21,
                gone_status = NULL, wanted = 0
            WHERE kept = ?1
            """
        static let refresh = """
            UPDATE kept SET stored_at = ?2, fresh_until = ?3, headers = ?4, origin = ?5,
                media_type = ?6, size = ?7, state = ?8, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE kept = ?1
            """
        static let setState = """
            UPDATE kept SET state = ?2, problem = ?3, reason = ?4, gone_status = ?5, wanted = ?6
            WHERE kept = ?1
            """
        static let setPinned = """
            UPDATE kept SET pinned_at = ?2, state = ?3, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE kept = ?1
            """
        static let clearEntry = """
            UPDATE kept SET kind = NULL, stored_at = NULL, fresh_until = NULL, rev = NULL,
                status = NULL, media_type = NULL, etag = NULL, last_modified = NULL,
                headers = NULL, bytes = NULL, json = NULL, digest_high = NULL, digest_low = NULL,
                body = NULL, data = NULL, size = ?2
            WHERE kept = ?1
            """
        static let delete = "DELETE FROM kept WHERE kept = ?1"
        static let insertBody = "INSERT INTO kept_body (size, linked) VALUES (0, 0)"
        static let setBody = "UPDATE kept_body SET size = ?2, linked = ?3 WHERE body = ?1"
        static let deleteBody = "DELETE FROM kept_body WHERE body = ?1"
        static let insertChunk =
            "INSERT OR REPLACE INTO kept_chunk (chunk, checksum, data) VALUES (?1, ?2, ?3)"
        static let deleteChunks = """
            DELETE FROM kept_chunk WHERE chunk IN
                (SELECT chunk FROM kept_chunk WHERE chunk >= ?1 AND chunk < ?2 LIMIT ?3)
            """
    }
}
