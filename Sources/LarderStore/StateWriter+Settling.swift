import LarderModel

/// The steps by which modifiers leave the queue, and come back into it.
extension StateWriter {
    /// A settlement with everything that it takes worked out.
    struct ReadySettlement {
        let number: ModifierNumber
        /// `confirmed`, `dead` or `cancelled`.
        let outcome: ModifierState
        var reason: ModifierReason?
        var answer: StoredAnswer?
        /// What watchers are told of its death, as JSON.
        var problem: [UInt8] = []
        /// Its targets, one for each change, and what becomes of them.
        var targets: [(name: TargetName, fate: TargetFate)]
    }

    enum TargetFate {
        case keep
        case put(Entry, NewBody)
        case tombstone(Entry)
        case markStale
        case lost(LostView)
    }

    /// The targets of unsettled modifiers, one for each change, as their rows say.
    func targets(of number: ModifierNumber) throws(StoreError) -> [(scope: String, id: String)] {
        let statement = queue.changes
        statement.bind(1, number.value)
        defer { statement.reset() }
        var targets: [(String, String)] = []
        while try statement.step() {
            targets.append((statement.text(1) ?? "", statement.text(2) ?? ""))
        }
        return targets
    }

    /// Settles one under its revision, as it is worked out; false for what is settled.
    func settle(
        _ settlement: ReadySettlement,
        _ revision: Revision,
        now: Timestamp
    ) throws(StoreError) -> Bool {
        guard let row = try find(settlement.number), !row.isSettled else { return false }
        if row.isStalled { state.stalled -= 1 }
        if let answer = settlement.answer { try write(answer, settlement.number) }
        var views: [ViewBefore] = []
        for name in settlement.targets.map(\.name).unique { views.append(try view(of: name)) }
        for target in settlement.targets { try change(target.name, target.fate, revision) }
        for view in views { try release(view.name, from: settlement.number, revision) }
        try logChanges(since: views, without: settlement.number, revision, ChangeCause(row))
        try logModifier(settlement.number, row, settlement.outcome, revision) { told in
            told.reason = settlement.reason
            told.problem = settlement.problem
        }
        if settlement.outcome == .dead {
            try bury(settlement, row, revision, now)
        } else {
            try remember(settlement.number, settlement.outcome, revision, now)
            try delete(settlement.number)
        }
        return true
    }

    private func change(
        _ name: TargetName,
        _ fate: TargetFate,
        _ revision: Revision
    ) throws(StoreError) {
        let (scope, id) = (name.scope, name.id)
        guard let row = try find(scope, id) else { return }
        switch fate {
        case .keep, .lost:
            break
        case .put(var entry, let body):
            let isSame = row.matches(entry)
            entry.revision = isSame ? row.revision : revision
            let size = entry.rowSize(in: scope, isChunked: body.isUploaded)
            try write(entry, body, size: size, to: row, in: scope)
        case .tombstone(var entry):
            guard try !bury(scope, id, status: entry.status) else { break }
            entry.revision = revision
            let size = entry.rowSize(in: scope, isChunked: false)
            try write(entry, .inline([]), size: size, to: row, in: scope)
        case .markStale:
            try markStale(row)
        }
    }

    /// From now on a modifier's changes target a row no more.
    private func release(
        _ name: TargetName,
        from number: ModifierNumber,
        _ revision: Revision
    ) throws(StoreError) {
        guard let row = try find(name.scope, name.id) else { return }
        state.changedRows.append(RowKey(name.scope, name.id))
        queue.otherChange.bind(1, name.scope.text)
        queue.otherChange.bind(2, name.id.text)
        queue.otherChange.bind(3, number.value)
        defer { queue.otherChange.reset() }
        try setTargeted(try queue.otherChange.step(), row, name.scope, revision)
    }

    func markStale(_ row: FoundClaim) throws(StoreError) {
        queue.markStale.bind(1, row.number)
        try queue.markStale.run()
    }

    /// Makes a dead letter of a modifier.
    private func bury(
        _ settlement: ReadySettlement,
        _ row: QueuedRow,
        _ revision: Revision,
        _ now: Timestamp
    ) throws(StoreError) {
        var changes: [Int64] = []
        queue.changes.bind(1, settlement.number.value)
        while try queue.changes.step() { changes.append(queue.changes.integer(0)) }
        queue.changes.reset()
        var added = 0
        for (position, change) in changes.enumerated() {
            var view = LostView()
            if position < settlement.targets.count,
                case .lost(let lost) = settlement.targets[position].fate
            {
                view = lost
            }
            added += (view.before?.count ?? 0) + (view.after?.count ?? 0)
            queue.buryChange.bind(1, change)
            queue.buryChange.bind(2, view.before)
            queue.buryChange.bind(3, view.after)
            try queue.buryChange.run()
        }
        if settlement.reason == .unreadable { try countTargets(of: settlement.number) }
        let statement = queue.bury
        statement.bind(1, settlement.number.value)
        statement.bind(2, settlement.reason?.rawValue)
        statement.bind(3, now.milliseconds)
        statement.bind(4, revision.number)
        statement.bind(5, Int64(added))
        try statement.run()
        count(from: row.state, to: .dead, of: row)
        count(bytes: Int64(added), of: row)
    }

