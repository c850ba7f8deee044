/// The statements of the writer of `state.db`, but for the modifier queue.
enum ClaimStatement: Int, PreparedStatement {
    case begin, commit, find, get, insert, setEntry, refresh, setState, setPinned,
        clearEntry, delete, keepers, keep, setKept, raise, hide, unhide,
        marks

    var sql: String {
        switch self {
        case .begin: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .find:
            """
            SELECT \(ClaimColumn.row(EntryColumn.found, DurableRow.columns))
            FROM claim WHERE scope = ?1 AND id = ?2
            """
        case .get:
            """
            SELECT \(ClaimColumn.row(Set(EntryColumn.allCases), DurableRow.columns))
            FROM claim WHERE scope = ?1 AND id = ?2
            """
        case .insert:
            """
            INSERT INTO claim (scope, id, origin, size, targeted, shared, pinned_at, state, wanted,
                held, in_pins)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            """
        case .setEntry:
            """
            UPDATE claim SET kind = ?2, stored_at = ?3, fresh_until = ?4, rev = ?5, origin = ?6,
                status = ?7, media_type = ?8, etag = ?9, last_modified = ?10, headers = ?11,
                bytes = ?12, json = ?13, digest_high = ?14, digest_low = ?15, body = ?16,
                data = ?17, size = ?18, state = ?19, problem = ?20, reason = ?21, skeleton = ?22,
                checksum = ?23, gone_status = NULL, wanted = 0
            WHERE claim = ?1
            """
        case .refresh:
            """
            UPDATE claim SET stored_at = ?2, fresh_until = ?3, headers = ?4, origin = ?5,
                media_type = ?6, size = ?7, state = ?8, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE claim = ?1
            """
        case .setState:
            """
            UPDATE claim SET state = ?2, problem = ?3, reason = ?4, gone_status = ?5, wanted = ?6
            WHERE claim = ?1
            """
        case .setPinned:
            """
            UPDATE claim SET pinned_at = ?2, state = ?3, problem = NULL, reason = NULL,
                gone_status = NULL, wanted = 0
            WHERE claim = ?1
            """
        case .clearEntry:
            """
            UPDATE claim SET kind = NULL, stored_at = NULL, fresh_until = NULL, rev = NULL,
                status = NULL, media_type = NULL, etag = NULL, last_modified = NULL,
                headers = NULL, bytes = NULL, json = NULL, digest_high = NULL, digest_low = NULL,
                body = NULL, data = NULL, skeleton = NULL, checksum = NULL, size = ?2
            WHERE claim = ?1
            """
        case .delete: "DELETE FROM claim WHERE claim = ?1"
        case .keepers:
            """
            SELECT \(ClaimColumn.row([.scope], [.pinnedAt, .state, .targeted]))
            FROM claim INDEXED BY claim_keeper
            WHERE id = ?1 AND shared = 1 ORDER BY claim
            """
        case .keep: "UPDATE claim SET shared = ?2 WHERE claim = ?1"
        case .setKept:
            """
            UPDATE claim SET targeted = ?2, pinned_at = ?3, state = ?4, payer = ?5 WHERE claim = ?1
            """
        case .hide:
            """
            INSERT INTO hidden (claim, scope, rev) VALUES (?1, ?2, ?3)
            ON CONFLICT (claim, scope) DO UPDATE SET rev = max(rev, ?3)
            """
        case .unhide: "DELETE FROM hidden WHERE claim = ?1 AND rev <= ?2"
        case .marks: "SELECT scope, rev FROM hidden WHERE claim = ?1"
        case .raise:
            """
            UPDATE claim SET rev = max(rev, ?3)
            WHERE scope = ?1 AND id = ?2 AND kind IS NOT NULL
            """
        }
    }
}
