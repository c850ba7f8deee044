import LarderModel
import LarderNormalize

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

// MARK: Writes that wait for an answer

/// A change of a modifier that the server has confirmed.
struct AnsweredChange {
    let change: Int64
    let number: ModifierNumber
}

/// What modifiers target, and what becomes of it.
struct TargetRows {
    let state: StateWriter

    /// Has what a modifier in the queue targets be a target, and writes down what shows by it.
    ///
    /// `opened` has its change of each aim, where they are at hand.
    func enter(
        _ number: ModifierNumber,
        _ aims: [Aim],
        opened: [OpenChange]? = nil,
        _ bases: [TargetName: NewEntry],
        _ revision: Revision,
        _ cause: ChangeCause
    ) throws(StoreError) {
        var made: [TargetName: Target] = [:]
        for (place, aim) in aims.enumerated() {
            let base = bases[aim.base(in: state.index)]
            if aim.isShared { try state.keepers.promote(aim.name.id, base) }
            let isNew = try target(aim, base: base, revision)
            // A shared row may have been here before.
            let isKnown = isNew && (base != nil || !aim.isShared)
            made[aim.name] = isKnown ? opened.flatMap { Target(base, $0[place]) } : nil
        }
        try state.views.logChanges(
            of: aims.map(\.name).unique,
            known: made,
            by: number,
            revision,
            cause
        )
    }

    /// Keeps a target's base from now on for one change more; true where it had no row.
    ///
    /// `base` is what there is where the row has none; a shared one stands in its own row.
    private func target(
        _ aim: Aim,
        base: NewEntry?,
        _ revision: Revision
    ) throws(StoreError) -> Bool {
        let (scope, id) = (aim.name.scope, aim.name.id)
        guard let row = try state.rows.find(scope, id) else {
            try state.rows.insert(scope, id, nil, isTargeted: true, keepsShared: aim.isShared)
            state.memory.changedRows.append(RowKey(scope, id))
            if !aim.isShared, let base, let made = try state.rows.find(scope, id) {
                try write(base, to: made, revision)
            }
            return true
        }
        // A pin without bytes may have been there first.
        if aim.isShared, !row.keepsShared {
            try state.statements[.keep].run((":key", row.number), (":shared", 1))
        }
        try setTargeted(true, row, scope, revision)
        state.memory.changedRows.append(RowKey(scope, id))
        guard !aim.isShared, let base, let targeted = try state.rows.find(scope, id) else {
            return false
        }
        if row.hasEntry {
            // A row that it has brought itself was linked for the change before.
            if let upload = base.body.upload, row.body != upload.body { state.forget(upload) }
        } else {
            try write(base, to: targeted, revision)
        }
        return false
    }

    func write(
        _ base: NewEntry,
        to row: DurableRow,
        _ revision: Revision
    ) throws(StoreError) {
        var entry = base.entry
        entry.revision = max(entry.revision, revision)
        try state.rows.write(
            entry,
            base.body,
            form: base.form,
            size: base.rowSize,
            to: row,
            in: base.scope
        )
    }

    /// Says whether unsettled changes target a row; what it shows is another thing from `revision` on,
    /// also where its base is the same.
    ///
    /// Its size in the file stays, so the page with these columns is all that is written of it.
    func setTargeted(
        _ isTargeted: Bool,
        _ row: DurableRow,
        _ scope: ScopeKey,
        _ revision: Revision
    ) throws(StoreError) {
        try state.queue[.target].run(
            (":key", row.number),
            (":targeted", isTargeted),
            (":rev", revision.number)
        )
    }

