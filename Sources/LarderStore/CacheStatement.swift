import LarderModel

/// The statements of the writer of `cache.db`.
enum CacheStatement: Int, PreparedStatement {
    case begin, commit, setMeta, deleteMeta, touch, find, entry, putEntry, putRecency, refreshEntry,
        refreshRecency, markStale, deleteEntry, deleteRecency, oldest, oldestWithKind,
        oldestOfOwner,
        oldestOfOwnerWithKind, expired, unreferred, markDirect, hide, hideLater, marks, isHidden,
        unhide

    var sql: String {
        switch self {
        case .begin: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .setMeta: "REPLACE INTO meta (name, value) VALUES (?1, ?2)"
        case .deleteMeta: "DELETE FROM meta WHERE name = ?1"
        case .touch: "UPDATE recency SET last_used = ?2 WHERE key = ?1 AND last_used < ?2"
        case .find:
            """
            SELECT \(RecencyColumn.row(EntryColumn.found)) FROM entry JOIN recency USING (key)
            WHERE key = ?1
            """
        case .entry: "SELECT \(EntryColumn.list) FROM entry WHERE key = ?1"
        case .putEntry:
            """
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
        case .putRecency:
            """
            INSERT INTO recency (key, last_used, size, stored_at, expires_at, owner)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (key) DO UPDATE SET last_used = ?2, size = ?3, stored_at = ?4,
                expires_at = ?5, owner = ?6
            """
        case .refreshEntry:
            """
            UPDATE entry SET stored_at = ?2, fresh_until = ?3, headers = ?4, origin = ?5,
                media_type = ?6
            WHERE key = ?1
            """
        case .refreshRecency:
            "UPDATE recency SET stored_at = ?2, size = ?3, last_used = ?4 WHERE key = ?1"
        case .markStale: "UPDATE entry SET fresh_until = NULL WHERE key = ?1"
        case .deleteEntry:
            "DELETE FROM entry WHERE key = ?1 RETURNING \(EntryColumn.deleted)"
        case .deleteRecency: "DELETE FROM recency WHERE key = ?1 RETURNING size, owner"
        case .oldest:
            "SELECT \(VictimColumn.list([.key, .lastUsed])) FROM recency WHERE last_used > ?1 ORDER BY last_used"
        case .oldestWithKind:
            """
            SELECT \(VictimColumn.list([.key, .lastUsed, .kind])) FROM recency JOIN entry USING (key)
            WHERE last_used > ?1 ORDER BY last_used
            """
        case .oldestOfOwner:
            """
            SELECT \(VictimColumn.list([.key, .lastUsed])) FROM recency WHERE owner = ?2 AND last_used > ?1
            ORDER BY last_used
            """
        case .oldestOfOwnerWithKind:
            """
            SELECT \(VictimColumn.list([.key, .lastUsed, .kind])) FROM recency JOIN entry USING (key)
            WHERE owner = ?2 AND last_used > ?1 ORDER BY last_used
            """
        case .expired:
            """
            SELECT \(VictimColumn.list([.key, .lastUsed, .expiresAt])) FROM recency
            WHERE expires_at <= ?1 AND (expires_at, key) > (?2, ?3) ORDER BY expires_at, key
            """
        case .unreferred:
            """
            SELECT key FROM entry JOIN recency USING (key)
            WHERE key = ?1 AND id < '\(EntryID.firstOfEntries)' AND direct = 0
                AND NOT EXISTS (SELECT 1 FROM reference WHERE child = ?1)
            """
        case .markDirect: "UPDATE recency SET direct = 1 WHERE key = ?1"
        case .hide: "INSERT OR IGNORE INTO hidden (key, scope, rev) VALUES (?1, ?2, ?3)"
        case .hideLater:
            "UPDATE hidden SET rev = max(rev, ?3) WHERE key = ?1 AND scope = ?2"
        case .marks: "SELECT scope, rev FROM hidden WHERE key = ?1"
        case .isHidden: Self.isHiddenSQL
        case .unhide: "DELETE FROM hidden WHERE key = ?1 AND rev <= ?2"
        }
    }

    static let isHiddenSQL = "SELECT 1 FROM hidden WHERE key = :key AND scope = :scope"
}
