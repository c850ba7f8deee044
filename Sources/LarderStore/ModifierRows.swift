package import LarderModel
import LarderNormalize

struct QueuedRow {
    var number: ModifierNumber
    let scope: String
    let id: String
    let origin: String
    let state: ModifierState?
    let isSettled: Bool
    let isStalled: Bool
    let size: Int64
    let client: ClientTag?
    let isAnswered: Bool
    let hasAnswer: Bool
    /// The bytes of its last answer, which are part of its size.
    let answerBytes: Int64
    let joinedInto: String?
    /// Of the first of a group, the bytes of the joined body; nil for any other.
    let joinedBytes: Int64?
}

struct ModifierRows {
    let state: StateWriter

    func accept(
        _ modifier: NewModifier,
        _ aims: [WriteTarget],
        _ bases: [TargetName: NewEntry],
        _ step: Step
    ) throws(StoreError) -> ModifierNumber {
        let (number, revision) = (try insert(modifier, step), step.revision)
        let opened = modifier.changes.map { new in
            OpenChange(
                number: number,
                modifier: modifier.id.text,
                state: modifier.state,
                revision: revision,
                acceptedAt: step.now,
                effect: new.effect
            )
        }
        let cause = ChangeCause(modifier)
        try state.targets.enter(number, aims, opened: opened, bases, revision, cause)
        let targets = modifier.changes.map(\.id)
        var change = ModifierChange(id: modifier.id, state: modifier.state, targets: targets)
        change.client = modifier.client
        try state.views.log(Change(revision, modifier.scope.scope, .modifier(change)))
        return number
    }

    /// Why these do not fit, with the bases of what they target and the bytes that an edit adds.
    func refusal(
        of new: [NewModifier],
        _ aims: [WriteTarget],
        _ found: FoundBases,
        growth: (uid: UInt32?, bytes: Int64)? = nil
    ) -> StoreError? {
        var added = QueueUsage()
        if let growth, growth.bytes > 0 { added.add(bytes: growth.bytes, of: growth.uid) }
        for modifier in new {
            guard let uid = modifier.scope.scope.uid else { continue }
            added[uid].count += 1
            added[uid].bytes += modifier.size
        }
        var counted: Set<TargetName> = []
        for aim in aims {
            guard let uid = aim.name.scope.scope.uid else { continue }
            for name in [aim.name, aim.base(in: state.shared)] {
                // A name that has a row counts already.
                guard counted.insert(name).inserted, found.rows[name] == nil else { continue }
                let size = found.entries[name]?.rowSize
                added[uid].bytes += size ?? StateBudget.sizeWithoutEntry(name, nil)
            }
        }
        return state.memory.queue.refusal(adding: added, state.limits)
    }

    private func insert(_ new: NewModifier, _ step: Step) throws(StoreError) -> ModifierNumber {
        let (statement, size) = (state.queue[.insert], new.size)
        typealias Column = ModifierColumn
        statement.bind(Column.scope, new.scope.text)
        statement.bind(Column.id, new.id.text)
        statement.bind(Column.origin, new.origin.text)
        statement.bind(Column.state, new.state.rawValue)
        statement.bind(Column.lane, new.lane?.text)
        statement.bind(Column.dependsOn, StoredModifier.text(new.dependsOn))
        statement.bind(Column.holdUntil, new.holdUntil?.milliseconds)
        statement.bind(Column.expiresAt, new.expiresAt?.milliseconds)
        statement.bind(Column.attemptsMax, new.attemptsMax)
        statement.bind(Column.afterUnknown, new.afterUnknown?.rawValue)
        statement.bind(Column.ifMatch, new.ifMatch?.rawValue)
        statement.bind(Column.onConflict, new.onConflict?.rawValue)
        statement.bind(Column.key, new.key)
        statement.bind(Column.credential, new.credential?.rawValue)
        statement.bind(Column.acceptedAt, step.now.milliseconds)
        statement.bind(Column.rev, step.revision.number)
        statement.bind(Column.client, new.client?.text)
        statement.bind(Column.digestHigh, .digestLow, new.digest)
        statement.bind(Column.size, size)
        bindRequest(of: new, to: statement)
        for column in [Column.attempts, .notApplied, .stalled] { statement.bind(column, 0) }
        statement.bind(Column.round, 1)
        try statement.run()
        let number = state.connection.lastInsertedRow
        try insertChanges(of: new, number, isSettled: false)
        state.memory.count(1, in: new.state, of: new.scope.text)
        if let uid = new.scope.scope.uid {
            state.memory.queue[uid].count += 1
            state.memory.queue[uid].bytes += size
        }
        return ModifierNumber(number)
    }

