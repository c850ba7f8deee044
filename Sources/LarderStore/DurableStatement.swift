import LarderModel

enum DurableStatement: Int, PreparedStatement {
    case begin, commit, find, get, insert, setEntry, refresh, setState, setPinned,
        clearEntry, delete, keepers, keep, setKept, raise, variants

    var sql: String {
        switch self {
        case .begin: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .find: "SELECT \(DurableRow.found) FROM claim WHERE scope = :scope AND id = :id"
        case .get: "SELECT \(SavedEntry.columns) FROM claim WHERE scope = :scope AND id = :id"
        case .insert:
            """
            INSERT INTO claim (\(EntryColumn.names(Self.name)), \(DurableColumn.names(Self.made)))
            VALUES (\(EntryColumn.parameters(Self.name)), \(DurableColumn.parameters(Self.made)))
            """
        case .setEntry:
            """
            UPDATE claim SET \(EntryColumn.assignments(EntryColumn.put)),
                \(DurableColumn.assignments([.size, .state, .problem, .reason])), gone_status = NULL,
                wanted = 0
            WHERE claim = :key
            """
        case .refresh:
            """
            UPDATE claim SET \(EntryColumn.assignments(EntryColumn.confirmed)),
                \(DurableColumn.assignments([.size, .state])), problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE claim = :key
            """
        case .setState:
            """
            UPDATE claim SET
                \(DurableColumn.assignments([.state, .problem, .reason, .goneStatus, .wanted]))
            WHERE claim = :key
            """
        case .setPinned:
            """
            UPDATE claim SET pinned_at = :pinned_at, state = :state, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE claim = :key
            """
        case .clearEntry:
            """
            UPDATE claim SET kind = NULL, stored_at = NULL, fresh_until = NULL,
                status = NULL, media_type = NULL, etag = NULL, last_modified = NULL,
                headers = NULL, bytes = NULL, json = NULL, digest_high = NULL, digest_low = NULL,
                body = NULL, data = NULL, skeleton = NULL, checksum = NULL, size = :size
            WHERE claim = :key
            """
        case .delete: "DELETE FROM claim WHERE claim = :key"
        case .keepers:
            """
            SELECT \(DurableRow.found) FROM claim INDEXED BY claim_keeper
            WHERE id = :id AND shared = 1 ORDER BY claim
            """
        case .keep: "UPDATE claim SET shared = :shared WHERE claim = :key"
        case .setKept:
            """
            UPDATE claim SET \(DurableColumn.assignments([.targeted, .pinnedAt, .state, .payer]))
            WHERE claim = :key
            """
        case .variants:
            """
            SELECT id FROM claim WHERE scope = :scope AND id >= :prefix AND id < :end
                AND (kind <> \(EntryKind.variants.rawValue) OR kind IS NULL AND targeted > 0)
            ORDER BY id LIMIT \(Limits.pageRowsMax)
            """
        case .raise:
            """
            UPDATE claim SET rev = max(rev, :rev)
            WHERE scope = :scope AND id = :id AND kind IS NOT NULL
            """
        }
    }

    private static let name: Set<EntryColumn> = [.scope, .id, .origin]
    private static let made: Set<DurableColumn> = [
        .size, .targeted, .shared, .pinnedAt, .state, .wanted, .held, .inPins, .payer,
    ]
}
