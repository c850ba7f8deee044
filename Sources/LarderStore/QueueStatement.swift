import LarderModel

enum QueueStatement: Int, PreparedStatement {
    case insert, insertChange, target, otherChange, send, update,
        answer, get, changes, delete, moveToDeadLetters, failChange, remember, outdated, forget,
        markStale,
        oldestAnswer, forgetAnswer, answeredChanges, endChange, answered, noteSent, forgetSent,
        sentChanges, seenChanges, acceptedBefore, wantRead, dropRead, endRead, see, meet, decide,
        replace, forgetChanges, forgetValidators, seenSize, grow

    /// The key of a row that is to be read again.
    static let readTarget = ":scope || char(10) || :id"

    var sql: String {
        switch self {
        case .insert:
            """
            INSERT INTO modifier (\(ModifierColumn.names(ModifierColumn.accepted)))
            VALUES (\(ModifierColumn.parameters(ModifierColumn.accepted)))
            """
        case .insertChange:
            """
            INSERT INTO change (\(ChangeColumn.names(ChangeColumn.made)))
            VALUES (\(ChangeColumn.parameters(ChangeColumn.made)))
            """
        case .replace:
            // After an attempt the next key is used; a retried dead letter gets it then.
            """
            UPDATE modifier SET \(ModifierColumn.assignments(ModifierColumn.edited)),
                round = round + (settled_at IS NULL
                    AND (attempts > 0 OR answer_status IS NOT NULL)),
                etag = NULL, denied = attempts - not_applied
            WHERE number = :number
            """
        case .forgetChanges: "DELETE FROM change WHERE modifier = :number"
        case .target:
            """
            UPDATE claim SET targeted = :targeted, rev = max(coalesce(rev, 0), :rev)
            WHERE claim = :key
            """
        case .otherChange:
            """
            SELECT 1 FROM change INDEXED BY change_target
            WHERE scope = :scope AND id = :id AND settled = 0 AND modifier <> :modifier LIMIT 1
            """
        case .send:
            """
            UPDATE modifier SET state = 'in_flight', attempts = attempts + 1,
                next_attempt_at = NULL, etag = :etag
            WHERE number = :number AND settled_at IS NULL
            """
        case .update:
            """
            UPDATE modifier SET
                \(ModifierColumn.assignments([
                    .state, .nextAttemptAt, .attempts, .notApplied, .stalled, .perhapsApplied,
                ])),
                round = round + :next,
                etag = iif(:next OR :attempts <= :not_applied + denied, NULL, etag),
                denied = iif(:next, :attempts - :not_applied, denied),
                conflicts = iif(:decided, 0, conflicts + :next)
            WHERE number = :number AND settled_at IS NULL
            """
        case .see:
            """
            UPDATE change SET seen = :seen, seen_view = :view, theirs = NULL
            WHERE modifier = :modifier AND id = :id
            """
        case .meet: "UPDATE change SET theirs = :theirs WHERE modifier = :modifier AND id = :id"
        case .decide:
            """
            UPDATE change SET seen = theirs, seen_view = NULL, theirs = NULL
            WHERE modifier = :modifier AND theirs IS NOT NULL
            """
        case .answer:
            """
            UPDATE modifier SET
                \(ModifierColumn.assignments([.answerStatus, .answerHeaders, .answerBody, .answerAt])),
                unclear_status = coalesce(unclear_status, :unclear_status),
                size = size - (\(HistoryColumn.answerSize)) + length(:answer_body)
                    + length(CAST(:answer_headers AS BLOB))
            WHERE number = :number
            """
        case .get:
            """
            SELECT \(ModifierColumn.list([
                .scope, .id, .origin, .state, .settledAt, .stalled, .size, .client, .answered,
                .answerStatus, .answerSize, .joinedInto, .joinedBytes,
            ])) FROM modifier WHERE number = :number
            """
        case .changes:
            """
            SELECT \(ChangeColumn.list([.change, .scope, .id, .settled, .implied, .sent])) FROM change
            WHERE modifier = :modifier ORDER BY position
            """
        case .delete: "DELETE FROM modifier WHERE number = :number"
        case .moveToDeadLetters:
            """
            UPDATE modifier SET found_state = CASE WHEN :reason = 'unreadable' THEN state END,
                state = 'failed', reason = :reason, settled_at = :settled_at, rev = :rev,
                size = size + :added,
                perhaps_applied = perhaps_applied OR :reason IN ('attempts', 'discarded'),
                next_attempt_at = NULL, joined_method = NULL, joined_media_type = NULL,
                joined_body = NULL
            WHERE number = :number
            """
        case .failChange:
            "UPDATE change SET settled = 1, before = :before, after = :after WHERE change = :change"
        case .remember:
            """
            INSERT INTO history (number, scope, id, origin, method, url, outcome, reason,
                answer_status, accepted_at, settled_at, rev, digest_high, digest_low, attempts,
                key, bytes, lane, answer_at, answer_headers, answer_body, targets, joined_into)
            SELECT number, scope, id, origin, \(ModifierColumn.method.sql), url, :outcome, reason,
                coalesce(:answer_status, answer_status), accepted_at, :settled_at, :rev,
                digest_high, digest_low, attempts,
                \(ModifierColumn.lastKey), \(ModifierColumn.bodyBytes.sql), lane,
                iif(:answer_status IS NULL, answer_at, :answer_at),
                iif(:answer_status IS NULL, answer_headers, :answer_headers),
                iif(:answer_status IS NULL, answer_body, :answer_body),
                \(HistoryColumn.firstTargets), joined_into
            FROM modifier WHERE number = :number
            """
        case .outdated:
            "SELECT scope, \(HistoryColumn.answerSize) AS bytes FROM history WHERE history <= :last"
        case .forget: "DELETE FROM history WHERE history <= :last"
        case .oldestAnswer:
            """
            SELECT history, scope, \(HistoryColumn.answerSize) AS bytes
            FROM history NOT INDEXED
            WHERE history > :after AND answer_body IS NOT NULL AND scope > :first AND scope < :end
            ORDER BY history LIMIT 1
            """
        case .forgetAnswer:
            """
            UPDATE history SET answer_headers = NULL, answer_body = NULL WHERE history = :history
            """
        case .answeredChanges:
            """
            SELECT \(ChangeColumn.list([.change, .modifier], [.change: "change.change"]))
            FROM change INDEXED BY change_target
                JOIN modifier ON number = change.modifier
            WHERE change.id = :id AND change.scope = :scope AND settled = 0 AND answered = 1
            ORDER BY change.modifier
            """
        case .noteSent: "UPDATE change SET sent = :sent WHERE change = :change"
        case .wantRead:
            """
            INSERT INTO reading (target, rev) VALUES (\(Self.readTarget), :rev)
            ON CONFLICT (target) DO UPDATE SET rev = :rev
            """
        case .dropRead:
            """
            DELETE FROM reading WHERE target IN (SELECT target FROM reading
                WHERE target > :scope || char(10) AND target < :scope || char(11)
                ORDER BY rev DESC LIMIT -1 OFFSET :max)
            """
        case .endRead:
            // A confirmed write that waits for the shared row needs another answer.
            """
            DELETE FROM reading WHERE target = \(Self.readTarget) AND rev <= :rev
                AND NOT EXISTS (SELECT 1 FROM change INDEXED BY change_target
                    JOIN modifier ON number = change.modifier
                    WHERE change.id = :id AND change.scope = :scope AND settled = 0 AND answered = 1)
            """
        case .forgetSent: "UPDATE change SET sent = NULL WHERE modifier = :number"
        case .sentChanges:
            """
            SELECT \(ChangeColumn.list([.change, .effect, .sent])) FROM change INDEXED BY change_target
            WHERE id = :id AND scope = :scope AND settled = 0 AND sent IS NOT NULL
            """
        case .seenChanges:
            """
            SELECT \(ChangeColumn.list()) FROM change INDEXED BY change_target
            WHERE id = :id AND scope = :scope AND settled = 0 AND modifier > :number
                AND seen IS NOT NULL
            ORDER BY modifier LIMIT \(Limits.seenChangesMax)
            """
        case .acceptedBefore:
            """
            SELECT \(ChangeColumn.list([.modifier]))
            FROM change INDEXED BY change_target
                JOIN modifier ON number = change.modifier
            WHERE change.id = :id AND change.scope = :scope AND settled = 0
                AND modifier < :number AND state = 'accepted' AND answered = 0
            ORDER BY change.modifier
            """
        case .endChange: "UPDATE change SET settled = 2 WHERE change = :change"
        case .answered:
            """
            UPDATE modifier SET state = 'accepted', answered = 1, stalled = 0, next_attempt_at = NULL
            WHERE number = :number
            """
        case .seenSize:
            "SELECT sum(\(ChangeColumn.seenSize)) FROM change WHERE modifier = :modifier"
        case .grow: "UPDATE modifier SET size = size + :bytes WHERE number = :number"
        case .markStale: "UPDATE claim SET fresh_until = NULL WHERE claim = :key AND kind = 1"
        case .forgetValidators:
            "UPDATE claim SET etag = NULL, last_modified = NULL WHERE claim = :key AND kind = 1"
        }
    }
}