    private func insertChanges(
        of new: NewModifier,
        _ number: Int64,
        isSettled: Bool
    ) throws(StoreError) {
        let statement = state.queue[.insertChange]
        typealias Column = ChangeColumn
        for (position, change) in new.changes.enumerated() {
            statement.bind(Column.modifier, number)
            statement.bind(Column.position, position)
            statement.bind(Column.scope, new.scope.text)
            statement.bind(Column.id, change.id.text)
            statement.bind(Column.settled, isSettled)
            statement.bind(Column.effect, change.effect)
            statement.bind(Column.implied, change.isImplied)
            statement.bind(Column.parents, change.parentLines)
            statement.bind(Column.seen, change.seen?.base)
            statement.bind(Column.seenView, change.seen?.view)
            try statement.run()
        }
    }

    /// Gives a modifier other changes and another request, which add `bytes` to its size.
    func replace(
        _ row: QueuedRow,
        _ new: NewModifier,
        _ bytes: Int64,
        _ step: Step
    ) throws(StoreError) {
        try state.queue[.forgetChanges].run((":number", row.number.value))
        try insertChanges(of: new, row.number.value, isSettled: row.isSettled)
        let statement = state.queue[.replace]
        typealias Column = ModifierColumn
        statement.bind(Column.number, row.number.value)
        statement.bind(Column.dependsOn, StoredModifier.text(new.dependsOn))
        statement.bind(Column.rev, step.revision.number)
        statement.bind(Column.client, new.client?.text)
        statement.bind(Column.digestHigh, .digestLow, new.digest)
        statement.bind(Column.size, row.size + bytes)
        bindRequest(of: new, to: statement)
        try statement.run()
        count(bytes: bytes, of: row)
    }

    private func bindRequest(of new: NewModifier, to statement: SQLiteStatement) {
        typealias Column = ModifierColumn
        statement.bind(Column.changes, new.changes.count)
        statement.bind(Column.method, new.request.method)
        statement.bind(Column.url, new.request.url.text)
        statement.bind(Column.mediaType, new.request.mediaType)
        statement.bind(Column.headers, new.request.headers.lines)
        statement.bind(Column.body, new.request.body)
    }

    func row(_ number: ModifierNumber) throws(StoreError) -> QueuedRow? {
        try state.queue(.get, (":number", number.value)).first { row in
            typealias Column = ModifierColumn
            var numbers = RowNumbers(row)
            return QueuedRow(
                number: number,
                scope: row.text(Column.scope) ?? "",
                id: row.text(Column.id) ?? "",
                origin: row.text(Column.origin) ?? "",
                state: row.text(Column.state).flatMap(ModifierState.init(rawValue:)),
                isSettled: !row.isNull(Column.settledAt),
                isStalled: row.isTrue(Column.stalled),
                size: numbers.size(Column.size),
                client: row.text(Column.client).flatMap(ClientTag.init(text:)),
                isAnswered: row.isTrue(Column.answered),
                hasAnswer: !row.isNull(Column.answerStatus),
                answerBytes: row.integer(Column.answerSize),
                joinedInto: row.text(Column.joinedInto),
                joinedBytes: row.isNull(Column.joinedBytes)
                    ? nil : Int64(numbers.byteCount(Column.joinedBytes))
            )
        }
    }

    /// Counts an attempt, and notes that bytes may leave.
    func send(_ row: QueuedRow, etag: String?) throws(StoreError) {
        try state.queue[.send].run((":number", row.number.value), (":etag", etag))
        count(from: row.state, to: .inFlight, of: row)
    }

    /// Why what a step has added to a user's queue does not fit.
    func refusal(of scope: ScopeKey, since before: QueueUsage) throws(StoreError) -> StoreError? {
        guard let uid = scope.scope.uid else { return nil }
        let bytes = state.memory.queue[uid].bytes - before[uid].bytes
        guard bytes > 0 else { return nil }
        var added = QueueUsage()
        added.add(bytes: bytes, of: uid)
        return before.refusal(adding: added, state.limits)
    }

