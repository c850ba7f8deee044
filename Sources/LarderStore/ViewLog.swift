import LarderModel
import LarderNormalize

/// Logs for watchers how a step changes views.
///
/// ``StoreConfiguration/viewChange`` compares base and unsettled changes before the step and after
/// it.
struct ViewLog {
    let state: StateWriter

    func log(_ change: Change) throws(StoreError) {
        var change = change
        if change.scope == .shared, let id = change.id {
            // These users hear of the views that their own changes make.
            let viewers = try state.keepers.of(id).filter(\.isTargeted)
            change.hiddenFrom = viewers.map(\.name.scope.scope)
        }
        try state.log.append(together: [change], to: &state.memory.log)
    }

    /// To be called before a step, for each of its targets.
    func view(of name: TargetName) throws(StoreError) -> ViewBefore {
        // A base whose bytes are damaged counts as unknown, as for every reader.
        let target = try state.reader.smallTarget(
            name,
            changesMax: Limits.comparedChangesMax,
            // The entities of an answer that was promoted just now are not all in the file yet.
            hasEntities: state.memory.unfilled.isEmpty
        )
        return ViewBefore(name: name, target: target)
    }

    func views(of names: [TargetName]) throws(StoreError) -> [ViewBefore] {
        try names.unique.map { name throws(StoreError) in try view(of: name) }
    }

    /// To be called once a modifier was accepted, or is back; `known` has views that need no read.
    func logChanges(
        of names: [TargetName],
        known: [TargetName: Target],
        by number: ModifierNumber,
        _ revision: Revision,
        _ cause: ChangeCause
    ) throws(StoreError) {
        for name in names {
            let after: Target?
            if let target = known[name] {
                after = target.isCompared ? target : nil
            } else {
                after = try view(of: name).target
            }
            var before = after
            before?.changes.removeAll { $0.number == number }
            try log(from: before, to: after, of: name, hasMarks: true, revision, cause)
        }
    }

    /// To be called after the step, while the rows of the modifiers that it takes away are there.
    ///
    /// `number` is the one that leaves. `known` has the targets that need not be read.
    func logChanges(
        since views: [ViewBefore],
        known: [TargetName: Target] = [:],
        without number: ModifierNumber? = nil,
        _ revision: Revision,
        _ cause: ChangeCause
    ) throws(StoreError) {
        for view in views {
            var after = known[view.name]
            if after == nil, view.target != nil { after = try state.reader.target(view.name) }
            after?.changes.removeAll { $0.number == number }
            let (before, hasMarks) = (view.target, number != nil)
            try log(from: before, to: after, of: view.name, hasMarks: hasMarks, revision, cause)
        }
    }

    /// Logs a change of a view; nil is one too large to compare, and `hasMarks` says of new marks.
    private func log(
        from before: Target?,
        to after: Target?,
        of name: TargetName,
        hasMarks: Bool,
        _ revision: Revision,
        _ cause: ChangeCause
    ) throws(StoreError) {
        // An unreadable request body differs from every other.
        let body = { [reader = state.reader] in (try? reader.requestBody(of: $0))?.bytes }
        let document = state.shared.origins.document(name.id, name.scope.scope)
        if name.id.isEntity {
            var difference = HeldEntity.Difference.changed(.created)
            if let before, let after {
                let held = after.entityView(document, body).held
                difference = before.entityView(document, body).held.difference(to: held)
            }
            return try log(difference, of: name, hasMarks: hasMarks, revision, cause)
        }
        var change: ViewChange? = .put
        if let before, let after {
            change = state.shared.configuration.viewChange(before, after, document, body)
        }
        switch change {
        case .put: try log(Change(revision, name.scope.scope, .put(name.id, cause)))
        case .delete: try log(Change(revision, name.scope.scope, .delete(name.id, cause)))
        case nil: break
        }
    }

