enum ModifierColumn: Int32, TableColumn {
    case number, scope, id, origin, state, reason, lane, dependsOn, holdUntil, expiresAt,
        attemptsMax, attempts, notApplied, stalled, nextAttemptAt, afterUnknown, key, round,
        acceptedAt, settledAt, rev, client, digestHigh, digestLow, size, method, url, mediaType,
        answerStatus, headers, changes, answerAt, unclearStatus, answered
    case answerHeaders, answerBody, body
    case bodyBytes

    var sql: String { self == .bodyBytes ? "coalesce(length(body), 0)" : name }

    static let accepted = all(but: [
        .number, .reason, .nextAttemptAt, .settledAt, .answerStatus, .answerAt, .unclearStatus,
        .answered, .answerHeaders, .answerBody, .bodyBytes,
    ])
    static let whole = list(nil)
    static let withoutBytes = list(all(but: [.answerHeaders, .answerBody, .body]))
}

enum ChangeColumn: Int32, TableColumn {
    case change, modifier, position, scope, id, settled, effect, before, after
}

enum HistoryColumn: Int32, TableColumn {
    case history, number, scope, id, origin, method, url, outcome, reason, answerStatus, acceptedAt,
        settledAt, rev, targets, attempts, key, bytes, lane, answerAt

    static let list = list(nil)
}