    /// Counts the changes of targets anew whose names nobody can read.
    private func countTargets(of number: ModifierNumber) throws(StoreError) {
        try connection.execute(
            """
            UPDATE claim SET targeted = EXISTS (SELECT 1 FROM change INDEXED BY change_target
                WHERE settled = 0 AND change.scope = claim.scope AND change.id = claim.id)
            WHERE claim IN (SELECT claim FROM change JOIN claim USING (scope, id)
                WHERE modifier = \(number))
            """
        )
    }

    private func remember(
        _ number: ModifierNumber,
        _ outcome: ModifierState,
        _ revision: Revision,
        _ now: Timestamp
    ) throws(StoreError) {
        queue.remember.bind(1, number.value)
        queue.remember.bind(2, outcome.rawValue)
        queue.remember.bind(3, now.milliseconds)
        queue.remember.bind(4, revision.number)
        try queue.remember.run()
        queue.forget.bind(1, connection.lastInsertedRow - limits.history)
        try queue.forget.run()
    }

    private func delete(_ number: ModifierNumber) throws(StoreError) {
        guard let row = try find(number) else { return }
        queue.delete.bind(1, number.value)
        try queue.delete.run()
        queue.deleteChanges.bind(1, number.value)
        try queue.deleteChanges.run()
        count(from: row.state, to: nil, of: row)
        count(bytes: -row.size, rows: -1, of: row)
    }

    // MARK: Dead letters

    /// Drops a dead letter; false when there is none of this number in the scope.
    func dropDeadLetter(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        _ revision: Revision,
        now: Timestamp
    ) throws(StoreError) -> Bool {
        guard let row = try find(number), row.isSettled, row.scope == scope.text else {
            return false
        }
        for target in try targets(of: number) {
            if let id = try? EntryID(stored: target.id) {
                state.changedRows.append(RowKey(scope, id))
            }
        }
        try logModifier(number, row, .dead, revision) { $0.mark = .dropped }
        try remember(number, .dead, revision, now)
        try delete(number)
        return true
    }

    /// Puts a dead letter at the end of the queue, for another round; nil when there is none.
    ///
    /// Its bases are kept again, from what was found of them. It waits for those that it depends on
    /// as far as they are in the queue, and for none that has failed: who retries it has decided.
    func revive(
        _ number: ModifierNumber,
        _ aims: [StoreWriter.Aim],
        _ bases: [TargetName: NewEntry],
        _ revision: Revision
    ) throws(StoreError) -> Verdict<ModifierNumber?> {
        guard let row = try find(number), row.isSettled, let uid = Scope(text: row.scope)?.uid
        else { return .done(nil) }
        var added = QueueUsage()
        for aim in aims { added[uid].bytes += try baseSize(aim.name, bases[aim.name]) }
        if let error = state.queue.refusal(adding: added, limits) { return .refused(error) }
        let next = try connection.integer(
            "SELECT seq + 1 FROM sqlite_sequence WHERE name = 'modifier'"
        )
        guard let next, next > number.value, Limits.rowNumbers.contains(next) else {
            throw connection.damaged("number a modifier")
        }
        try takeAlongDependants(of: number, to: ModifierNumber(next))
        let parents = try openDependencies(of: number)
        try connection.execute(
            """
            UPDATE sqlite_sequence SET seq = \(next) WHERE name = 'modifier';
            UPDATE modifier SET size = size - (SELECT coalesce(sum(coalesce(length(before), 0) +
                coalesce(length(after), 0)), 0) FROM change WHERE modifier = \(number)),
                number = \(next), state = 'queued', reason = NULL, settled_at = NULL,
                attempts = 0, not_applied = 0, stalled = 0, next_attempt_at = NULL,
                hold_until = NULL, expires_at = NULL, round = round + 1,
                depends_on = '\(StoredModifier.text(parents))',
                answer_status = NULL, answer_at = NULL, rev = \(revision.number)
            WHERE number = \(number);
            UPDATE change SET modifier = \(next), settled = 0, before = NULL, after = NULL
            WHERE modifier = \(number)
            """
        )
        for aim in aims {
            try target(aim.name, base: bases[aim.name], isShared: aim.isShared, revision)
        }
        let revived = ModifierNumber(next)
        count(from: .dead, to: .queued, of: row)
        if let size = try find(revived)?.size { count(bytes: size - row.size, of: row) }
        try logEntrance(of: revived, aims.map(\.name), revision)
        return .done(revived)
    }

    /// Those of what a modifier depends on that are not settled.
    private func openDependencies(
        of number: ModifierNumber
    ) throws(StoreError) -> [ModifierNumber] {
        let text = try connection.text("SELECT depends_on FROM modifier WHERE number = \(number)")
        var open: [ModifierNumber] = []
        for parent in StoredModifier.numbers(text ?? "") {
            if let row = try find(parent), !row.isSettled { open.append(parent) }
        }
        return open
    }

    /// Has the dead letters that depend on a modifier do so under its new number.
    private func takeAlongDependants(
        of number: ModifierNumber,
        to next: ModifierNumber
    ) throws(StoreError) {
        try connection.execute(
            """
            UPDATE modifier SET depends_on =
                trim(replace(' ' || depends_on || ' ', ' \(number) ', ' \(next) '))
            WHERE settled_at IS NOT NULL AND scope =
                (SELECT scope FROM modifier WHERE number = \(number))
                AND ' ' || depends_on || ' ' LIKE '% \(number) %'
            """
        )
    }
}
