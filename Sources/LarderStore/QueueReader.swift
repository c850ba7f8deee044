import LarderModel

/// Reads the modifier queue by a ``StateReader``, in its transactions.
struct QueueReader {
    let state: StateReader
    private var connection: SQLiteConnection { state.connection }

    /// A page of the unsettled ones, in the order of their numbers; one with an effect that is not
    /// known cannot be read.
    func unsettled(
        after number: Int64,
        limit: Int,
        isKnown: (([UInt8]) -> Bool)? = nil
    ) throws(StoreError) -> [FoundModifier] {
        let sql = """
            SELECT \(ModifierColumn.withoutBytes) FROM modifier NOT INDEXED
            WHERE settled_at IS NULL AND number > :after ORDER BY number LIMIT :limit
            """
        let statement = try connection.statement(sql, (":after", number), (":limit", limit))
        return try found(statement, after: number, isKnown: isKnown)
    }

    func modifiers(
        _ filter: ModifierFilter,
        after number: Int64,
        limit: Int
    ) throws(StoreError) -> [FoundModifier] {
        let statement = try connection.statement(filter.sql)
        filter.scopes.bind(to: statement)
        statement.bind((":after", number), (":limit", limit))
        if let state = filter.state { statement.bind(":state", state.rawValue) }
        if let lane = filter.laneName { statement.bind(":lane", lane.text) }
        if let target = filter.target { statement.bind(":target", target.text) }
        return try found(statement, after: number)
    }

    /// With their targets; one whose changes are not all there, or not all of its scope, cannot be
    /// read.
    private func found(
        _ statement: SQLiteStatement,
        after last: Int64,
        isKnown: (([UInt8]) -> Bool)? = nil
    ) throws(StoreError) -> [FoundModifier] {
        let sql = """
            SELECT \(ChangeColumn.list([.id, .effect, .scope])) FROM change
            WHERE modifier = :modifier ORDER BY position
            """
        return try statement.page(by: ModifierColumn.number, after: last) {
            row throws(StoreError) -> FoundModifier? in
            let number = ModifierNumber(row.integer(ModifierColumn.number))
            guard var modifier = StoredModifier(row) else { return .unreadable(number) }
            let scope = modifier.scope.text
            let targets = try connection.statement(sql, (":modifier", number.value))
            modifier.targets = try targets.all { row in
                if let isKnown, !isKnown(Array(row.bytes(ChangeColumn.effect))) { return nil }
                return row.isText(ChangeColumn.scope, scope) ? row.entryID(ChangeColumn.id) : nil
            }
            let isWhole = modifier.targets.count == modifier.changeCount
            return isWhole ? .readable(modifier) : .unreadable(number)
        }
    }

    func modifier(_ number: ModifierNumber) throws(StoreError) -> WholeModifier? {
        try state.inTransaction { () throws(StoreError) in
            let statement = try connection.statement(
                "SELECT \(ModifierColumn.whole) FROM modifier WHERE number = :number",
                (":number", number.value)
            )
            guard try statement.step(), var modifier = StoredModifier(statement) else {
                return nil
            }
            let changes = try connection.statement(
                "SELECT \(ChangeColumn.list()) FROM change WHERE modifier = :modifier ORDER BY position",
                (":modifier", number.value)
            ).all(StoredChange.init)
            modifier.targets = changes.map(\.id)
            let answer = modifier.answerStatus.map { status in
                StoredAnswer(
                    status: status,
                    headers: HeaderFields(
                        lines: statement.text(ModifierColumn.answerHeaders) ?? ""
                    ),
                    body: Array(statement.bytes(ModifierColumn.answerBody)),
                    at: modifier.answerAt
                )
            }
            return WholeModifier(
                modifier: modifier,
                body: Array(statement.bytes(ModifierColumn.body)),
                changes: changes,
                answer: answer
            )
        }
    }

    /// Of the body of the last answer at most `bytesMax` bytes; nil where none came.
    func answerBody(
        of number: ModifierNumber,
        bytesMax: Int
    ) throws(StoreError) -> [UInt8]? {
        let sql = """
            SELECT substr(answer_body, 1, :bytes) FROM modifier
            WHERE number = :number AND answer_status IS NOT NULL
            """
        let statement = try connection.statement(sql)
        statement.bind((":number", number.value), (":bytes", bytesMax))
        return try statement.first { Array($0.bytes(.only)) }
    }

    /// The id and the state of one that is unsettled, or a dead letter, whatever else its row says.
    func head(
        of number: ModifierNumber
    ) throws(StoreError) -> (id: ModifierID?, state: ModifierState?, isAnswered: Bool)? {
        try connection.statement(
            "SELECT id, state, answered FROM modifier WHERE number = :number",
            (":number", number.value)
        ).first { row in
            let id = row.text("id").flatMap { try? ModifierID($0) }
            return (id, row.text("state").flatMap(ModifierState.init), row.isTrue("answered"))
        }
    }