    func update(
        _ change: ModifierUpdate,
        _ revision: Revision
    ) throws(StoreError) -> ModifierTransition? {
        guard let row = try row(change.number), !row.isSettled else { return nil }
        try state.queue[.update].run(
            (":number", change.number.value),
            (":state", change.state.rawValue),
            (":next_attempt_at", change.nextAttemptAt?.milliseconds),
            (":attempts", change.attempts),
            (":not_applied", change.answersNotApplied),
            (":stalled", change.isStalled),
            (":perhaps_applied", change.isPerhapsApplied),
            (":next", change.round != .same),
            (":decided", change.round == .decided)
        )
        if change.round == .decided {
            try state.seen.counting(row) { () throws(StoreError) in
                try state.queue[.decide].run((":modifier", change.number.value))
            }
        }
        try state.seen.note(change.theirs, row)
        if change.attempts == 0 || change.round != .same {
            // Nothing of this round can have been applied.
            try state.queue[.forgetSent].run((":number", change.number.value))
        }
        count(from: row.state, to: change.state, of: row)
        state.memory.totals.stalled += (change.isStalled ? 1 : 0) - (row.isStalled ? 1 : 0)
        if let answer = change.answer { try write(answer, row) }
        let transition = ModifierTransition(row, to: change)
        if transition?.isTold ?? true {
            try state.views.logModifier(row, change.state, revision) { told in
                told.mark = change.isStalled ? .stalled : nil
                told.problem = change.conflict
            }
        }
        return transition
    }

    func write(_ answer: StoredAnswer, _ before: QueuedRow) throws(StoreError) {
        let isUnclear = [500, 502, 504, 520, 522, 524].contains(answer.status)
        try state.queue[.answer].run(
            (":number", before.number.value),
            (":answer_status", answer.status),
            (":answer_headers", answer.headers.lines),
            (":answer_body", answer.body),
            (":answer_at", answer.at?.milliseconds),
            (":unclear_status", isUnclear ? answer.status : nil)
        )
        guard let after = try row(before.number) else { return }
        count(bytes: after.size - before.size, of: before)
    }

    func count(bytes: Int64, rows: Int64 = 0, of row: QueuedRow) {
        guard let uid = Scope(text: row.scope)?.uid else { return }
        state.memory.queue[uid].bytes += bytes
        state.memory.queue[uid].count += rows
    }

    /// Moves a modifier from the count of one state to that of another.
    ///
    /// A modifier without a readable state counts as failed, which it is about to be.
    func count(from old: ModifierState?, to new: ModifierState?, of row: QueuedRow) {
        state.memory.count(-1, in: old ?? .failed, of: row.scope)
        if let new { state.memory.count(1, in: new, of: row.scope) }
    }

    func moveToDeadLetters(
        _ row: QueuedRow,
        _ reason: ModifierReason,
        _ outcomes: [TargetOutcome],
        _ step: Step
    ) throws(StoreError) {
        var added = 0
        var rest = outcomes[...]
        for target in try state.targets.of(row.number) {
            var view = LostView()
            if !target.isEnded, case .lost(let lost)? = rest.popFirst() { view = lost }
            added += (view.before?.count ?? 0) + (view.after?.count ?? 0)
            try state.queue[.failChange].run(
                (":change", target.change),
                (":before", view.before),
                (":after", view.after)
            )
        }
        if reason == .unreadable {
            // The names of its targets are unreadable, so only SQL can compare them.
            try state.connection.execute(
                """
                UPDATE claim SET targeted = EXISTS (SELECT 1 FROM change INDEXED BY change_target
                    WHERE settled = 0 AND change.scope = claim.scope AND change.id = claim.id)
                WHERE claim IN (SELECT claim FROM change JOIN claim USING (scope, id)
                    WHERE modifier = \(row.number))
                """
            )
        }
        try state.queue[.moveToDeadLetters].run(
            (":number", row.number.value),
            (":reason", reason.rawValue),
            (":settled_at", step.now.milliseconds),
            (":rev", step.revision.number),
            (":added", added - Int(row.joinedBytes ?? 0))
        )
        count(from: row.state, to: .failed, of: row)
        count(bytes: Int64(added) - (row.joinedBytes ?? 0), of: row)
    }

    /// Forgets the settled modifiers of some scopes, their logged changes, and marks that hide rows
    /// from them.
    func forget(_ scopes: RowScopes) throws(StoreError) {
        let sql = """
            DELETE FROM history WHERE \(scopes.condition)
            RETURNING scope, \(HistoryColumn.answerSize) AS bytes
            """
        let history = try state.connection.statement(sql, of: scopes)
        while try history.step() {
            count(answer: -history.integer("bytes"), of: history.text("scope") ?? "")
        }
        try state.credentials.forget(scopes)
        try state.rows.removeMarks(of: scopes)
        try state.log.remove(scopes, &state.memory.log)
        try state.log.forgetViews(scopes, &state.memory.log)
    }

