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
    }

    private enum SQL {
        static let begin = "BEGIN IMMEDIATE"
        static let commit = "COMMIT"
        static let find = """
            SELECT claim, kind, rev, bytes, digest_high, digest_low, body, size, state, etag,
                last_modified, origin, gone_status, wanted, pinned_at, targeted, shared
            FROM claim WHERE scope = ?1 AND id = ?2
            """
        static let get = """
            SELECT \(ClaimRow.entryColumns), gone_status, pinned_at, targeted, shared FROM claim
            WHERE scope = ?1 AND id = ?2
            """
        static let count = """
            SELECT count(*) FROM claim INDEXED BY claim_pinned
            WHERE scope >= ?1 AND scope < ?2 AND pinned_at IS NOT NULL
            """
        static let insert = """
            INSERT INTO claim (scope, id, origin, size, targeted, shared, pinned_at, state, wanted)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """
        static let setEntry = """
            UPDATE claim SET kind = ?2, stored_at = ?3, fresh_until = ?4, rev = ?5, origin = ?6,
                status = ?7, media_type = ?8, etag = ?9, last_modified = ?10, headers = ?11,
                bytes = ?12, json = ?13, digest_high = ?14, digest_low = ?15, body = ?16,
                data = ?17, size = ?18, state = ?19, problem = ?20, reason = ?21,
                gone_status = NULL, wanted = 0
            WHERE claim = ?1
            """
        static let refresh = """
            UPDATE claim SET stored_at = ?2, fresh_until = ?3, headers = ?4, origin = ?5,
                media_type = ?6, size = ?7, state = ?8, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE claim = ?1
            """
        static let setState = """
            UPDATE claim SET state = ?2, problem = ?3, reason = ?4, gone_status = ?5, wanted = ?6
            WHERE claim = ?1
            """
        static let setPinned = """
            UPDATE claim SET pinned_at = ?2, state = ?3, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE claim = ?1
            """
        static let clearEntry = """
            UPDATE claim SET kind = NULL, stored_at = NULL, fresh_until = NULL, rev = NULL,
                status = NULL, media_type = NULL, etag = NULL, last_modified = NULL,
                headers = NULL, bytes = NULL, json = NULL, digest_high = NULL, digest_low = NULL,
                body = NULL, data = NULL, size = ?2
            WHERE claim = ?1
            """
        static let delete = "DELETE FROM claim WHERE claim = ?1"
    }
}
