package import LarderModel
import LarderNormalize

// MARK: Steps

/// What is found of a modifier before it is changed.
struct QueuedRow {
    let scope: String
    let id: String
    let origin: String
    /// Nil for one that this version does not know.
    let state: ModifierState?
    let isSettled: Bool
    let isStalled: Bool
    let size: Int64
    /// Who has accepted it.
    let client: ClientTag?
    /// Whether the server has confirmed it.
    let isAnswered: Bool
}

/// Rows of modifiers: accepted, sent, updated, remembered.
struct ModifierRows {
    let state: StateWriter

    /// Accepts one; `bases` has what was found in the cache of targets.
    func accept(
        _ modifier: NewModifier,
        _ aims: [Aim],
        _ bases: [TargetName: NewEntry],
        _ revision: Revision,
        now: Timestamp
    ) throws(StoreError) -> ModifierNumber {
        let number = try insert(modifier, revision, now)
        let opened = modifier.changes.map { new in
            OpenChange(
                number: number,
                modifier: modifier.id.text,
                state: modifier.state,
                revision: revision,
                acceptedAt: now,
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

    /// What a modifier's id stands for already, and the digest of what was submitted as that.
    func existing(
        _ new: NewModifier
    ) throws(StoreError) -> (digest: Digest, acceptance: Acceptance)? {
        guard !new.isIDMade else { return nil }
        for statement in [state.queue[.find], state.queue[.findSettled]] {
            statement.bindAll(new.scope.text, new.id.text)
            defer { statement.reset() }
            guard try statement.step() else { continue }
            let acceptance = Acceptance.existing(
                ModifierNumber(statement.integer("number")),
                Revision(statement.integer("rev")),
                isSettled: !statement.isNull("settled_at")
            )
            return (statement.digest("digest_high", "digest_low"), acceptance)
        }
        return nil
    }

    /// Why these do not fit; the bases of what they target count with them.
    ///
    /// Refusing is no error of the writer: whoever shares the transaction goes on.
    func refusal(
        of new: [NewModifier],
        _ aims: [Aim],
        _ found: FoundBases
    ) -> StoreError? {
        var added = QueueUsage()
        for modifier in new {
            guard let uid = modifier.scope.scope.uid else { continue }
            added[uid].count += 1
            added[uid].bytes += modifier.size
        }
        for name in aims.map(\.name).unique {
            guard let uid = name.scope.scope.uid else { continue }
            added[uid].bytes += Self.baseSize(name, found.claims[name], found.entries[name])
        }
        var counted: Set<TargetName> = []
        for aim in aims where aim.isShared {
            let base = aim.base(in: state.index)
            guard let uid = aim.name.scope.scope.uid, counted.insert(base).inserted else {
                continue
            }
            added[uid].bytes += Self.baseSize(base, found.claims[base], found.entries[base])
        }
        return state.memory.queue.refusal(adding: added, state.limits)
    }

    /// What a target will count that counts nothing in the queue now.
    private static func baseSize(
        _ name: TargetName,
        _ found: DurableRow?,
        _ base: NewEntry?
    ) -> Int64 {
        if found != nil { return 0 }
        return base?.rowSize ?? StateBudget.sizeWithoutEntry(name.scope, name.id, nil)
    }

    private func insert(
        _ new: NewModifier,
        _ revision: Revision,
        _ now: Timestamp
    ) throws(StoreError) -> ModifierNumber {
        let statement = state.queue[.insert]
        statement.bind(1, new.scope.text)
        statement.bind(2, new.id.text)
        statement.bind(3, new.origin.text)
        statement.bind(4, new.state.rawValue)
        statement.bind(5, new.lane?.text)
        statement.bind(6, StoredModifier.text(new.dependsOn))
        statement.bind(7, new.holdUntil?.milliseconds)
        statement.bind(8, new.expiresAt?.milliseconds)
        statement.bind(9, new.attemptsMax.map(Int64.init))
        statement.bind(10, new.afterUnknown?.rawValue)
        statement.bind(11, new.key)
        statement.bind(12, now.milliseconds)
        statement.bind(13, revision.number)
        statement.bind(14, new.client?.text)
        statement.bind(15, new.digest)
        statement.bind(17, new.size)
        statement.bind(18, Int64(new.changes.count))
        statement.bind(19, new.request.method)
        statement.bind(20, new.request.url.text)
        statement.bind(21, new.request.mediaType)
        statement.bind(22, new.request.headers.lines)
        statement.bind(23, new.request.body)
        try statement.run()
        let number = state.connection.lastInsertedRow
        for (position, change) in new.changes.enumerated() {
            state.queue[.insertChange].bind(1, number)
            state.queue[.insertChange].bind(2, Int64(position))
            state.queue[.insertChange].bind(3, new.scope.text)
            state.queue[.insertChange].bind(4, change.id.text)
            state.queue[.insertChange].bind(5, change.effect)
            try state.queue[.insertChange].run()
        }
        state.memory.count(1, in: new.state, of: new.scope.text)
        if let uid = new.scope.scope.uid {
            state.memory.queue[uid].count += 1
            state.memory.queue[uid].bytes += new.size
        }
        return ModifierNumber(number)
    }

    func row(_ number: ModifierNumber) throws(StoreError) -> QueuedRow? {
        let statement = state.queue[.get]
        statement.bind(1, number.value)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        var numbers = RowNumbers(statement)
        return QueuedRow(
            scope: statement.text(ModifierColumn.scope) ?? "",
            id: statement.text(ModifierColumn.id) ?? "",
            origin: statement.text(ModifierColumn.origin) ?? "",
            state: statement.text(ModifierColumn.state).flatMap(ModifierState.init(rawValue:)),
            isSettled: !statement.isNull(ModifierColumn.settledAt),
            isStalled: statement.isTrue(ModifierColumn.stalled),
            size: numbers.size(ModifierColumn.size),
            client: statement.text(ModifierColumn.client).flatMap(ClientTag.init(text:)),
            isAnswered: statement.isTrue(ModifierColumn.answered)
        )
    }

    /// Counts an attempt and says that bytes may leave; false for what is settled.
    func send(_ number: ModifierNumber) throws(StoreError) -> Bool {
        guard let row = try row(number), !row.isSettled else { return false }
        try state.queue[.send].run(number.value)
        count(from: row.state, to: .inFlight, of: row)
        return true
    }

    /// What it was before; nil for what is settled.
    func update(
        _ change: ModifierUpdate,
        _ revision: Revision
    ) throws(StoreError) -> ModifierTransition? {
        guard let row = try row(change.number), !row.isSettled else { return nil }
        let statement = state.queue[.update]
        statement.bind(1, change.number.value)
        statement.bind(2, change.state.rawValue)
        statement.bind(3, change.nextAttemptAt?.milliseconds)
        statement.bind(4, Int64(change.attempts))
        statement.bind(5, Int64(change.answersNotApplied))
        statement.bind(6, change.isStalled ? 1 : 0)
        statement.bind(7, change.round.map(Int64.init))
        try statement.run()
        count(from: row.state, to: change.state, of: row)
        state.memory.stalled += (change.isStalled ? 1 : 0) - (row.isStalled ? 1 : 0)
        if let answer = change.answer { try write(answer, change.number) }
        let transition = ModifierTransition(row, to: change)
        if transition?.isTold ?? true {
            try state.views.logModifier(change.number, row, change.state, revision) { told in
                told.mark = change.isStalled ? .stalled : nil
            }
        }
        return transition
    }

    /// Keeps the last answer, which counts.
    func write(_ answer: StoredAnswer, _ number: ModifierNumber) throws(StoreError) {
        guard let before = try row(number) else { return }
        state.queue[.answer].bind(1, number.value)
        state.queue[.answer].bind(2, Int64(answer.status))
        state.queue[.answer].bind(3, answer.headers.lines)
        state.queue[.answer].bind(4, answer.body)
        state.queue[.answer].bind(5, answer.at?.milliseconds)
        try state.queue[.answer].run()
        guard let after = try row(number) else { return }
        count(bytes: after.size - before.size, of: before)
    }

    func count(bytes: Int64, rows: Int64 = 0, of row: QueuedRow) {
        guard let uid = Scope(text: row.scope)?.uid else { return }
        state.memory.queue[uid].bytes += bytes
        state.memory.queue[uid].count += rows
    }

    /// What cannot be read counts as dead, which it is about to be.
    func count(from old: ModifierState?, to new: ModifierState?, of row: QueuedRow) {
        state.memory.count(-1, in: old ?? .dead, of: row.scope)
        if let new { state.memory.count(1, in: new, of: row.scope) }
    }

    /// Forgets what was settled of some scopes, and the changes that were logged of them.
    func forget(_ scopes: RowScopes) throws(StoreError) {
        let history = try state.connection.prepare(
            "DELETE FROM history WHERE \(scopes.condition)"
        )
        scopes.bind(to: history)
        try history.run()
        try state.log.remove(scopes, in: state.connection, &state.memory.log)
        try state.log.forgetViews(scopes, in: state.connection, &state.memory.log)
    }

    // MARK: Lanes

    func setPaused(_ scope: ScopeKey, _ lane: Lane, _ isPaused: Bool) throws(StoreError) {
        let statement = try state.connection.statement(
            isPaused
                ? "INSERT OR IGNORE INTO paused_lane (scope, lane) VALUES (?1, ?2)"
                : "DELETE FROM paused_lane WHERE scope = ?1 AND lane = ?2"
        )
        try statement.run(scope.text, lane.text)
    }

    func remember(
        _ number: ModifierNumber,
        _ outcome: ModifierState,
        _ revision: Revision,
        _ now: Timestamp
    ) throws(StoreError) {
        try state.queue[.remember].run(
            number.value,
            outcome.rawValue,
            now.milliseconds,
            revision.number
        )
        try state.queue[.forget].run(state.connection.lastInsertedRow - state.limits.history)
    }

    func delete(_ number: ModifierNumber) throws(StoreError) {
        guard let row = try row(number) else { return }
        try state.queue[.delete].run(number.value)
        count(from: row.state, to: nil, of: row)
        count(bytes: -row.size, rows: -1, of: row)
    }
}

/// One target: whose, and which.
package struct TargetName: Hashable, Sendable {
    package let scope: ScopeKey
    package let id: EntryID

    package init(_ scope: ScopeKey, _ id: EntryID) {
        self.scope = scope
        self.id = id
    }
}
