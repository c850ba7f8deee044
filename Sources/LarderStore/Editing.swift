package import LarderModel
import LarderNormalize

package struct EditedModifier: Sendable {
    package let modifier: StoredModifier
    package let cause: ChangeCause
    /// The rows that show its targets, those of before among them.
    package let variants: [VariantRow]
}

/// Gives a modifier of the queue, or a dead letter, other changes and another request.
struct Editing: WriterPart {
    let writer: StoreWriter

    /// Nil when the scope has no such modifier, or when it was settled or sent again meanwhile.
    func edit(
        _ number: ModifierNumber,
        to given: NewModifier,
        isDeadLetter: Bool,
        seeing look: SeenValues.Reader?,
        _ variants: (EntryID) -> VariantPlaces?,
        now: Timestamp
    ) throws(StoreError) -> CommandResult<EditedModifier?> {
        guard let queued = try state.modifiers.row(number), queued.scope == given.scope.text,
            queued.isSettled == isDeadLetter
        else { return .done(nil) }
        guard try state.temporaries.areAsFound([given], editing: number) else {
            return .refused(.otherIDs)
        }
        let dropped = try state.temporaries.dropped(by: given, number)
        for stored in dropped {
            let users = try state.temporaries.users(of: stored.name, given.scope)
            guard users.allSatisfy({ $0 == number }) else { return .refused(.idNamed) }
        }
        var new = given
        if !isDeadLetter { new.dependsOn += try state.temporaries.creators(of: given) }
        let old = try settling.targetNames(of: number, isOpen: false)
        // The rows of the targets that stay are there.
        let added = isDeadLetter ? [] : new.aims.filter { !old.contains($0.name) }
        let aims = try accepting.resolved(added, now)
        let found = try promotion.bases(of: aims, now: now)
        guard found.large.isEmpty else { return .needs(found.large) }
        try state.modifiers.forgetOldAnswers(for: [new])
        let bytes = new.size + queued.answerBytes - queued.size
        let growth = (uid: new.scope.scope.uid, bytes: bytes)
        if let error = try state.modifiers.refusal(of: [], aims, found, growth: growth) {
            try accepting.forget(found)
            return .refused(error)
        }
        let before = try state.memory.queue
        try joining.part(groupOf: number, edits: true)
        guard let row = try state.modifiers.row(number) else { return .done(nil) }
        let step = Step(revision: try revisions.next(), now: now)
        let views = try isDeadLetter ? [] : state.views.views(of: old)
        try state.modifiers.replace(row, new, bytes + queued.size - row.size, step)
        try renaming.replace(dropped, of: new, number, isDeadLetter: isDeadLetter, now)
        let (cause, kept) = (ChangeCause(new), new.changes.map { TargetName(new.scope, $0.id) })
        if isDeadLetter {
            changeDeadLetters(from: old, to: kept)
        } else {
            try state.targets.enter(number, aims, found.entries, step.revision, cause)
            let none = ModifierNumber(0)
            for view in views { try state.targets.release(view.name, from: none, step.revision) }
            // No modifier leaves, and the marks of its targets change.
            try state.views.logChanges(since: views, without: none, step.revision, cause)
            try accepting.cover(aims, found, now)
            let seen = new.changes.filter { !$0.isImplied }.map { ($0.id, $0.effect) }
            try accepting.see(seen, of: number, new.scope, look)
            if let error = try state.modifiers.refusal(of: new.scope, since: before) { throw error }
            var left = old
            for name in kept { left.firstIndex(of: name).map { _ = left.remove(at: $0) } }
            try settling.forgetTargets(left, step.revision)
        }
        for name in old + kept { try state.noteChange(of: name) }
        guard let edited = try state.reader.queue.modifier(number)?.modifier else {
            throw try state.connection.damaged("edit a modifier")
        }
        try state.views.logModifier(row, edited.state, step.revision) { told in
            (told.mark, told.reason, told.client) = (.edited, edited.reason, new.client)
        }
        let places = (old + kept).unique.map { variants($0.id) }
        // If this read fails, only later reads show them.
        let rows = (try? settling.variantRows(in: places)) ?? []
        return .done(EditedModifier(modifier: edited, cause: cause, variants: rows))
    }
}

extension WriterPart {
    fileprivate func changeDeadLetters(from old: [TargetName], to new: [TargetName] = []) {
        afterCommit { [index = shared.residency] in
            for name in new { index.addDeadLetters(name.scope, name.id, 1) }
            for name in old { index.addDeadLetters(name.scope, name.id, -1) }
        }
    }
}

struct DeadLetters: WriterPart {
    let writer: StoreWriter

