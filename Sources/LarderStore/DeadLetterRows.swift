import LarderModel
import LarderNormalize

struct DeadLetterRows {
    let state: StateWriter

    func bury(
        _ row: QueuedRow,
        _ reason: ModifierReason,
        _ fates: [TargetFate],
        _ step: Step
    ) throws(StoreError) {
        var added = 0
        var rest = fates[...]
        for target in try state.targets.of(row.number) {
            var view = LostView()
            if !target.isEnded, case .lost(let lost)? = rest.popFirst() { view = lost }
            added += (view.before?.count ?? 0) + (view.after?.count ?? 0)
            try state.queue[.buryChange].run(
                (":change", target.change),
                (":before", view.before),
                (":after", view.after)
            )
        }
        if reason == .unreadable {
            // Nobody can read the names of its targets.
            try state.connection.execute(
                """
                UPDATE claim SET targeted = EXISTS (SELECT 1 FROM change INDEXED BY change_target
                    WHERE settled = 0 AND change.scope = claim.scope AND change.id = claim.id)
                WHERE claim IN (SELECT claim FROM change JOIN claim USING (scope, id)
                    WHERE modifier = \(row.number))
                """
            )
        }
        try state.queue[.bury].run(
            (":number", row.number.value),
            (":reason", reason.rawValue),
            (":settled_at", step.now.milliseconds),
            (":rev", step.revision.number),
            (":added", added)
        )
        state.modifiers.count(from: row.state, to: .dead, of: row)
        state.modifiers.count(bytes: Int64(added), of: row)
    }

    func row(_ number: ModifierNumber, of scope: ScopeKey) throws(StoreError) -> QueuedRow? {
        guard let row = try state.modifiers.row(number), row.isSettled, row.scope == scope.text
        else { return nil }
        return row
    }

    /// Drops a dead letter; false when there is none of this number in the scope.
    func drop(_ number: ModifierNumber, of scope: ScopeKey, _ step: Step) throws(StoreError) -> Bool
    {
        guard let row = try row(number, of: scope) else { return false }
        for case let name? in try state.targets.of(number).map(\.name) {
            state.noteChange(of: name)
        }
        try state.views.logModifier(row, .dead, step.revision) { $0.mark = .dropped }
        try state.modifiers.remember(number, .dead, step)
        return true
    }

    /// Puts a dead letter at the end of the queue, for another round. It waits for those that it
    /// depends on that are in the queue, and for no failed one. Dead letters that depend on it do
    /// so under its new number.
    func revive(
        _ row: QueuedRow,
        _ aims: [WriteTarget],
        _ bases: [TargetName: NewEntry],
        _ revision: Revision
    ) throws(StoreError) -> ModifierNumber {
        let number = row.number
        let next = try state.connection.integer(
            "SELECT seq + 1 FROM sqlite_sequence WHERE name = 'modifier'"
        )
        guard let next, next > number.value, Limits.rowNumbers.contains(next) else {
            throw state.connection.damaged("number a modifier")
        }
        let parents = try openDependencies(of: number)
        try state.connection.execute(
            """
            UPDATE sqlite_sequence SET seq = \(next) WHERE name = 'modifier';
            UPDATE modifier SET depends_on =
                trim(replace(' ' || depends_on || ' ', ' \(number) ', ' \(next) '))
            WHERE settled_at IS NOT NULL AND scope =
                (SELECT scope FROM modifier WHERE number = \(number))
                AND ' ' || depends_on || ' ' LIKE '% \(number) %';
            UPDATE modifier SET size = size - (SELECT coalesce(sum(coalesce(length(before), 0) +
                coalesce(length(after), 0)), 0) FROM change WHERE modifier = \(number)),
                number = \(next), state = 'queued', reason = NULL, settled_at = NULL,
                attempts = 0, not_applied = 0, stalled = 0, next_attempt_at = NULL,
                hold_until = NULL, expires_at = NULL, round = round + 1, answered = 0,
                depends_on = '\(StoredModifier.text(parents))',
                answer_status = NULL, answer_at = NULL, unclear_status = NULL, rev = \(revision.number)
            WHERE number = \(number);
            UPDATE change SET settled = 0, before = NULL, after = NULL WHERE modifier = \(next)
            """
        )
        var revived = row
        revived.number = ModifierNumber(next)
        state.modifiers.count(from: .dead, to: .queued, of: row)
        if let size = try state.modifiers.row(revived.number)?.size {
            state.modifiers.count(bytes: size - row.size, of: row)
        }
        try state.targets.enter(revived.number, aims, bases, revision, ChangeCause(row))
        try state.views.logModifier(revived, .queued, revision)
        return revived.number
    }

    private func openDependencies(of number: ModifierNumber) throws(StoreError) -> [ModifierNumber]
    {
        let text = try state.connection.text(
            "SELECT depends_on FROM modifier WHERE number = \(number)"
        )
        var open: [ModifierNumber] = []
        for parent in StoredModifier.numbers(text ?? "") {
            if let row = try state.modifiers.row(parent), !row.isSettled { open.append(parent) }
        }
        return open
    }
}
