import LarderModel

/// The prepared statements of the writer of `cache.db` for references and skeletons.
final class ReferenceStatements {
    let putReference: SQLiteStatement
    let references: SQLiteStatement
    let deleteReference: SQLiteStatement
    let deleteReferences: SQLiteStatement
    let unreferred: SQLiteStatement
    let findSkeleton: SQLiteStatement
    let insertSkeleton: SQLiteStatement
    let countSkeleton: SQLiteStatement
    let deleteSkeleton: SQLiteStatement
    let markDirect: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StoreError) {
        references = try connection.prepare(
            "SELECT child, members FROM reference WHERE parent = ?1"
        )
        deleteReference = try connection.prepare(
            "DELETE FROM reference WHERE child = ?1 AND parent = ?2"
        )
        putReference = try connection.prepare(
            """
            INSERT INTO reference (child, parent, members) VALUES (?1, ?2, ?3)
            ON CONFLICT (child, parent) DO UPDATE SET members = ?3
            """
        )
        deleteReferences = try connection.prepare(
            "DELETE FROM reference WHERE parent = ?1 RETURNING child"
        )
        unreferred = try connection.prepare(
            """
            SELECT key FROM entry JOIN recency USING (key)
            WHERE key BETWEEN ?1 AND ?2 AND id < '\(EntryID.firstOfEntries)' AND direct = 0
                AND NOT EXISTS (SELECT 1 FROM reference WHERE child = ?1)
            """
        )
        findSkeleton = try connection.prepare(
            """
            SELECT skeleton FROM skeleton WHERE digest_high = ?1 AND digest_low = ?2 AND data = ?3
            """
        )
        insertSkeleton = try connection.prepare(
            "INSERT INTO skeleton (digest_high, digest_low, answers, data) VALUES (?1, ?2, 1, ?3)"
        )
        countSkeleton = try connection.prepare(
            "UPDATE skeleton SET answers = answers + ?2 WHERE skeleton = ?1"
        )
        deleteSkeleton = try connection.prepare(
            "DELETE FROM skeleton WHERE skeleton = ?1 AND answers <= 0 RETURNING length(data)"
        )
        markDirect = try connection.prepare("UPDATE recency SET direct = 1 WHERE key = ?1")
    }
}