    /// Whether a modifier is a dead letter, or was one, or was cancelled; the last word counts, as a
    /// dead letter may have been sent again.
    func hasFailed(_ number: ModifierNumber) throws(StoreError) -> Bool {
        if let head = try head(of: number) { return head.state == .dead }
        let statement = try connection.statement(
            "SELECT outcome FROM history WHERE number = :number ORDER BY history DESC LIMIT 1",
            (":number", number.value)
        )
        guard try statement.step() else { return false }
        return statement.text(.only) != ModifierState.confirmed.rawValue
    }

    /// What was submitted under an id, whatever has become of it.
    func submission(of id: ModifierID, _ scope: ScopeKey) throws(StoreError) -> Submission? {
        for sql in [
            """
            SELECT digest_high, digest_low, number, rev, (SELECT group_concat(id, char(10)) FROM (
                SELECT id FROM change WHERE modifier = number ORDER BY position)) AS targets, origin, url
            FROM modifier WHERE scope = :scope AND id = :id
            """,
            """
            SELECT digest_high, digest_low, number, rev, targets, origin, url FROM history
            WHERE scope = :scope AND id = :id ORDER BY history DESC LIMIT 1
            """,
        ] {
            let statement = try connection.statement(sql, (":scope", scope.text), (":id", id.text))
            guard try statement.step() else { continue }
            let targets = (statement.text("targets") ?? "").split(separator: "\n")
            return Submission(
                number: ModifierNumber(statement.integer("number")),
                revision: Revision(statement.integer("rev")),
                digest: statement.digest("digest_high", "digest_low"),
                targets: targets.map { try? EntryID(stored: String($0)) },
                origin: statement.text("origin") ?? "",
                url: statement.text("url").flatMap { try? WebURL($0) }
            )
        }
        return nil
    }

    func oldestAcceptedAt() throws(StoreError) -> Timestamp? {
        let oldest = try connection.integer(
            """
            SELECT accepted_at FROM modifier INDEXED BY modifier_open
            WHERE settled_at IS NULL ORDER BY number LIMIT 1
            """
        )
        return oldest.map(Timestamp.init(milliseconds:))
    }

    func history(
        of scopes: RowScopes,
        before place: Int64,
        limit: Int
    ) throws(StoreError) -> [SettledModifier] {
        let sql = """
            SELECT \(HistoryColumn.list) FROM history NOT INDEXED
            WHERE history < :before AND \(scopes.condition) ORDER BY history DESC LIMIT :limit
            """
        let statement = try connection.statement(sql)
        scopes.bind(to: statement)
        statement.bind((":before", place), (":limit", limit))
        return try statement.all(SettledModifier.init)
    }

    func settled(
        _ number: ModifierNumber,
        of scope: ScopeKey
    ) throws(StoreError) -> SettledModifier? {
        let sql = """
            SELECT \(HistoryColumn.list) FROM history
            WHERE number = :number AND scope = :scope ORDER BY history DESC LIMIT 1
            """
        let statement = try connection.statement(sql)
        statement.bind((":number", number.value), (":scope", scope.text))
        return try statement.first(SettledModifier.init)
    }

    func pausedLanes() throws(StoreError) -> [(scope: Scope, lane: Lane)] {
        try connection.statement("SELECT scope, lane FROM paused_lane").all { row in
            guard let scope = row.scope("scope"),
                let lane = row.text("lane").flatMap({ try? Lane($0) })
            else { return nil }
            return (scope, lane)
        }
    }
}

extension ModifierFilter {
    /// The rows of a page.
    ///
    /// A page ends where it is full: each index here has the order of numbers, or gives a target's
    /// numbers, which are few.
    var sql: String {
        let isOpen = isUnsettled || state != nil && state != .dead
        let settled = state == .dead ? "1" : isOpen ? "0, 2" : "0, 1, 2"
        var conditions = [scopes.condition]
        let index: String
        if target != nil {
            index = "NOT INDEXED"
            conditions.append(
                """
                number IN (SELECT modifier FROM change INDEXED BY change_target
                    WHERE \(scopes.condition) AND id = :target AND settled IN (\(settled))
                        AND modifier > :after)
                """
            )
        } else {
            conditions.append("number > :after")
            if case .one = scopes, state == .dead {
                index = "INDEXED BY modifier_dead"
            } else {
                index = isOpen ? "INDEXED BY modifier_open" : "NOT INDEXED"
            }
        }
        if isOpen { conditions.append("settled_at IS NULL") }
        if isUnanswered { conditions.append("answered = 0") }
        if state == .dead { conditions.append("settled_at IS NOT NULL") }
        if state != nil { conditions.append("state = :state") }
        if laneName != nil { conditions.append("lane = :lane") }
        return """
            SELECT \(ModifierColumn.withoutBytes) FROM modifier \(index)
            WHERE \(conditions.joined(separator: " AND ")) ORDER BY number LIMIT :limit
            """
    }
}
