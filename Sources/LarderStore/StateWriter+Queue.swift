import LarderModel

/// The steps of modifiers that need no base: accept, send, what a row says between them, lanes.
extension StateWriter {
    /// Refusing is no error of the writer: whoever shares the transaction goes on.
    enum Verdict<Value: Sendable>: Sendable {
        case done(Value)
        case refused(StoreError)
    }

    /// Accepts one; `bases` has what was found in the cache of targets.
    func accept(
        _ modifier: NewModifier,
        _ bases: [TargetName: NewEntry],
        _ revision: Revision,
        now: Timestamp
    ) throws(StoreError) -> ModifierNumber {
        let number = try insert(modifier, revision, now)
        for change in modifier.changes {
            let name = TargetName(modifier.scope, change.id)
            try target(name, base: bases[name], isShared: change.isOfSharedRow, revision)
        }
        let names = modifier.changes.map { TargetName(modifier.scope, $0.id) }
        try logEntrance(of: number, names, revision)
        return number
    }

    /// Writes down that a modifier has come into the queue, and what its targets show by it.
    func logEntrance(
        of number: ModifierNumber,
        _ names: [TargetName],
        _ revision: Revision
    ) throws(StoreError) {
        guard let row = try find(number), let state = row.state else { return }
        try logChanges(of: names.unique, by: number, revision, ChangeCause(row))
        try logModifier(number, row, state, revision)
    }

    /// What a modifier's id stands for already; refused where that is another.
    func existing(_ new: NewModifier) throws(StoreError) -> Verdict<Acceptance?> {
        for (statement, isSettled) in [(queue.find, false), (queue.findSettled, true)] {
            statement.bind(1, new.scope.text)
            statement.bind(2, new.id.text)
            defer { statement.reset() }
            guard try statement.step() else { continue }
            guard statement.digest(2) == new.digest else { return .refused(.modifierExists) }
            return .done(
                .existing(
                    ModifierNumber(statement.integer(0)),
                    Revision(statement.integer(1)),
                    isSettled: isSettled || !statement.isNull(4)
                )
            )
        }
        return .done(nil)
    }

    /// Why these do not fit; their bases count with them.
    func refusal(
        of new: [NewModifier],
        _ bases: [TargetName: NewEntry]
    ) throws(StoreError) -> StoreError? {
        var added = QueueUsage()
        var seen: Set<TargetName> = []
        for modifier in new {
            guard let uid = modifier.scope.scope.uid else { continue }
            added[uid].count += 1
            added[uid].bytes += modifier.size
            for change in modifier.changes {
                let name = TargetName(modifier.scope, change.id)
                guard seen.insert(name).inserted else { continue }
                added[uid].bytes += try baseSize(name, bases[name])
            }
        }
        return state.queue.refusal(adding: added, limits)
    }

    /// What a target will count that counts nothing in the queue now.
    func baseSize(_ name: TargetName, _ base: NewEntry?) throws(StoreError) -> Int64 {
        let found = try find(name.scope, name.id)
        if let found, found.isPinned || found.isTargeted { return 0 }
        if let found, found.hasEntry { return found.size }
        return base.map { $0.entry.rowSize(in: name.scope, isChunked: $0.body.isUploaded) }
            ?? Self.sizeWithoutEntry(name.scope, name.id, nil)
    }

    private func insert(
        _ new: NewModifier,
        _ revision: Revision,
        _ now: Timestamp
    ) throws(StoreError) -> ModifierNumber {
        let statement = queue.insert
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
        let number = connection.lastInsertedRow
        for (position, change) in new.changes.enumerated() {
            queue.insertChange.bind(1, number)
            queue.insertChange.bind(2, Int64(position))
            queue.insertChange.bind(3, new.scope.text)
            queue.insertChange.bind(4, change.id.text)
            queue.insertChange.bind(5, change.effect)
            try queue.insertChange.run()
        }
        state.count(1, in: new.state, of: new.scope.text)
        if let uid = new.scope.scope.uid {
            state.queue[uid].count += 1
            state.queue[uid].bytes += new.size
        }
        return ModifierNumber(number)
    }

    /// Keeps a target's base from now on for one change more; `base` is what there is where the row
    /// has none.
    func target(
        _ name: TargetName,
        base: NewEntry?,
        isShared: Bool,
        _ revision: Revision
    ) throws(StoreError) {
        let (scope, id) = (name.scope, name.id)
        if try find(scope, id) == nil {
            try insert(BareRow(origin: base?.entry.origin, isShared: isShared), scope, id)
        }
        guard let row = try find(scope, id) else { throw .closed }
        // A pin without bytes may have been there first.
        if isShared, !row.isShared {
            try connection.execute("UPDATE claim SET shared = 1 WHERE claim = \(row.number)")
        }
        try setTargeted(true, row, scope, revision)
        state.changedRows.append(RowKey(scope, id))
        guard let base, let targeted = try find(scope, id) else { return }
        if row.hasEntry {
            // A row that it has brought itself was linked for the change before.
            if let upload = base.body.upload, row.body != upload.body { forget(upload) }
        } else {
            let size = base.entry.rowSize(in: scope, isChunked: base.body.isUploaded)
            var entry = base.entry
            entry.revision = max(entry.revision, revision)
            try write(entry, base.body, size: size, to: targeted, in: scope)
        }
    }

