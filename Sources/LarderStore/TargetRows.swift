import LarderModel
import LarderNormalize

/// The result of a settled modifier for one of its targets.
enum TargetOutcome {
    case keep
    case put(Entry, NewBody)
    /// An answer with the entities in it, to be kept normalized.
    case answer(Entry, NewEntities)
    case tombstone(Entry)
    case markStale
    case lost(LostView)

    var isTombstone: Bool {
        switch self {
        case .tombstone: true
        case .put(let entry, _): entry.kind == .tombstone
        case .keep, .answer, .markStale, .lost: false
        }
    }
}

/// A step in `state.db`: its revision, and the moment at which it is made.
struct Step {
    let revision: Revision
    let now: Timestamp
}

struct TargetChange {
    let change: Int64
    let number: ModifierNumber
    /// Nil for a target that cannot be read.
    let name: TargetName?
    var isEnded = false
    var isImplied = false
    /// The ``SentBases/mark`` of base at the first send of the round; nil if the effect needs none.
    var sent: [UInt8]?
}

struct TargetRows {
    let state: StateWriter

    /// Makes rows of the aims of a queued modifier targets, and logs the views that change by it.
    ///
    /// `opened` has the modifier's change of each aim, if the caller has them.
    func enter(
        _ number: ModifierNumber,
        _ aims: [WriteTarget],
        opened: [OpenChange]? = nil,
        _ bases: [TargetName: NewEntry],
        _ revision: Revision,
        _ cause: ChangeCause
    ) throws(StoreError) {
        var made: [TargetName: Target] = [:]
        for (place, aim) in aims.enumerated() {
            let base = bases[aim.base(in: state.shared)]
            if aim.isShared { try state.keepers.promote(aim.name.id, base) }
            let name = aim.name
            let isRepeated = aims[..<place].contains { $0.name == name }
            // A row that another target refers to is there before the index covers its id.
            let mayHaveRow =
                isRepeated || !state.memory.unfilled.isEmpty
                || state.index.covers(name.scope, name.id)
            let isNew = try target(aim, mayHaveRow: mayHaveRow, base: base, revision)
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

    /// Keeps a target's base for one more change; true if the target had no row.
    ///
    /// `base` is used if the row has none. A shared base is in the shared row.
    private func target(
        _ aim: WriteTarget,
        mayHaveRow: Bool,
        base: NewEntry?,
        _ revision: Revision
    ) throws(StoreError) -> Bool {
        let found = mayHaveRow ? try state.rows.find(aim.name) : nil
        if let found {
            // A pin without bytes may have been there first.
            if aim.isShared, !found.keepsShared { try state.keepers.setKeeper(found, true) }
            try setTargeted(true, found, revision)
        } else {
            let isKeeper = aim.isShared
            try state.rows.insert(aim.name, nil, isTargeted: true, keepsShared: isKeeper)
        }
        state.noteChange(of: aim.name)
        if !aim.isShared, var base, let row = try state.rows.find(aim.name) {
            base.entry.revision = max(base.entry.revision, revision)
            try state.rows.take(base, in: row)
        }
        return found == nil
    }

    /// Stores whether unsettled changes target a row, and the revision at which its view has
    /// changed.
    ///
    /// The view changes even if the base is the same. The row's size in the file stays, so only the
    /// page with these columns is written.
    func setTargeted(
        _ isTargeted: Bool,
        _ row: DurableRow,
        _ revision: Revision
    ) throws(StoreError) {
        try state.queue[.target].run(
            (":key", row.number),
            (":targeted", isTargeted),
            (":rev", revision.number)
        )
    }

    func of(_ number: ModifierNumber) throws(StoreError) -> [TargetChange] {
        try state.queue(.changes, (":modifier", number.value)).all { row in
            let scope = row.scope(ChangeColumn.scope).map(state.shared.key(for:))
            let id = row.entryID(ChangeColumn.id)
            return TargetChange(
                change: row.integer(ChangeColumn.change),
                number: number,
                name: scope.flatMap { scope in id.map { TargetName(scope, $0) } },
                isEnded: row.integer(ChangeColumn.settled) == 2,
                isImplied: row.isTrue(ChangeColumn.implied),
                sent: row.bytesOrNil(ChangeColumn.sent)
            )
        }
    }

    /// Settles an unsettled modifier; `targets` has the result of each change's target, and `views`
    /// what these were before.
    ///
    /// With `waits`, the server has confirmed it. It stays until an answer has come for each shared
    /// row that it changes; `targets` are the others.
    func settle(
        _ settlement: Settlement,
        _ row: QueuedRow,
        _ changes: [TargetChange],
        _ targets: [(name: TargetName, result: TargetOutcome)],
        _ views: [ViewBefore],
        waits: Bool,
        _ step: Step
    ) throws(StoreError) {
        let (number, outcome, revision) = (row.number, settlement.outcome, step.revision)
        if row.isStalled { state.memory.totals.stalled -= 1 }
        let reason: ModifierReason? =
            if case .failed(let reason, _) = outcome { reason } else { nil }
        if waits || reason != nil {
            if let answer = settlement.answer { try state.modifiers.write(answer, row) }
            try state.seen.note(settlement.theirs, row)
        }
        var (known, rows): ([TargetName: Target], [TargetName: DurableRow]) = ([:], [:])
        for target in targets {
            let isOnlyOne = targets.count == 1
            let before = isOnlyOne ? views[0].target : nil
            let written = try change(target.name, target.result, step)
            rows[target.name] = written
            if written != nil, !waits { known[target.name] = before?.after(target.result) }
        }
        if waits {
            let names = targets.map(\.name)
            for target in changes {
                guard let name = target.name, names.contains(name) else { continue }
                try state.queue[.endChange].run((":change", target.change))
            }
        }
        for view in views { try release(view.name, rows[view.name], from: number, revision) }
        let leaving = waits ? nil : number
        try state.views.logChanges(
            since: views,
            known: known,
            without: leaving,
            revision,
            ChangeCause(row)
        )
        guard !waits else {
            try state.queue[.answered].run((":number", number.value))
            state.modifiers.count(from: row.state, to: .accepted, of: row)
            return try state.views.logModifier(row, of: changes, .accepted, revision) { told in
                told.mark = .answered
                told.answer = settlement.toldAnswer
            }
        }
        try state.views.logModifier(row, of: changes, outcome.state, revision) { told in
            told.reason = reason
            told.problem = settlement.problem
            told.answer = settlement.toldAnswer
        }
        if let reason {
            try state.modifiers.moveToDeadLetters(row, reason, targets.map(\.result), step)
        } else {
            try state.modifiers.remember(row, outcome.state, answer: settlement.answer, step)
        }
    }

    /// Returns the row as it was; nil where the target has none.
    private func change(
        _ name: TargetName,
        _ result: TargetOutcome,
        _ step: Step
    ) throws(StoreError) -> DurableRow? {
        guard let row = try state.rows.find(name) else { return nil }
        let new: NewEntry
        switch result {
        case .keep, .lost: return row
        case .put(var entry, let body):
            let isSame = row.skeleton == nil && row.matches(entry)
            entry.revision = isSame ? row.revision : step.revision
            new = NewEntry(scope: name.scope, entry: entry, body: body)
        case .answer(var entry, let entities):
            var merged: [MergedEntity] = []
            for (number, id) in entities.ids.enumerated() {
                let entity = TargetName(name.scope, id)
                let found = try state.rows.merge(entities, number, entity, step)
                if let found { merged.append(found) }
            }
            guard let form = entities.form(merged) else {
                try markStale(row)
                return row
            }
            entry.revision = step.revision
            var answer = NewEntry(scope: name.scope, entry: entry, body: .inline(form.template))
            answer.form = form.form
            new = answer
        case .tombstone(var entry):
            guard try !state.pins.writeTombstone(row, status: entry.status) else { return row }
            entry.revision = step.revision
            new = NewEntry(scope: name.scope, entry: entry, body: .inline([]))
        case .markStale:
            try forgetValidators(row)
            try markStale(row)
            return row
        }
        try state.rows.write(new, to: row)
        return row
    }

    /// Notes that a modifier targets a row no more; `known` is the row, if the caller has it.
    func release(
        _ name: TargetName,
        _ known: DurableRow? = nil,
        from number: ModifierNumber,
        _ revision: Revision
    ) throws(StoreError) {
        let found: DurableRow? = if let known { known } else { try state.rows.find(name) }
        guard let row = found else { return }
        state.noteChange(of: name)
        let isTargeted = try hasOthers(name, number)
        try setTargeted(isTargeted, row, revision)
        if !row.isPinned, !isTargeted { try state.rows.noteUnkept(name) }
    }

    /// Whether unsettled changes of others than one modifier target a row.
    func hasOthers(_ name: TargetName, _ number: ModifierNumber) throws(StoreError) -> Bool {
        let others = state.queue(.otherChange, of: name)
        others.bind(":modifier", number.value)
        return try others.first { _ in true } ?? false
    }

    func markStale(_ row: DurableRow) throws(StoreError) {
        try state.queue[.markStale].run((":key", row.number))
    }

    /// Says that the origin has something else by now.
    func forgetValidators(_ row: DurableRow) throws(StoreError) {
        try state.queue[.forgetValidators].run((":key", row.number))
        state.noteChange(of: row.name)
    }

    /// Raises a row's revision, because its users see its view change back.
    func raise(_ name: TargetName, to revision: Revision) throws(StoreError) {
        try state.statements(.raise, of: name).run((":rev", revision.number))
        state.noteChange(of: name)
    }

    /// The changes of a target that the next answer for its row ends.
    func answeredChanges(of name: TargetName) throws(StoreError) -> [TargetChange] {
        guard (state.memory.totals.byState[.accepted] ?? 0) > 0 else { return [] }
        return try state.queue(.answeredChanges, of: name).all { row in
            TargetChange(
                change: row.integer(ChangeColumn.change),
                number: ModifierNumber(row.integer(ChangeColumn.modifier)),
                name: name
            )
        }
    }

    /// Ends changes of a target; the modifiers that have left the queue by it, and their entities
    /// that only effects name.
    func end(
        _ changes: [TargetChange],
        of name: TargetName,
        at step: Step
    ) throws(StoreError) -> (left: [ModifierNumber], implied: [TargetName]) {
        for change in changes { try state.queue[.endChange].run((":change", change.change)) }
        try release(name, from: ModifierNumber(0), step.revision)
        var (left, implied): ([ModifierNumber], [TargetName]) = ([], [])
        for number in changes.map(\.number) where !left.contains(number) {
            let open = try of(number).filter { !$0.isEnded }
            // The last answer for a document ends the changes of the entities in its effects.
            guard open.allSatisfy(\.isImplied), let row = try state.modifiers.row(number) else {
                continue
            }
            let names = open.compactMap(\.name)
            let views = try state.views.views(of: names)
            for change in open { try state.queue[.endChange].run((":change", change.change)) }
            for name in names { try release(name, from: ModifierNumber(0), step.revision) }
            try state.views.logChanges(since: views, step.revision, ChangeCause(.network))
            implied += names
            try state.views.logModifier(row, .confirmed, step.revision)
            try state.modifiers.remember(row, .confirmed, step)
            left.append(number)
        }
        return (left, implied)
    }
}
