import LarderModel
import LarderNormalize

/// What a step changes of what its targets show, written down for watchers.
///
/// Base and unsettled changes are read before the step and after it, in its transaction, and
/// compared by ``StoreConfiguration/viewChange``: a target that shows the same as before is no
/// change, whatever became of its base.
extension StateWriter {
    /// To be called before a step, for each of its targets.
    func view(of name: TargetName) throws(StoreError) -> ViewBefore {
        ViewBefore(name: name, target: try isCompared(name) ? try target(name) : nil)
    }

    /// Whether it is small enough that what it shows is made on this thread.
    private func isCompared(_ name: TargetName) throws(StoreError) -> Bool {
        guard let row = try find(name.scope, name.id) else { return true }
        guard row.isTargeted else { return row.byteCount <= Limits.comparedBytesMax }
        let effects = try reader.openEffects(name.scope, name.id)
        return effects.count <= Limits.comparedChangesMax
            && Int64(row.byteCount) + effects.bytes <= Limits.comparedBytesMax
    }

    /// To be called once a modifier was accepted, or is back: what its targets would be without it
    /// is what they were.
    func logChanges(
        of names: [TargetName],
        by number: ModifierNumber,
        _ revision: Revision,
        _ cause: ChangeCause
    ) throws(StoreError) {
        for name in names {
            let after = try view(of: name).target
            var before = after
            before?.changes.removeAll { $0.number == number }
            try log(from: before, to: after, of: name, revision, cause)
        }
    }

    /// To be called after the step, while the rows of the modifiers that it takes away are there.
    ///
    /// `number` is the one that leaves.
    func logChanges(
        since views: [ViewBefore],
        without number: ModifierNumber? = nil,
        _ revision: Revision,
        _ cause: ChangeCause
    ) throws(StoreError) {
        for view in views {
            var after = view.target == nil ? nil : try target(view.name)
            after?.changes.removeAll { $0.number == number }
            try log(from: view.target, to: after, of: view.name, revision, cause)
        }
    }

    private func log(
        from before: Target?,
        to after: Target?,
        of name: TargetName,
        _ revision: Revision,
        _ cause: ChangeCause
    ) throws(StoreError) {
        guard name.id.isEntity else {
            return try log(change(from: before, to: after), of: name, revision, cause)
        }
        try log(entityDifference(from: before, to: after), of: name, revision, cause)
    }

    /// Writes down what has become of an entity, and remembers it for those who show it.
    func log(
        _ difference: HeldEntity.Difference,
        of name: TargetName,
        _ revision: Revision,
        _ cause: ChangeCause
    ) throws(StoreError) {
        guard let entity = name.id.entity else { return }
        let (event, shown): (Change.Event, MergedEntity.Change)
        switch difference {
        case .nothing: return
        case .gone: (event, shown) = (.delete(name.id, cause), .nothing)
        case .changed(let told): (event, shown) = (.put(name.id, cause), told)
        }
        try log(Change(revision, name.scope.scope, event))
        let key = RowKey(name.scope, name.id)
        state.entities.append(
            EntityNews(
                scope: name.scope,
                revision: revision,
                cause: cause,
                change: EntityChange(entity, at: key, shown, event)
            )
        )
    }

    private func entityDifference(
        from before: Target?,
        to after: Target?
    ) -> HeldEntity.Difference {
        guard let before, let after else { return .changed(.created) }
        let bodies = { [reader] number in (try? reader.requestBody(of: number))?.bytes }
        return before.entityView(bodies).held.difference(to: after.entityView(bodies).held)
    }

    /// Where they are nil there is more than is compared, which counts as a change.
    private func change(from before: Target?, to after: Target?) -> ViewChange? {
        guard let before, let after else { return .put }
        return viewChange(before, after) { number in
            // One that cannot be read differs from every other.
            (try? reader.requestBody(of: number))?.bytes
        }
    }

    private func log(
        _ change: ViewChange?,
        of name: TargetName,
        _ revision: Revision,
        _ cause: ChangeCause
    ) throws(StoreError) {
        switch change {
        case .put: try log(Change(revision, name.scope.scope, .put(name.id, cause)))
        case .delete: try log(Change(revision, name.scope.scope, .delete(name.id, cause)))
        case nil: break
        }
    }

    /// Writes down that an entry was stored: in a target, what that shows by it.
    ///
    /// `view` is that of before where it is one.
    func logPut(
        _ new: NewEntry,
        _ revision: Revision,
        since view: ViewBefore?
    ) throws(StoreError) {
        guard let change = new.change(at: revision) else { return }
        guard let view else { return try log(change) }
        try logChanges(since: [view], revision, new.changeCause)
    }

    private func target(_ name: TargetName) throws(StoreError) -> Target {
        // A base whose bytes are damaged counts as unknown, as for every reader.
        var damaged: Digest?
        return try reader.openTarget(name.scope, name.id, .all, &damaged)
    }

    /// Writes down what a modifier has come to; nothing of one whose id cannot be read.
    func logModifier(
        _ number: ModifierNumber,
        _ row: QueuedRow,
        _ state: ModifierState,
        _ revision: Revision,
        _ adjust: (inout ModifierChange) -> Void = { _ in }
    ) throws(StoreError) {
        guard let scope = Scope(text: row.scope), let id = try? ModifierID(row.id) else { return }
        let targets = try targets(of: number).compactMap { try? EntryID(stored: $0.id) }
        var change = ModifierChange(id: id, state: state, targets: targets)
        change.client = row.client
        adjust(&change)
        try log(Change(revision, scope, .modifier(change)))
    }
}

extension ChangeCause {
    /// A modifier has done it, and so who has accepted that.
    init(_ row: StateWriter.QueuedRow) {
        self.init(.modifier, text: "modifier:\(row.id)", client: row.client)
    }
}

extension [TargetName] {
    /// Each once, in the order in which they come first.
    var unique: [TargetName] {
        var seen: Set<TargetName> = []
        return filter { seen.insert($0).inserted }
    }
}