    /// The changes of a modifier with their targets, as their rows say; one that is ended waits for no
    /// answer any more.
    func of(
        _ number: ModifierNumber
    ) throws(StoreError) -> [(change: Int64, scope: String, id: String, isEnded: Bool)] {
        let statement = state.queue[.changes]
        statement.bind(":modifier", number.value)
        defer { statement.reset() }
        return try statement.all { row in
            (
                row.integer(ChangeColumn.change), row.text(ChangeColumn.scope) ?? "",
                row.text(ChangeColumn.id) ?? "", row.integer(ChangeColumn.settled) == 2
            )
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
        if row.isStalled { state.memory.stalled -= 1 }
        if let answer = settlement.answer { try state.modifiers.write(answer, settlement.number) }
        var views: [ViewBefore] = []
        for name in targets.map(\.name).unique { views.append(try state.views.view(of: name)) }
        for target in targets { try change(target.name, target.fate, revision, now) }
        for view in views { try release(view.name, from: settlement.number, revision) }
        try state.views.logChanges(
            since: views,
            without: settlement.number,
            revision,
            ChangeCause(row)
        )
        try state.views.logModifier(settlement.number, row, settlement.outcome.state, revision) {
            told in
            told.reason = settlement.outcome.reason
            told.problem = settlement.problem
        }
        if case .dead(let reason, _) = settlement.outcome {
            try state.deadLetters.bury(
                settlement.number,
                reason,
                targets.map(\.fate),
                row,
                revision,
                now
            )
        } else {
            try state.modifiers.remember(settlement.number, settlement.outcome.state, revision, now)
            try state.modifiers.delete(settlement.number)
        }
    }

    func change(
        _ name: TargetName,
        _ fate: TargetFate,
        _ revision: Revision,
        _ now: Timestamp
    ) throws(StoreError) {
        let (scope, id) = (name.scope, name.id)
        guard let row = try state.rows.find(scope, id) else { return }
        switch fate {
        case .keep, .lost:
            break
        case .put(var entry, let body):
            let isSame = row.skeleton == nil && row.matches(entry)
            entry.revision = isSame ? row.revision : revision
            let size = entry.rowSize(in: scope, isChunked: body.isUploaded)
            try state.rows.write(entry, body, size: size, to: row, in: scope)
        case .answer(var entry, let entities):
            var merged: [MergedEntity] = []
            for (number, id) in entities.ids.enumerated() {
                let entity = try state.rows.merge(entities, number, id, in: scope, revision, now)
                if let entity { merged.append(entity) }
            }
            guard merged.count == entities.split.keys.count, let form = entities.form(merged) else {
                return try markStale(row)
            }
            entry.revision = revision
            var new = NewEntry(scope: scope, entry: entry, body: .inline(form.template))
            new.form = form.form
            let size = new.rowSize
            try state.rows.write(entry, new.body, form: new.form, size: size, to: row, in: scope)
        case .tombstone(var entry):
            guard try !state.pins.bury(scope, id, status: entry.status) else { break }
            entry.revision = revision
            let size = entry.rowSize(in: scope, isChunked: false)
            try state.rows.write(entry, .inline([]), size: size, to: row, in: scope)
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
        guard let row = try state.rows.find(name.scope, name.id) else { return }
        state.memory.changedRows.append(RowKey(name.scope, name.id))
        state.queue[.otherChange].bind(
            (":scope", name.scope.text),
            (":id", name.id.text),
            (":modifier", number.value)
        )
        defer { state.queue[.otherChange].reset() }
        try setTargeted(try state.queue[.otherChange].step(), row, name.scope, revision)
        try state.rows.noteReason(gone: name.scope, name.id)
    }

    func markStale(_ row: DurableRow) throws(StoreError) {
        try state.queue[.markStale].run((":key", row.number))
    }

    /// A row's users see it change back to what it was: its revision goes on.
    func raise(_ name: TargetName, to revision: Revision) throws(StoreError) {
        try state.statements[.raise].run(
            (":scope", name.scope.text),
            (":id", name.id.text),
            (":rev", revision.number)
        )
        state.memory.changedRows.append(RowKey(name.scope, name.id))
    }

    /// The changes of a target that the next answer for its row ends.
    func answeredChanges(of name: TargetName) throws(StoreError) -> [AnsweredChange] {
        guard (state.memory.modifiers[.accepted] ?? 0) > 0 else { return [] }
        let statement = state.queue[.answeredChanges]
        statement.bind((":id", name.id.text), (":scope", name.scope.text))
        defer { statement.reset() }
        return try statement.all { row in
            AnsweredChange(
                change: row.integer(ChangeColumn.change),
                number: ModifierNumber(row.integer(ChangeColumn.modifier))
            )
        }
    }

    /// Ends changes of a target; the modifiers that have left the queue by it.
    func end(
        _ changes: [AnsweredChange],
        of name: TargetName,
        at step: Revision,
        now: Timestamp
    ) throws(StoreError) -> [ModifierNumber] {
        for change in changes { try state.queue[.endChange].run((":change", change.change)) }
        try release(name, from: ModifierNumber(0), step)
        var left: [ModifierNumber] = []
        for number in changes.map(\.number) where !left.contains(number) {
            guard try !of(number).contains(where: { !$0.isEnded }),
                let row = try state.modifiers.row(number)
            else { continue }
            try state.views.logModifier(number, row, .confirmed, step)
            try state.modifiers.remember(number, .confirmed, step, now)
            try state.modifiers.delete(number)
            left.append(number)
        }
        return left
    }

    /// Has a modifier wait that the server has confirmed, until an answer has come for each shared row
    /// that it changes; `targets` are the others.
    func answer(
        _ settlement: Settlement,
        _ row: QueuedRow,
        _ targets: [(name: TargetName, fate: TargetFate)],
        _ revision: Revision,
        now: Timestamp
    ) throws(StoreError) {
        let number = settlement.number
        if row.isStalled { state.memory.stalled -= 1 }
        if let answer = settlement.answer { try state.modifiers.write(answer, number) }
        var views: [ViewBefore] = []
        for name in targets.map(\.name).unique { views.append(try state.views.view(of: name)) }
        for target in targets { try change(target.name, target.fate, revision, now) }
        let names = Set(targets.map(\.name.id.text))
        for target in try of(number) where names.contains(target.id) {
            try state.queue[.endChange].run((":change", target.change))
        }
        for view in views { try release(view.name, from: number, revision) }
        try state.views.logChanges(since: views, revision, ChangeCause(row))
        try state.queue[.answered].run((":number", number.value))
        state.modifiers.count(from: row.state, to: .accepted, of: row)
        try state.views.logModifier(number, row, .accepted, revision) { $0.mark = .answered }
    }
}
