import LarderModel
import LarderNormalize

/// Drops dead letters, or puts them back into the queue.
struct DeadLetters: WriterPart {
    let writer: StoreWriter

    /// Puts a dead letter at the end of the queue; nil when there is none of this number.
    func retry(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        _ sharing: (EntryID) -> Bool,
        _ variants: (EntryID) -> VariantPlaces?,
        now: Timestamp
    ) throws(StoreError) -> CommandResult<RevivedModifier?> {
        guard let row = try state.deadLetters.row(number, of: scope) else { return .done(nil) }
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
        let step = try revisions.next()
        let revived = try state.deadLetters.revive(row, aims, found.entries, step)
        try accepting.cover(aims, found, now)
        forgetDead(aims.map(\.name))
        let rows = (try? settling.variantRows(in: aims.map { variants($0.name.id) }, now)) ?? []
        return .done(RevivedModifier(number: revived, cause: ChangeCause(row), variants: rows))
    }

    /// Drops a dead letter; false when the scope has none of this number.
    func drop(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        now: Timestamp
    ) throws(StoreError) -> Bool {
        let targets = try settling.targetNames(of: number, isOpen: false)
        let step = Step(revision: try revisions.next(), now: now)
        let isDropped = try state.deadLetters.drop(number, of: scope, step)
        if isDropped { forgetDead(targets) }
        return isDropped
    }

    /// What targeted these is no dead letter any more.
    private func forgetDead(_ targets: [TargetName]) {
        afterCommit { [index = shared.residency] in
            for name in targets { index.addDeadLetters(name.scope, name.id, -1) }
        }
    }
}
