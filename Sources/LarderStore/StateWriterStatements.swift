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
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        find = try connection.prepare(
            """
            SELECT kept, kind, rev, bytes, digest_high, digest_low, body, size, state, etag,
                last_modified, origin, gone_status, wanted, pinned_at, targeted, shared
            FROM kept WHERE scope = ?1 AND id = ?2
            """
        )
        get = try connection.prepare(
            """
            SELECT \(KeptRow.entryColumns), gone_status, pinned_at, targeted, shared FROM kept
            WHERE scope = ?1 AND id = ?2
            """
        )
        count = try connection.prepare(
            """
            SELECT count(*) FROM kept INDEXED BY kept_pinned
            WHERE scope >= ?1 AND scope < ?2 AND pinned_at IS NOT NULL
            """
        )
        insert = try connection.prepare(
            """
            INSERT INTO kept (scope, id, origin, size, targeted, shared, pinned_at, state, wanted)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """
        )
        setEntry = try connection.prepare(
            """
            UPDATE kept SET kind = ?2, stored_at = ?3, fresh_until = ?4, rev = ?5, origin = ?6,
                status = ?7, media_type = ?8, etag = ?9, last_modified = ?10, headers = ?11,
                bytes = ?12, json = ?13, digest_high = ?14, digest_low = ?15, body = ?16,
                data = ?17, size = ?18, state = ?19, problem = ?20, reason = ?21,
                gone_status = NULL, wanted = 0
            WHERE kept = ?1
            """
        )
        refresh = try connection.prepare(
            """
            UPDATE kept SET stored_at = ?2, fresh_until = ?3, headers = ?4, origin = ?5,
                media_type = ?6, size = ?7, state = ?8, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE kept = ?1
            """
        )
        setState = try connection.prepare(
            """
            UPDATE kept SET state = ?2, problem = ?3, reason = ?4, gone_status = ?5, wanted = ?6
            WHERE kept = ?1
            """
        )
        setPinned = try connection.prepare(
            """
            UPDATE kept SET pinned_at = ?2, state = ?3, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE kept = ?1
            """
        )
        clearEntry = try connection.prepare(
            """
            UPDATE kept SET kind = NULL, stored_at = NULL, fresh_until = NULL, rev = NULL,
                status = NULL, media_type = NULL, etag = NULL, last_modified = NULL,
                headers = NULL, bytes = NULL, json = NULL, digest_high = NULL, digest_low = NULL,
                body = NULL, data = NULL, size = ?2
            WHERE kept = ?1
            """
        )
        delete = try connection.prepare("DELETE FROM kept WHERE kept = ?1")
        insertBody = try connection.prepare("INSERT INTO kept_body (size, linked) VALUES (0, 0)")
        setBody = try connection.prepare(
            "UPDATE kept_body SET size = ?2, linked = ?3 WHERE body = ?1"
        )
        deleteBody = try connection.prepare("DELETE FROM kept_body WHERE body = ?1")
        insertChunk = try connection.prepare(
            "INSERT INTO kept_chunk (chunk, checksum, data) VALUES (?1, ?2, ?3)"
        )
        deleteChunks = try connection.prepare(
            """
            DELETE FROM kept_chunk WHERE chunk IN
                (SELECT chunk FROM kept_chunk WHERE chunk >= ?1 AND chunk < ?2 LIMIT ?3)
            """
        )
    }
}