    func setPaused(_ scope: ScopeKey, _ lane: Lane, _ isPaused: Bool) throws(StoreError) {
        if isPaused, let uid = scope.scope.uid {
            let user = RowScopes.user(uid)
            let sql = "SELECT count(*) FROM paused_lane WHERE \(user.condition)"
            let count = try state.connection.statement(sql, of: user).first { $0.integer(.only) }
            guard count ?? 0 < Limits.pausedLanesMax else { throw .overloaded }
        }
        let statement = try state.connection.statement(
            isPaused
                ? "INSERT OR IGNORE INTO paused_lane (scope, lane) VALUES (:scope, :lane)"
                : "DELETE FROM paused_lane WHERE scope = :scope AND lane = :lane"
        )
        try statement.run((":scope", scope.text), (":lane", lane.stored))
    }

    /// Moves a modifier to the history, with `answer` or, if that is nil, with the answer in its row.
    ///
    /// `row` is as it is in the file now.
    func remember(
        _ row: QueuedRow,
        _ outcome: ModifierState,
        answer: StoredAnswer? = nil,
        _ step: Step
    ) throws(StoreError) {
        let headers = answer?.headers.lines
        try state.queue[.remember].run(
            (":number", row.number.value),
            (":outcome", outcome.rawValue),
            (":settled_at", step.now.milliseconds),
            (":rev", step.revision.number),
            (":answer_status", answer?.status),
            (":answer_at", answer?.at?.milliseconds),
            (":answer_headers", headers),
            (":answer_body", answer?.body)
        )
        let last = state.connection.lastInsertedRow - state.limits.history
        let kept = answer.map { Int64($0.body.count + (headers?.utf8.count ?? 0)) }
        count(answer: kept ?? row.answerBytes, of: row.scope)
        try forgetHistory(upTo: last)
        try state.queue[.delete].run((":number", row.number.value))
        count(from: row.state, to: nil, of: row)
        count(bytes: -row.size, rows: -1, of: row)
        try forgetOldAnswers(of: row.scope)
    }

    // MARK: Kept answers

    /// Counts the bytes of a settled modifier's answer, which has come or gone.
    private func count(answer bytes: Int64, of scope: String) {
        guard bytes != 0, let uid = Scope(text: scope)?.uid else { return }
        state.memory.queue[uid].bytes += bytes
        state.memory.queue[uid].answerBytes += bytes
    }

    private func forgetHistory(upTo last: Int64) throws(StoreError) {
        // A DELETE that returns rows makes a table for them, even if there are none.
        let outdated = try state.queue(.outdated, (":last", last)).all {
            (scope: $0.text("scope") ?? "", bytes: $0.integer("bytes"))
        }
        guard !outdated.isEmpty else { return }
        try state.queue[.forget].run((":last", last))
        for old in outdated { count(answer: -old.bytes, of: old.scope) }
    }

    /// Forgets answers above lowered limits: a full queue would not free their bytes otherwise.
    func forgetOldAnswers(for new: [NewModifier]) throws(StoreError) {
        guard state.memory.queue.total.answerBytes > 0 else { return }
        for scope in Set(new.map(\.scope.text)) { try forgetOldAnswers(of: scope) }
    }

    /// Forgets the oldest answers of all users, and of one user, above `queue.history_bytes`.
    private func forgetOldAnswers(of scope: String) throws(StoreError) {
        let (limits, users) = (state.limits, state.memory.queue.parts.count)
        while state.memory.queue.total.answerBytes > limits.answerBytesMax {
            guard try forgetOldestAnswer(after: "", before: ":") else { break }
        }
        guard let uid = Scope(text: scope)?.uid else { return }
        let part = limits.part(of: limits.answerBytesMax, users: users)
        while state.memory.queue[uid].answerBytes > part {
            guard try forgetOldestAnswer(after: "\(uid):", before: "\(uid);") else { break }
        }
    }

    private func forgetOldestAnswer(
        after first: String,
        before end: String
    ) throws(StoreError) -> Bool {
        let after = state.memory.forgottenAnswers[first] ?? 0
        let found = try state.queue(
            .oldestAnswer,
            (":after", after),
            (":first", first),
            (":end", end)
        ).first { ($0.integer("history"), $0.text("scope") ?? "", $0.integer("bytes")) }
        guard let (row, scope, bytes) = found else { return false }
        state.memory.forgottenAnswers[first] = row
        try state.queue[.forgetAnswer].run((":history", row))
        count(answer: -bytes, of: scope)
        return true
    }
}

package struct TargetName: Hashable, Sendable {
    package let scope: ScopeKey
    package let id: EntryID

    package init(_ scope: ScopeKey, _ id: EntryID) {
        self.scope = scope
        self.id = id
    }
}
