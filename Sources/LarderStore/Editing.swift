package import LarderModel

/// A modifier after an edit.
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
        let bytes = try state.modifiers.size(of: queued, as: new) - queued.size
        let growth = (uid: new.scope.scope.uid, bytes: bytes)
        if let error = try state.modifiers.refusal(of: [], aims, found, growth: growth) {
            try accepting.forget(found)
            return .refused(error)
        }
        let before = try state.memory.queue
        try joining.part(groupOf: number, edits: true)
        guard let row = try state.modifiers.row(number) else { return .done(nil) }
        let step = Step(revision: try revisions.next(), now: now)
        let views = try isDeadLetter ? [] : self.views(of: old.unique)
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
            for change in new.changes where !change.isImplied {
                try accepting.see(TargetName(new.scope, change.id), change.effect, number, look)
            }
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
        let rows = rows(in: (old + kept).unique.map { variants($0.id) })
        return .done(EditedModifier(modifier: edited, cause: cause, variants: rows))
    }

    /// Gives the rows of variants; if this read fails, only later reads show them.
    private func rows(in places: [VariantPlaces?]) -> [VariantRow] {
        (try? settling.variantRows(in: places)) ?? []
    }

    private func views(of names: [TargetName]) throws(StoreError) -> [ViewBefore] {
        var views: [ViewBefore] = []
        for name in names { views.append(try state.views.view(of: name)) }
        return views
    }

    private func changeDeadLetters(from old: [TargetName], to new: [TargetName]) {
        afterCommit { [index = shared.residency] in
            for name in new { index.addDeadLetters(name.scope, name.id, 1) }
            for name in old { index.addDeadLetters(name.scope, name.id, -1) }
        }
    }
}

extension WriterPart {
    var editing: Editing { Editing(writer: writer) }
}