    /// Says whether unsettled changes target a row; what it shows is another thing from `revision` on,
    /// also where its base is the same.
    ///
    /// Its size in the file stays, so the page with these columns is all that is written of it.
    func setTargeted(
        _ isTargeted: Bool,
        _ row: FoundClaim,
        _ scope: ScopeKey,
        _ revision: Revision
    ) throws(StoreError) {
        queue.target.bind(1, row.number)
        queue.target.bind(2, isTargeted ? 1 : 0)
        queue.target.bind(3, revision.number)
        try queue.target.run()
        recount(
            scope,
            from: row,
            to: ClaimCharge(pin: row.pin, isTargeted: isTargeted, size: row.size)
        )
    }

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
    }

    func find(_ number: ModifierNumber) throws(StoreError) -> QueuedRow? {
        let statement = queue.get
        statement.bind(1, number.value)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        var numbers = RowNumbers(statement)
        return QueuedRow(
            scope: statement.text(0) ?? "",
            id: statement.text(1) ?? "",
            origin: statement.text(2) ?? "",
            state: statement.text(3).flatMap(ModifierState.init(rawValue:)),
            isSettled: !statement.isNull(8),
            isStalled: statement.integer(13) != 0,
            size: numbers.size(12),
            client: statement.text(14).flatMap(ClientTag.init(text:))
        )
    }

    /// Counts an attempt and says that bytes may leave; false for what is settled.
    func send(_ number: ModifierNumber) throws(StoreError) -> Bool {
        guard let row = try find(number), !row.isSettled else { return false }
        queue.send.bind(1, number.value)
        try queue.send.run()
        count(from: row.state, to: .inFlight, of: row)
        return true
    }

    /// What it was before; nil for what is settled.
    func update(
        _ change: ModifierUpdate,
        _ revision: Revision
    ) throws(StoreError) -> ModifierTransition? {
        guard let row = try find(change.number), !row.isSettled else { return nil }
        let statement = queue.update
        statement.bind(1, change.number.value)
        statement.bind(2, change.state.rawValue)
        statement.bind(3, change.nextAttemptAt?.milliseconds)
        statement.bind(4, Int64(change.attempts))
        statement.bind(5, Int64(change.answersNotApplied))
        statement.bind(6, change.isStalled ? 1 : 0)
        statement.bind(7, change.round.map(Int64.init))
        try statement.run()
        count(from: row.state, to: change.state, of: row)
        state.stalled += (change.isStalled ? 1 : 0) - (row.isStalled ? 1 : 0)
        if let answer = change.answer { try write(answer, change.number) }
        let transition = ModifierTransition(row, to: change)
        if transition?.isTold ?? true {
            try logModifier(change.number, row, change.state, revision) { told in
                told.mark = change.isStalled ? .stalled : nil
            }
        }
        return transition
    }

    /// Keeps the last answer, which counts.
    func write(_ answer: StoredAnswer, _ number: ModifierNumber) throws(StoreError) {
        guard let before = try find(number) else { return }
        queue.answer.bind(1, number.value)
        queue.answer.bind(2, Int64(answer.status))
        queue.answer.bind(3, answer.headers.lines)
        queue.answer.bind(4, answer.body)
        queue.answer.bind(5, answer.at?.milliseconds)
        try queue.answer.run()
        guard let after = try find(number) else { return }
        count(bytes: after.size - before.size, of: before)
    }

    func count(bytes: Int64, rows: Int64 = 0, of row: QueuedRow) {
        guard let uid = Scope(text: row.scope)?.uid else { return }
        state.queue[uid].bytes += bytes
        state.queue[uid].count += rows
    }

    /// What cannot be read counts as dead, which it is about to be.
    func count(from old: ModifierState?, to new: ModifierState?, of row: QueuedRow) {
        state.count(-1, in: old ?? .dead, of: row.scope)
        if let new { state.count(1, in: new, of: row.scope) }
    }

    // MARK: Lanes

    func setPaused(_ scope: ScopeKey, _ lane: Lane, _ isPaused: Bool) throws(StoreError) {
        let statement = try connection.statement(
            isPaused
                ? "INSERT OR IGNORE INTO paused_lane (scope, lane) VALUES (?1, ?2)"
                : "DELETE FROM paused_lane WHERE scope = ?1 AND lane = ?2"
        )
        statement.bind(1, scope.text)
        statement.bind(2, lane.text)
        try statement.run()
    }
}

/// One target: whose, and which.
struct TargetName: Hashable, Sendable {
    let scope: ScopeKey
    let id: EntryID

    init(_ scope: ScopeKey, _ id: EntryID) {
        self.scope = scope
        self.id = id
    }
}
