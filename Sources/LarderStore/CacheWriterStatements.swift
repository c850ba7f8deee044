/// The prepared statements of the writer of `cache.db`.
final class CacheWriterStatements {
    let begin: SQLiteStatement
    let commit: SQLiteStatement
    let setMeta: SQLiteStatement
    let deleteMeta: SQLiteStatement
    let touch: SQLiteStatement
    let find: SQLiteStatement
    let entry: SQLiteStatement
    let putEntry: SQLiteStatement
    let putRecency: SQLiteStatement
    let refreshEntry: SQLiteStatement
    let refreshRecency: SQLiteStatement
    let markStale: SQLiteStatement
    let deleteEntry: SQLiteStatement
    let deleteRecency: SQLiteStatement
    let oldest: SQLiteStatement
    let expired: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StoreError) {
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        setMeta = try connection.prepare("REPLACE INTO meta (name, value) VALUES (?1, ?2)")
        deleteMeta = try connection.prepare("DELETE FROM meta WHERE name = ?1")
        touch = try connection.prepare(
            "UPDATE recency SET last_used = ?2 WHERE key = ?1 AND last_used < ?2"
        )
        find = try connection.prepare(
            """
            SELECT key, scope, id, kind, rev, bytes, digest_high, digest_low, body, size,
                   etag, last_modified, skeleton, checksum
            FROM entry JOIN recency USING (key) WHERE key BETWEEN ?1 AND ?2 ORDER BY key
            """
        )
        entry = try connection.prepare(
            "SELECT \(EntryRow.columnsWithForm) FROM entry WHERE key = ?1"
        )
        putEntry = try connection.prepare(Self.putEntrySQL)
        putRecency = try connection.prepare(
            """
            INSERT INTO recency (key, last_used, size, stored_at, expires_at)
            VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (key) DO UPDATE SET last_used = ?2, size = ?3, stored_at = ?4,
                expires_at = ?5
            """
        )
        refreshEntry = try connection.prepare(
            """
            UPDATE entry SET stored_at = ?2, fresh_until = ?3, headers = ?4, origin = ?5,
                media_type = ?6
            WHERE key = ?1
            """
        )
        refreshRecency = try connection.prepare(
            "UPDATE recency SET stored_at = ?2, size = ?3, last_used = ?4 WHERE key = ?1"
        )
        markStale = try connection.prepare("UPDATE entry SET fresh_until = NULL WHERE key = ?1")
        deleteEntry = try connection.prepare(
            "DELETE FROM entry WHERE key = ?1 RETURNING body, scope, id, kind, skeleton"
        )
        deleteRecency = try connection.prepare("DELETE FROM recency WHERE key = ?1 RETURNING size")
        oldest = try connection.prepare("SELECT key FROM recency ORDER BY last_used")
        expired = try connection.prepare(
            "SELECT key FROM recency WHERE expires_at <= ?1 ORDER BY expires_at, last_used"
        )
    }

    private static let putEntrySQL = """
        INSERT INTO entry (key, scope, id, kind, stored_at, fresh_until, rev, origin, status,
            media_type, etag, last_modified, headers, bytes, json, digest_high, digest_low,
            body, data, skeleton, checksum)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
            ?18, ?19, ?20, ?21)
        ON CONFLICT (key) DO UPDATE SET kind = ?4, stored_at = ?5, fresh_until = ?6, rev = ?7,
            origin = ?8, status = ?9, media_type = ?10, etag = ?11, last_modified = ?12,
            headers = ?13, bytes = ?14, json = ?15, digest_high = ?16, digest_low = ?17,
            body = ?18, data = ?19, skeleton = ?20, checksum = ?21
        """
}