    /// Puts a dead letter at the end of the queue; nil when there is none of this number.
    func retry(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        _ sharing: (EntryID) -> Bool,
        _ variants: (EntryID) -> VariantPlaces?,
        _ look: SeenValues.Reader?,
        now: Timestamp
    ) throws(StoreError) -> CommandResult<RequeuedModifier?> {
        guard let row = try row(number, of: scope) else { return .done(nil) }
        let used = try state.temporaries.used(by: number)
        guard used.allSatisfy({ [.waiting, .known].contains($0.state) }) else {
            return .refused(.missingID)
        }
        var aims: [WriteTarget] = []
        for target in try state.targets.of(number) {
            guard let name = target.name, name.scope == scope else { return .done(nil) }
            aims.append(WriteTarget(name: name, isShared: sharing(name.id)))
        }
        aims = try accepting.resolved(aims, now)
        let found = try promotion.bases(of: aims, now: now)
        guard found.large.isEmpty else { return .needs(found.large) }
        if let error = try state.modifiers.refusal(of: [], aims, found) {
            try accepting.forget(found)
            return .refused(error)
        }
        let before = try state.memory.queue
        let step = try revisions.next()
        let requeued = try requeue(row, aims, found.entries, step)
        try renaming.requeue(number, as: requeued, scope)
        try accepting.cover(aims, found, now)
        let changes = try state.reader.queue.modifier(requeued)?.changes ?? []
        let seen = changes.filter { !$0.isImplied }.map { ($0.id, $0.effect) }
        try accepting.see(seen, of: requeued, scope, look)
        if let error = try state.modifiers.refusal(of: scope, since: before) { throw error }
        changeDeadLetters(from: aims.map(\.name))
        let rows = (try? settling.variantRows(in: aims.map { variants($0.name.id) })) ?? []
        return .done(RequeuedModifier(number: requeued, cause: ChangeCause(row), variants: rows))
    }

    func drop(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        now: Timestamp
    ) throws(StoreError) -> Bool {
        guard let row = try row(number, of: scope) else { return false }
        let targets = try settling.targetNames(of: number, isOpen: false)
        let step = Step(revision: try revisions.next(), now: now)
        for name in targets { try state.noteChange(of: name) }
        try state.views.logModifier(row, .failed, step.revision) { $0.mark = .dropped }
        try state.modifiers.remember(row, .failed, step)
        changeDeadLetters(from: targets)
        return true
    }

    private func row(
        _ number: ModifierNumber,
        of scope: ScopeKey
    ) throws(StoreError) -> QueuedRow? {
        let row = try state.modifiers.row(number)
        return row?.isSettled == true && row?.scope == scope.text ? row : nil
    }

    /// Puts a dead letter at the end of the queue, for another round, under a new number.
    ///
    /// It waits for those that it depends on that are in the queue, and for no failed one. Dead
    /// letters that depend on it do so under its new number.
    private func requeue(
        _ row: QueuedRow,
        _ aims: [WriteTarget],
        _ bases: [TargetName: NewEntry],
        _ revision: Revision
    ) throws(StoreError) -> ModifierNumber {
        let (state, number) = (try state, row.number)
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
                coalesce(length(after), 0) + \(ChangeColumn.seenSize)), 0) FROM change WHERE modifier = \(number)),
                number = \(next), state = 'queued', reason = NULL, settled_at = NULL,
                attempts = 0, not_applied = 0, stalled = 0, next_attempt_at = NULL,
                hold_until = NULL, expires_at = NULL, round = round + 1, answered = 0,
                etag = NULL, conflicts = 0, denied = 0, joined_into = NULL,
                depends_on = '\(StoredModifier.text(parents))',
                answer_status = NULL, answer_at = NULL, unclear_status = NULL, rev = \(revision.number)
            WHERE number = \(number);
            UPDATE change SET settled = 0, before = NULL, after = NULL, sent = NULL, seen = NULL,
                seen_view = NULL, theirs = NULL WHERE modifier = \(next)
            """
        )
        var requeued = row
        requeued.number = ModifierNumber(next)
        state.modifiers.count(from: .failed, to: .queued, of: row)
        if let size = try state.modifiers.row(requeued.number)?.size {
            state.modifiers.count(bytes: size - row.size, of: row)
        }
        try state.targets.enter(requeued.number, aims, bases, revision, ChangeCause(row))
        try state.views.logModifier(requeued, .queued, revision)
        return requeued.number
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
        for name in try state.temporaries.used(by: number)
        where name.state == .waiting && !open.contains(name.creator) {
            open.append(name.creator)
        }
        return open
    }
}
