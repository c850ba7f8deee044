/// The statements of the writer of `state.db` for the modifier queue.
enum QueueStatement: Int, PreparedStatement {
    case find, findSettled, insert, insertChange, target, otherChange, send, update,
        answer, get, changes, delete, bury, buryChange, remember, forget, markStale,
        answeredChanges, endChange, answered

    var sql: String {
        switch self {
        case .find:
            """
            SELECT number, rev, digest_high, digest_low, settled_at FROM modifier
            WHERE scope = ?1 AND id = ?2
            """
        case .findSettled:
            """
            SELECT number, rev, digest_high, digest_low, settled_at FROM history
            WHERE scope = ?1 AND id = ?2 ORDER BY history DESC LIMIT 1
            """
        case .insert:
            """
            INSERT INTO modifier (scope, id, origin, state, lane, depends_on, hold_until,
                expires_at, attempts_max, attempts, not_applied, stalled, after_unknown, key,
                round, accepted_at, rev, client, digest_high, digest_low, size, changes, method,
                url, media_type, headers, body)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, 0, ?10, ?11, 1, ?12, ?13, ?14, ?15,
                ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)
            """
        case .insertChange:
            """
            INSERT INTO change (modifier, position, scope, id, settled, effect)
            VALUES (?1, ?2, ?3, ?4, 0, ?5)
            """
        case .target:
            """
            UPDATE claim SET targeted = ?2,
                rev = CASE WHEN kind IS NULL THEN rev ELSE max(rev, ?3) END
            WHERE claim = ?1
            """
        case .otherChange:
            """
            SELECT 1 FROM change INDEXED BY change_target
            WHERE scope = ?1 AND id = ?2 AND settled = 0 AND modifier <> ?3 LIMIT 1
            """
        case .send:
            """
            UPDATE modifier SET state = 'in_flight', attempts = attempts + 1,
                next_attempt_at = NULL
            WHERE number = ?1 AND settled_at IS NULL
            """
        case .update:
            """
            UPDATE modifier SET state = ?2, next_attempt_at = ?3, attempts = ?4, not_applied = ?5,
                stalled = ?6, round = coalesce(?7, round)
            WHERE number = ?1 AND settled_at IS NULL
            """
        case .answer:
            """
            UPDATE modifier SET answer_status = ?2, answer_headers = ?3, answer_body = ?4,
                answer_at = ?5,
                unclear_status = coalesce(unclear_status, iif(?2 IN (500, 502, 504), ?2, NULL)),
                size = size - coalesce(length(answer_body), 0)
                    - coalesce(length(CAST(answer_headers AS BLOB)), 0)
                    + length(?4) + length(CAST(?3 AS BLOB))
            WHERE number = ?1
            """
        case .get:
            """
            SELECT \(ModifierColumn.list([
                .scope, .id, .origin, .state, .settledAt, .stalled, .size, .client, .answered,
            ])) FROM modifier WHERE number = ?1
            """
        case .changes:
            """
            SELECT \(ChangeColumn.list([.change, .scope, .id, .settled])) FROM change
            WHERE modifier = ?1 ORDER BY position
            """
        case .delete: "DELETE FROM modifier WHERE number = ?1"
        case .bury:
            """
            UPDATE modifier SET found_state = CASE WHEN ?2 = 'unreadable' THEN state END,
                state = 'dead', reason = ?2, settled_at = ?3, rev = ?4, size = size + ?5,
                next_attempt_at = NULL
            WHERE number = ?1
            """
        case .buryChange: "UPDATE change SET settled = 1, before = ?2, after = ?3 WHERE change = ?1"
        case .remember:
            """
            INSERT INTO history (number, scope, id, origin, method, url, outcome, reason,
                answer_status, accepted_at, settled_at, rev, digest_high, digest_low, attempts,
                key, bytes, lane, answer_at, targets)
            SELECT number, scope, id, origin, method, url, ?2, reason, answer_status, accepted_at,
                ?3, ?4, digest_high, digest_low, attempts,
                coalesce(key, id) || CASE WHEN round > 1 THEN '.' || round ELSE '' END,
                coalesce(length(body), 0), lane, answer_at, (
                    SELECT group_concat(id, char(10)) FROM (
                        SELECT id FROM change WHERE modifier = ?1 ORDER BY position LIMIT 16
                    )
                )
            FROM modifier WHERE number = ?1
            """
        case .forget: "DELETE FROM history WHERE history <= ?1"
        case .answeredChanges:
            """
            SELECT \(ChangeColumn.list([.change, .modifier], [.change: "change.change"]))
            FROM change INDEXED BY change_target
                JOIN modifier ON number = change.modifier
            WHERE change.id = ?1 AND change.scope = ?2 AND settled = 0 AND answered = 1
            ORDER BY change.modifier
            """
        case .endChange: "UPDATE change SET settled = 2 WHERE change = ?1"
        case .answered:
            """
            UPDATE modifier SET state = 'accepted', answered = 1, stalled = 0, next_attempt_at = NULL
            WHERE number = ?1
            """
        case .markStale: "UPDATE claim SET fresh_until = NULL WHERE claim = ?1 AND kind = 1"
        }
    }
}