    /// Logs a change of an entity's view, and remembers it for the answers that show the entity.
    func log(
        _ difference: HeldEntity.Difference,
        of name: TargetName,
        hasMarks: Bool = false,
        _ revision: Revision,
        _ cause: ChangeCause
    ) throws(StoreError) {
        guard let entity = name.id.entity else { return }
        let (event, shown): (Change.Event, MergedEntity.Change)
        switch difference {
        case .nothing where !hasMarks: return
        // Followers of answers that show it look for its marks; no watcher is told.
        case .nothing: (event, shown) = (.put(name.id, cause), .created)
        case .gone: (event, shown) = (.delete(name.id, cause), .nothing)
        case .changed(let told): (event, shown) = (.put(name.id, cause), told)
        }
        let isSeen = difference != .nothing
        if isSeen { try log(Change(revision, name.scope.scope, event)) }
        let hiddenFrom = isSeen ? state.memory.log.changes.last?.hiddenFrom ?? [] : []
        let key = RowKey(name.scope, name.id)
        state.memory.entities.append(
            EntityUpdates(
                scope: name.scope,
                revision: revision,
                cause: cause,
                hiddenFrom: hiddenFrom,
                change: EntityChange(entity, at: key, shown, event),
                isSeen: isSeen
            )
        )
    }

    /// Writes down that an entry was stored: in a target, what that shows by it.
    ///
    /// `view` is that of before where it is one. `isShownAgain` says that it is as it was, and was
    /// hidden from a user.
    func logPut(
        _ new: NewEntry,
        since view: ViewBefore?,
        isShownAgain: Bool = false
    ) throws(StoreError) {
        let revision = new.entry.revision
        guard let change = new.change(at: revision) else { return }
        if isShownAgain, new.entry.id.isEntity {
            return try log(.changed(.nothing), of: new.name, revision, new.changeCause)
        }
        guard let view, !isShownAgain else { return try log(change) }
        try logChanges(since: [view], revision, new.changeCause)
    }

    /// Logs the new state of a modifier; skips one whose id cannot be read.
    ///
    /// `changes` are the modifier's; nil if they are to be read.
    func logModifier(
        _ row: QueuedRow,
        of changes: [TargetChange]? = nil,
        _ newState: ModifierState,
        _ revision: Revision,
        _ adjust: (inout ModifierChange) -> Void = { _ in }
    ) throws(StoreError) {
        guard let scope = Scope(text: row.scope), let id = try? ModifierID(row.id) else { return }
        let known = if let changes { changes } else { try state.targets.of(row.number) }
        let targets = known.compactMap(\.name?.id)
        var change = ModifierChange(id: id, state: newState, targets: targets)
        change.client = row.client
        adjust(&change)
        try log(Change(revision, scope, .modifier(change)))
    }
}

extension ChangeCause {
    init(_ row: QueuedRow) {
        self.init(.modifier, text: "modifier:\(row.id)", client: row.client)
    }

    package init(_ modifier: NewModifier) {
        self.init(.modifier, text: "modifier:\(modifier.id)", client: modifier.client)
    }
}

extension Target {
    /// The base of a target that has it in a row of its own; nil if the base has to be read.
    var ownBase: TargetBase? {
        guard !isOfSharedRow, !isDeleted, damaged == nil, entry != nil else { return nil }
        if case .chunked = body { return nil }
        return base
    }

    /// The target with what a settled modifier has made of its own row; nil where that has to be
    /// read.
    func after(_ result: TargetOutcome) -> Target? {
        switch result {
        case .keep, .lost: return self
        case .put(let entry, .inline(let bytes)) where !isOfSharedRow:
            var after = self
            (after.entry, after.body) = (entry, .inline(bytes))
            (after.isDeleted, after.damaged) = (entry.kind == .tombstone, nil)
            return after
        case .put, .answer, .tombstone, .markStale: return nil
        }
    }

    /// The row of a target that is made just now, with its first change if it has one; nil where
    /// its body is to be read.
    init?(_ base: NewEntry?, _ change: OpenChange? = nil) {
        self.init(changes: change.map { [$0] } ?? [])
        guard let base else { return }
        guard base.form == nil, case .inline(let bytes) = base.body else { return nil }
        (entry, body, isDeleted) = (base.entry, .inline(bytes), base.entry.kind == .tombstone)
    }

    /// Whether the target is small enough to compare its views on the writer's thread.
    fileprivate var isCompared: Bool {
        let effects = changes.reduce(0) { $0 + $1.effect.count }
        return changes.count <= Limits.comparedChangesMax
            && (entry?.body.byteCount ?? 0) + effects <= Limits.comparedBytesMax
    }
}
