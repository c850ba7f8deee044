import LarderModel

/// The statements of the writer of `cache.db`.
enum CacheStatement: Int, PreparedStatement {
    case begin, commit, setMeta, deleteMeta, touch, find, entry, putEntry, putRecency, refreshEntry,
        refreshRecency, markStale, deleteEntry, deleteRecency, oldest, oldestWithKind,
        oldestOfOwner, oldestOfOwnerWithKind, expired, unreferred, markDirect, hide, hideLater,
        marks, isHidden, unhide

    var sql: String {
        switch self {
        case .begin: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .setMeta: "REPLACE INTO meta (name, value) VALUES (:name, :value)"
        case .deleteMeta: "DELETE FROM meta WHERE name = :name"
        case .touch: "UPDATE recency SET last_used = :used WHERE key = :key AND last_used < :used"
        case .find:
            """
            SELECT \(RecencyColumn.row(EntryColumn.found)) FROM entry JOIN recency USING (key)
            WHERE key = :key
            """
        case .entry: "SELECT \(EntryColumn.list) FROM entry WHERE key = :key"
        case .putEntry:
            """
            INSERT INTO entry (\(EntryColumn.names())) VALUES (\(EntryColumn.parameters()))
            ON CONFLICT (key) DO UPDATE SET \(EntryColumn.assignments(EntryColumn.put))
            """
        case .putRecency:
            """
            INSERT INTO recency (key, \(RecencyColumn.names()))
            VALUES (:key, \(RecencyColumn.parameters()))
            ON CONFLICT (key) DO UPDATE SET \(RecencyColumn.assignments())
            """
        case .refreshEntry:
            "UPDATE entry SET \(EntryColumn.assignments(EntryColumn.confirmed)) WHERE key = :key"
        case .refreshRecency:
            """
            UPDATE recency SET \(RecencyColumn.assignments([.storedAt, .size, .lastUsed]))
            WHERE key = :key
            """
        case .markStale: "UPDATE entry SET fresh_until = NULL WHERE key = :key"
        case .deleteEntry:
            "DELETE FROM entry WHERE key = :key RETURNING \(EntryColumn.deleted)"
        case .deleteRecency: "DELETE FROM recency WHERE key = :key RETURNING size, owner"
        case .oldest:
            """
            SELECT \(VictimColumn.list([.key, .lastUsed])) FROM recency
            WHERE last_used > :used ORDER BY last_used
            """
        case .oldestWithKind:
            """
            SELECT \(VictimColumn.list([.key, .lastUsed, .kind])) FROM recency JOIN entry USING (key)
            WHERE last_used > :used ORDER BY last_used
            """
        case .oldestOfOwner:
            """
            SELECT \(VictimColumn.list([.key, .lastUsed])) FROM recency
            WHERE owner = :owner AND last_used > :used ORDER BY last_used
            """
        case .oldestOfOwnerWithKind:
            """
            SELECT \(VictimColumn.list([.key, .lastUsed, .kind])) FROM recency JOIN entry USING (key)
            WHERE owner = :owner AND last_used > :used ORDER BY last_used
            """
        case .expired:
            """
            SELECT \(VictimColumn.list([.key, .lastUsed, .expiresAt])) FROM recency
            WHERE expires_at <= :now AND (expires_at, key) > (:expires_at, :key)
            ORDER BY expires_at, key
            """
        case .unreferred:
            """
            SELECT key FROM entry JOIN recency USING (key)
            WHERE key = :key AND id < '\(EntryID.firstOfEntries)' AND direct = 0
                AND NOT EXISTS (SELECT 1 FROM reference WHERE child = :key)
            """
        case .markDirect: "UPDATE recency SET direct = 1 WHERE key = :key"
        case .hide: "INSERT OR IGNORE INTO hidden (key, scope, rev) VALUES (:key, :scope, :rev)"
        case .hideLater:
            "UPDATE hidden SET rev = max(rev, :rev) WHERE key = :key AND scope = :scope"
        case .marks: "SELECT scope, rev FROM hidden WHERE key = :key"
        case .isHidden: CacheHiding.isHiddenSQL
        case .unhide: "DELETE FROM hidden WHERE key = :key AND rev <= :rev"
        }
    }
}
