import LarderModel
import LarderNormalize

/// The steps by which modifiers leave the queue, and come back into it.
extension StateWriter {
    enum TargetFate {
        case keep
        case put(Entry, NewBody)
        /// An answer with the entities in it, to be kept normalized.
        case answer(Entry, NewEntities)
        case tombstone(Entry)
        case markStale
        case lost(LostView)

        /// Whether its base stays what it is.
        var keepsBase: Bool {
            switch self {
            case .keep, .lost: true
            case .put, .answer, .tombstone, .markStale: false
            }
        }
    }

    /// The changes of a modifier with their targets, as their rows say; one that is ended waits for no
    /// answer any more.
    func targets(
        of number: ModifierNumber
    ) throws(StoreError) -> [(change: Int64, scope: String, id: String, isEnded: Bool)] {
        let statement = queue[.changes]
        statement.bind(1, number.value)
        defer { statement.reset() }
        return try statement.all { row in
            (row.integer(0), row.text(1) ?? "", row.text(2) ?? "", row.integer(3) == 2)
        }
    }

    /// Settles one that is unsettled under its revision; `targets` says of each change what becomes of
    /// its target.
    func settle(
        _ settlement: Settlement,
        _ row: QueuedRow,
        _ targets: [(name: TargetName, fate: TargetFate)],
        _ revision: Revision,
        now: Timestamp
    ) throws(StoreError) {
        if row.isStalled { state.stalled -= 1 }
        if let answer = settlement.answer { try write(answer, settlement.number) }
        var views: [ViewBefore] = []
        for name in targets.map(\.name).unique { views.append(try view(of: name)) }
        for target in targets { try change(target.name, target.fate, revision, now) }
        for view in views { try release(view.name, from: settlement.number, revision) }
        try logChanges(since: views, without: settlement.number, revision, ChangeCause(row))
        try logModifier(settlement.number, row, settlement.outcome.state, revision) { told in
            told.reason = settlement.outcome.reason
            told.problem = settlement.problem
        }
        if case .dead(let reason, _) = settlement.outcome {
            try bury(settlement.number, reason, targets.map(\.fate), row, revision, now)
        } else {
            try remember(settlement.number, settlement.outcome.state, revision, now)
            try delete(settlement.number)
        }
    }

    func change(
        _ name: TargetName,
        _ fate: TargetFate,
        _ revision: Revision,
        _ now: Timestamp
    ) throws(StoreError) {
        let (scope, id) = (name.scope, name.id)
        guard let row = try find(scope, id) else { return }
        switch fate {
        case .keep, .lost:
            break
        case .put(var entry, let body):
            let isSame = row.skeleton == nil && row.matches(entry)
            entry.revision = isSame ? row.revision : revision
            let size = entry.rowSize(in: scope, isChunked: body.isUploaded)
            try write(entry, body, size: size, to: row, in: scope)
        case .answer(var entry, let entities):
            var merged: [MergedEntity] = []
            for (number, id) in entities.ids.enumerated() {
                let entity = try merge(entities, number, id, in: scope, revision, now)
                if let entity { merged.append(entity) }
            }
            guard merged.count == entities.split.keys.count, let form = entities.form(merged) else {
                return try markStale(row)
            }
            entry.revision = revision
            var new = NewEntry(scope: scope, entry: entry, body: .inline(form.template))
            new.form = form.form
            let size = new.rowSize
            try write(entry, new.body, form: new.form, size: size, to: row, in: scope)
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
    func release(
        _ name: TargetName,
        from number: ModifierNumber,
        _ revision: Revision
    ) throws(StoreError) {
        guard let row = try find(name.scope, name.id) else { return }
        state.changedRows.append(RowKey(name.scope, name.id))
        queue[.otherChange].bindAll(name.scope.text, name.id.text, number.value)
        defer { queue[.otherChange].reset() }
        try setTargeted(try queue[.otherChange].step(), row, name.scope, revision)
        try noteReason(gone: name.scope, name.id)
    }

    func markStale(_ row: FoundClaim) throws(StoreError) {
        try queue[.markStale].run(row.number)
    }

    /// Makes a dead letter of a modifier.
    private func bury(
        _ number: ModifierNumber,
        _ reason: ModifierReason,
        _ fates: [TargetFate],
        _ row: QueuedRow,
        _ revision: Revision,
        _ now: Timestamp
    ) throws(StoreError) {
        var added = 0
        var rest = fates[...]
        for target in try targets(of: number) {
            var view = LostView()
            if !target.isEnded, case .lost(let lost)? = rest.popFirst() { view = lost }
            added += (view.before?.count ?? 0) + (view.after?.count ?? 0)
            try queue[.buryChange].run(target.change, view.before, view.after)
        }
        if reason == .unreadable { try countTargets(of: number) }
        let statement = queue[.bury]
        statement.bind(1, number.value)
        statement.bind(2, reason.rawValue)
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

    func remember(
        _ number: ModifierNumber,
        _ outcome: ModifierState,
        _ revision: Revision,
        _ now: Timestamp
    ) throws(StoreError) {
        try queue[.remember].run(number.value, outcome.rawValue, now.milliseconds, revision.number)
        try queue[.forget].run(connection.lastInsertedRow - limits.history)
    }

    func delete(_ number: ModifierNumber) throws(StoreError) {
        guard let row = try find(number) else { return }
        try queue[.delete].run(number.value)
        try queue[.deleteChanges].run(number.value)
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

    /// Puts a dead letter at the end of the queue, for another round.
    ///
    /// Its bases are kept again, from what was found of them. It waits for those that it depends on
    /// as far as they are in the queue, and for none that has failed: who retries it has decided.
    func revive(
        _ number: ModifierNumber,
        _ row: QueuedRow,
        _ aims: [StoreWriter.Aim],
        _ bases: [TargetName: NewEntry],
        _ revision: Revision
    ) throws(StoreError) -> ModifierNumber {
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
                hold_until = NULL, expires_at = NULL, round = round + 1, answered = 0,
                depends_on = '\(StoredModifier.text(parents))',
                answer_status = NULL, answer_at = NULL, unclear_status = NULL, rev = \(revision.number)
            WHERE number = \(number);
            UPDATE change SET modifier = \(next), settled = 0, before = NULL, after = NULL
            WHERE modifier = \(number)
            """
        )
        let revived = ModifierNumber(next)
        count(from: .dead, to: .queued, of: row)
        if let size = try find(revived)?.size { count(bytes: size - row.size, of: row) }
        try enter(revived, aims, bases, revision, ChangeCause(row))
        try logModifier(revived, row, .queued, revision)
        return revived
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
