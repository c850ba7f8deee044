/// The prepared statements of the writer of `state.db` for the modifier queue.
struct QueueStatements {
    let find: SQLiteStatement
    let findSettled: SQLiteStatement
    let insert: SQLiteStatement
    let insertChange: SQLiteStatement
    let target: SQLiteStatement
    let send: SQLiteStatement
    let update: SQLiteStatement
    let answer: SQLiteStatement
    let get: SQLiteStatement
    let changes: SQLiteStatement
    let delete: SQLiteStatement
    let deleteChanges: SQLiteStatement
    let bury: SQLiteStatement
    let buryChange: SQLiteStatement
    let remember: SQLiteStatement
    let forget: SQLiteStatement
    let markStale: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(StoreError) {
        find = try connection.prepare(
            """
            SELECT number, rev, digest_high, digest_low, settled_at FROM modifier
            WHERE scope = ?1 AND id = ?2
            """
        )
        findSettled = try connection.prepare(
            """
            SELECT number, rev, digest_high, digest_low FROM history
            WHERE scope = ?1 AND id = ?2 ORDER BY history DESC LIMIT 1
            """
        )
        insert = try connection.prepare(
            """
            INSERT INTO modifier (scope, id, origin, state, lane, depends_on, hold_until,
                expires_at, attempts_max, attempts, not_applied, stalled, after_unknown, key,
                round, accepted_at, rev, client, digest_high, digest_low, size, changes, method,
                url, media_type, headers, body)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, 0, ?10, ?11, 1, ?12, ?13, ?14, ?15,
                ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)
            """
        )
        insertChange = try connection.prepare(
            """
            INSERT INTO change (modifier, position, scope, id, settled, effect)
            VALUES (?1, ?2, ?3, ?4, 0, ?5)
            """
        )
        target = try connection.prepare(
            "UPDATE kept SET targeted = max(0, targeted + ?2) WHERE kept = ?1"
        )
        send = try connection.prepare(
            """
            UPDATE modifier SET state = 'in_flight', attempts = attempts + 1,
                next_attempt_at = NULL
            WHERE number = ?1 AND settled_at IS NULL
            """
        )
        update = try connection.prepare(
            """
            UPDATE modifier SET state = ?2, next_attempt_at = ?3, attempts = ?4, not_applied = ?5,
                stalled = ?6, round = coalesce(?7, round)
            WHERE number = ?1 AND settled_at IS NULL
            """
        )
        answer = try connection.prepare(
            """
            UPDATE modifier SET answer_status = ?2, answer_headers = ?3, answer_body = ?4,
                size = size - coalesce(length(answer_body), 0)
                    - coalesce(length(CAST(answer_headers AS BLOB)), 0)
                    + length(?4) + length(CAST(?3 AS BLOB))
            WHERE number = ?1
            """
        )
        get = try connection.prepare(
            """
            SELECT scope, id, origin, state, method, url, answer_status, accepted_at, settled_at,
                rev, digest_high, digest_low, size
            FROM modifier WHERE number = ?1
            """
        )
        changes = try connection.prepare(
            "SELECT change, scope, id FROM change WHERE modifier = ?1 ORDER BY position"
        )
        delete = try connection.prepare("DELETE FROM modifier WHERE number = ?1")
        deleteChanges = try connection.prepare("DELETE FROM change WHERE modifier = ?1")
        bury = try connection.prepare(
            """
            UPDATE modifier SET found_state = CASE WHEN ?2 = 'unreadable' THEN state END,
                state = 'dead', reason = ?2, settled_at = ?3, rev = ?4, size = size + ?5,
                next_attempt_at = NULL
            WHERE number = ?1
            """
        )
        buryChange = try connection.prepare(
            "UPDATE change SET settled = 1, before = ?2, after = ?3 WHERE change = ?1"
        )
        remember = try connection.prepare(
            """
            INSERT INTO history (number, scope, id, origin, method, url, outcome, reason,
                answer_status, accepted_at, settled_at, rev, digest_high, digest_low)
            SELECT number, scope, id, origin, method, url, ?2, reason, answer_status, accepted_at,
                ?3, ?4, digest_high, digest_low
            FROM modifier WHERE number = ?1
            """
        )
        forget = try connection.prepare("DELETE FROM history WHERE history <= ?1")
        markStale = try connection.prepare(
            "UPDATE kept SET fresh_until = NULL WHERE kept = ?1 AND kind = 1"
        )
    }
}
