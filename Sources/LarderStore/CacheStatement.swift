import LarderModel

enum CacheStatement: Int, PreparedStatement {
    case begin, commit, setMeta, deleteMeta, touch, find, entry, putEntry, putRecency, refreshEntry,
        refreshRecency, markStale, forgetValidators, deleteEntry, deleteRecency, oldest,
        oldestWithKind,
        oldestOfOwner, oldestOfOwnerWithKind, expired, markDirect, variants

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
        case .forgetValidators:
            "UPDATE entry SET etag = NULL, last_modified = NULL WHERE key = :key"
        case .deleteEntry: "DELETE FROM entry WHERE key = :key RETURNING \(EntryColumn.deleted)"
        case .deleteRecency: "DELETE FROM recency WHERE key = :key RETURNING size, owner"
        case .oldest: Self.oldest()
        case .oldestWithKind: Self.oldest(withKind: true)
        case .oldestOfOwner: Self.oldest(ofOwner: true)
        case .oldestOfOwnerWithKind: Self.oldest(ofOwner: true, withKind: true)
        case .expired:
            """
            SELECT \(VictimColumn.list([.key, .lastUsed, .expiresAt])) FROM recency
            WHERE expires_at <= :now AND (expires_at, key) > (:expires_at, :key)
            ORDER BY expires_at, key
            """
        case .variants:
            """
            SELECT id, kind FROM entry WHERE scope = :scope AND id >= :prefix AND id < :end
            ORDER BY id LIMIT \(Limits.pageRowsMax)
            """
        case .markDirect: "UPDATE recency SET direct = 1 WHERE key = :key"
        }
    }

    private static func oldest(ofOwner: Bool = false, withKind: Bool = false) -> String {
        """
        SELECT \(VictimColumn.list(withKind ? [.key, .lastUsed, .kind] : [.key, .lastUsed]))
        FROM recency \(withKind ? "JOIN entry USING (key)" : "")
        WHERE \(ofOwner ? "owner = :owner AND" : "") last_used > :used ORDER BY last_used
        """
    }
}