enum ModifierColumn: Int32, TableColumn {
    case number, scope, id, origin, state, reason, lane, dependsOn, holdUntil, expiresAt,
        attemptsMax, attempts, notApplied, stalled, nextAttemptAt, afterUnknown, key, round,
        acceptedAt, settledAt, rev, client, digestHigh, digestLow, size, method, url, mediaType,
        answerStatus, headers, changes, answerAt, unclearStatus, answered, perhapsApplied,
        credential, ifMatch, onConflict, etag, conflicts, denied, joinedInto
    case answerHeaders, answerBody, body
    case bodyBytes, joinedBytes, answerSize

    /// The request is that of all modifiers that are joined to this one.
    var sql: String {
        switch self {
        case .method: "coalesce(joined_method, method)"
        case .mediaType: "iif(joined_method IS NULL, media_type, joined_media_type)"
        case .body: "iif(joined_method IS NULL, body, joined_body)"
        case .bodyBytes: "coalesce(length(\(Self.body.sql)), 0)"
        case .answerSize: HistoryColumn.answerSize
        case .joinedBytes: "iif(joined_method IS NULL, NULL, coalesce(length(joined_body), 0))"
        case _: name
        }
    }

    /// The idempotency key of the last round.
    static let lastKey = "coalesce(key, id) || CASE WHEN round > 1 THEN '.' || round ELSE '' END"

