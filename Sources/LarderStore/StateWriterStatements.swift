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
            SELECT pin, kind, rev, bytes, digest_high, digest_low, body, size, state, etag,
                last_modified, origin, gone_status, wanted
            FROM pin WHERE scope = ?1 AND id = ?2
            """
        )
        get = try connection.prepare(
            "SELECT \(Pin.columnsWithBody) FROM pin WHERE scope = ?1 AND id = ?2"
        )
        count = try connection.prepare("SELECT count(*) FROM pin WHERE scope >= ?1 AND scope < ?2")
        insert = try connection.prepare(
            """
            INSERT INTO pin (scope, id, origin, size, pinned_at, state, wanted)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """
        )
        setEntry = try connection.prepare(
            """
            UPDATE pin SET kind = ?2, stored_at = ?3, fresh_until = ?4, rev = ?5, origin = ?6,
                status = ?7, media_type = ?8, etag = ?9, last_modified = ?10, headers = ?11,
                bytes = ?12, json = ?13, digest_high = ?14, digest_low = ?15, body = ?16,
                data = ?17, size = ?18, state = ?19, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE pin = ?1
            """
        )
        refresh = try connection.prepare(
            """
            UPDATE pin SET stored_at = ?2, fresh_until = ?3, headers = ?4, origin = ?5,
                media_type = ?6, size = ?7, state = ?8, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE pin = ?1
            """
        )
        setState = try connection.prepare(
            """
            UPDATE pin SET state = ?2, problem = ?3, reason = ?4, gone_status = ?5, wanted = ?6
            WHERE pin = ?1
            """
        )
        clearEntry = try connection.prepare(
            """
            UPDATE pin SET kind = NULL, stored_at = NULL, fresh_until = NULL, rev = NULL,
                status = NULL, media_type = NULL, etag = NULL, last_modified = NULL,
                headers = NULL, bytes = NULL, json = NULL, digest_high = NULL, digest_low = NULL,
                body = NULL, data = NULL, size = ?2
            WHERE pin = ?1
            """
        )
        delete = try connection.prepare("DELETE FROM pin WHERE pin = ?1")
        insertBody = try connection.prepare("INSERT INTO pin_body (size, linked) VALUES (0, 0)")
        setBody = try connection.prepare(
            "UPDATE pin_body SET size = ?2, linked = ?3 WHERE body = ?1"
        )
        deleteBody = try connection.prepare("DELETE FROM pin_body WHERE body = ?1")
        insertChunk = try connection.prepare(
            "INSERT INTO pin_chunk (chunk, checksum, data) VALUES (?1, ?2, ?3)"
        )
        deleteChunks = try connection.prepare(
            """
            DELETE FROM pin_chunk WHERE chunk IN
                (SELECT chunk FROM pin_chunk WHERE chunk >= ?1 AND chunk < ?2 LIMIT ?3)
            """
        )
    }
}
