import LarderModel

/// What a step changes of what its targets show, written down for watchers.
///
/// Base and unsettled changes are read before the step and after it, in its transaction, and
/// compared by ``StoreConfiguration/viewChange``: a target that shows the same as before is no
/// change, whatever became of its base.
extension StateWriter {
    /// To be called before a step, for each of its targets.
    func view(of name: TargetName) throws(StoreError) -> ViewBefore {
        let changes = try find(name.scope, name.id)?.targets ?? 0
        let isCompared = changes <= Limits.comparedChangesMax
        return ViewBefore(name: name, target: isCompared ? try target(name) : nil)
    }

    /// To be called once a modifier was accepted: the targets as they would be without it.
    func views(
        of names: [TargetName],
        without number: ModifierNumber
    ) throws(StoreError) -> [ViewBefore] {
        var views: [ViewBefore] = []
        for name in names {
            var view = try view(of: name)
            view.target?.changes.removeAll { $0.number == number }
            views.append(view)
        }
        return views
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
            guard let change = try change(since: view, without: number) else { continue }
            let (scope, id) = (view.name.scope.scope, view.name.id)
            switch change {
            case .put: try log(Change(revision, scope, .put(id, cause)))
            case .delete: try log(Change(revision, scope, .delete(id, cause)))
            }
        }
    }

    private func change(
        since view: ViewBefore,
        without number: ModifierNumber?
    ) throws(StoreError) -> ViewChange? {
        guard let before = view.target else { return .put }
        var after = try target(view.name)
        after.changes.removeAll { $0.number == number }
        return viewChange(before, after) { number in
            // One that cannot be read differs from every other.
            (try? reader.requestBody(of: number))?.bytes
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
        let targets = try targets(of: number).compactMap { try? EntryID($0.id) }
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