    static let accepted = all(but: [
        .number, .reason, .nextAttemptAt, .settledAt, .answerStatus, .answerAt, .unclearStatus,
        .answered, .perhapsApplied, .answerHeaders, .answerBody, .bodyBytes, .etag, .conflicts,
        .denied, .joinedInto, .joinedBytes, .answerSize,
    ])
    static let edited: Set<Self> = [
        .dependsOn, .rev, .client, .digestHigh, .digestLow, .size, .changes, .method, .url,
        .mediaType, .headers, .body,
    ]
    static let whole = list(all(but: [.answerSize]))
    static let withoutBytes = list(all(but: [.answerHeaders, .answerBody, .body, .answerSize]))
}

enum ChangeColumn: Int32, TableColumn {
    case change, modifier, position, scope, id, settled, effect, before, after, implied, parents
    case sent, seen, seenView, theirs

    static let whole = list(nil)
    static let made = all(but: [.change, .before, .after, .sent, .theirs])
    /// Bytes of what a modifier has seen and found of a target, which count in its size.
    static let seenSize = """
        coalesce(length(seen), 0) + coalesce(length(seen_view), 0) + coalesce(length(theirs), 0)
        """
}

enum HistoryColumn: Int32, TableColumn {
    case history, number, scope, id, origin, method, url, outcome, reason, answerStatus, acceptedAt,
        settledAt, rev, targets, attempts, key, bytes, lane, answerAt, answerHeaders, answerBody,
        joinedInto

    static let list = list(nil)
    /// The same columns from the row of a modifier that cannot be read as one.
    static let unreadable = list(
        nil,
        [
            .history: "number", .method: ModifierColumn.method.sql, .outcome: "'failed'",
            .reason: "'unreadable'", .settledAt: "coalesce(settled_at, accepted_at)",
            .targets: firstTargets, .key: ModifierColumn.lastKey,
            .bytes: ModifierColumn.bodyBytes.sql,
        ]
    )
    /// The first targets of the modifier `:number`, one in a line.
    static let firstTargets = """
        (SELECT group_concat(id, char(10)) FROM
            (SELECT id FROM change WHERE modifier = :number ORDER BY position LIMIT 16))
        """
    /// Bytes of a kept answer, which count in the queue.
    static let answerSize = """
        coalesce(length(answer_body), 0) + coalesce(length(CAST(answer_headers AS BLOB)), 0)
        """
}
