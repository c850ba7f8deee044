import LarderModel
import LarderNormalize

struct Sharing: WriterPart {
    let writer: StoreWriter

    func place(of name: TargetName) throws(StoreError) -> TargetName {
        guard mayKeepShared(name), try durable(name)?.keepsShared == true else { return name }
        return shared.sharedName(name.id)
    }

    /// Whether a row may keep the shared row under its id: the index tells without a read.
    ///
    /// The index notes a keeper in the step that makes it, and forgets it after the commit.
    private func mayKeepShared(_ name: TargetName) -> Bool {
        shared.residency.place(name.scope, name.id)?.keepsShared == true
    }

    /// Whether a user sees the shared row under an id of an origin whose answers are shared.
    ///
    /// With `orHidden`, true also if the user has no row of its own in front of it.
    func seesShared(
        _ name: TargetName,
        orHidden: Bool = false,
        now: Timestamp
    ) throws(StoreError) -> Bool {
        if let found = try durable(name) {
            if found.hasEntry || found.keepsShared { return found.keepsShared }
            // Nothing is known of a target without an entry.
            if found.isTargeted { return false }
        }
        // There may be a row of its own that cannot be read now.
        guard !writer.isCacheLeftOut else { return false }
        // A newer row of its own was in front of it.
        if !orHidden, try hiding.isHidden(name.id, from: name.scope) { return false }
        let own = try cacheIfAny?.rows.base(name.scope, name.id, now: now)
        own?.release(to: shared)
        return own == nil
    }

    /// From now on a durable row keeps the shared row under its id, which is read here.
    func noteKeeper(_ name: TargetName) throws(StoreError) {
        let place = shared.sharedName(name.id)
        claim(place)
        change(name) { $0.keepsShared = true }
        try state.keepers.countKeepers(of: name.id)
        if try state.rows.find(place)?.hasEntry == true { promotion.addGarbage([place]) }
    }

    func noteOwnEntry(_ found: DurableRow?) {
        guard let name = found?.name, found?.keepsShared == true else { return }
        let (index, place) = (shared.residency, shared.sharedName(name.id))
        afterCommit {
            let own = index.change(name) { $0.keepsShared = false }
            guard let own, own.keepsShared else { return }
            index.change(place) { $0.targets -= own.targets }
        }
    }

    /// Counts a change of a row that has got its own entry in the present commit.
    ///
    /// After the commit, the shared row loses all of the row's targets, this one among them.
    func countBeforeOwnEntry(_ name: TargetName) {
        guard mayKeepShared(name) else { return }
        change(shared.sharedName(name.id)) { $0.targets += 1 }
    }

    func removeIdleKeeper(_ name: TargetName) throws(StoreError) {
        guard mayKeepShared(name), let found = try durable(name), found.keepsShared else { return }
        if found.isReleased { try entries.removeDurable(found, isCounted: false) }
        try state.keepers.countKeepers(of: name.id)
    }

    /// A shared row leaves `state.db`: the pins for which it had no room keep it no longer.
    ///
    /// Each is then a pin like that of an id without an entry. A start takes a file in which a
    /// waiting pin keeps a row that is not there for damaged.
    func forgetKeepers(of id: EntryID) throws(StoreError) {
        for keeper in try state.keepers.of(id) {
            try state.keepers.setKeeper(keeper, false)
            change(keeper.name) { $0.keepsShared = false }
        }
    }

    func viewers(of name: TargetName) throws(StoreError) -> [ViewBefore] {
        try state.views.views(of: targets(on: name))
    }

    /// The rows of users whose changes apply to a shared row; none for another row.
    func targets(on name: TargetName) throws(StoreError) -> [TargetName] {
        guard name.scope == shared.sharedScope, isTargeted(name) else { return [] }
        return try state.keepers.of(name.id).filter(\.isTargeted).map(\.name)
    }

    private func isTargeted(_ name: TargetName) -> Bool {
        (shared.residency.place(name.scope, name.id)?.targets ?? 0) > 0
    }

    /// Settles modifiers that waited for an answer, once the answer is stored (case 29).
    ///
    /// Users with changes on a shared row hear of the changes in their own view. `revision` is the
    /// answer's step, nil for an answer that has changed nothing.
    ///
    /// The unit is the URL: the first answer for a shared URL or one of its variants settles the
    /// write. The other rows of the unit are older, and are hidden from its user.
    ///
    /// A mix of an answer and base settles none.
    func answered(
        _ row: TargetName,
        _ viewers: [ViewBefore],
        isMix: Bool = false,
        at revision: Revision?,
        now: Timestamp
    ) throws(StoreError) {
        let (index, scope) = (shared.residency, row.scope)
        let isShared = scope == shared.sharedScope
        let id = isShared ? row.id.urlOfVariant ?? row.id : row.id
        let name = TargetName(scope, id)
        guard isTargeted(name) else { return }
        let viewers = row.id == id ? viewers : try self.viewers(of: name)
        let names = isShared ? viewers.map(\.name) : [name]
        var (step, left): (Revision?, [ModifierNumber]) = (revision, [])
        var hasEnded = false
        for (place, viewer) in names.enumerated() {
            let changes = isMix ? [] : try state.targets.answeredChanges(of: viewer)
            if !isShared, changes.isEmpty { continue }
            let view = isShared ? viewers[place] : try state.views.view(of: viewer)
            if !changes.isEmpty {
                hasEnded = true
                let ended = if let step { step } else { try revisions.next() }
                step = ended
                let ending = Step(revision: ended, now: now)
                let gone = try state.targets.end(changes, of: viewer, at: ending)
                left += gone.left
                try settling.forgetTargets(gone.implied, ended)
                if isShared { try hideUnit(id, except: row.id, from: viewer.scope, ended) }
                try state.targets.raise(name, to: ended)
                afterCommit {
                    index.change(viewer) { $0.targets -= changes.count }
                    if isShared { index.change(name) { $0.targets -= changes.count } }
                }
            }
            if let step { try state.views.logChanges(since: [view], step, ChangeCause(.network)) }
            guard !changes.isEmpty, let found = try durable(viewer), found.keepsShared,
                found.isReleased
            else { continue }
            try entries.removeDurable(found, isCounted: false)
        }
        if hasEnded { try state.keepers.countKeepers(of: id) }
        guard !left.isEmpty else { return }
        afterCommit { [left] in index.modifiersLeft.tell(left) }
    }

    /// Hides the shared rows of a URL, its variants among them, from a user who has seen newer
    /// content.
    private func hideUnit(
        _ url: EntryID,
        except answered: EntryID,
        from scope: ScopeKey,
        _ step: Revision
    ) throws(StoreError) {
        for id in try state.keepers.unit(of: url) where id != answered {
            try hiding.hideSaved(TargetName(scope, id))
            guard id != url else {
                try state.keepers.wantAnswer(TargetName(scope, id))
                continue
            }
            let event = Change.Event.put(id, ChangeCause(.network))
            try state.views.log(Change(step, scope.scope, event))
        }
    }

    func answered(
        _ ids: [EntryID],
        in scope: ScopeKey,
        fence: AnswerFence?,
        now: Timestamp
    ) throws(StoreError) {
        for id in ids where shared.residency.covers(scope, id) && fence?.covers(scope, id) != true {
            let name = TargetName(scope, id)
            try answered(name, try viewers(of: name), at: nil, now: now)
        }
    }

    /// The origin has deleted a shared row: who has pinned it keeps its bytes, marked as gone.
    ///
    /// It may have told one user only.
    func keepForPins(_ tombstone: NewEntry, _ now: Timestamp) throws(StoreError) -> [LargeBody] {
        let (id, home) = (tombstone.entry.id, shared.sharedScope)
        guard let saved = try state.rows.entry(TargetName(home, id)), saved.claim.isPinned,
            var entry = saved.entry, entry.kind != .tombstone
        else { return [] }
        var body = saved.chunked.map(Target.Body.chunked) ?? .inline(saved.inline)
        if let row = saved.normalized {
            guard case .shown(let shown) = try state.reader.rebuild(row) else { return [] }
            (entry, body) = (shown.entry, .inline(shown.answer.bytes))
        }
        let pins = try state.keepers.of(id).filter { keeper in
            keeper.pin == .held && [home, keeper.name.scope].contains(tombstone.scope)
        }
        let needs = pins.compactMap { pin in
            saved.chunked.flatMap {
                bodies.large($0, pin.name, entry, to: .state, as: .base)
            }
        }
        guard needs.isEmpty else { return needs }
        for pin in pins {
            let own = try bodies.linkable(body, pin.name, in: .state, as: .base)
            let new = NewEntry(scope: pin.name.scope, entry: entry, body: own)
            try state.rows.write(new, to: pin)
            noteOwnEntry(pin)
            var gone = tombstone
            gone.scope = pin.name.scope
            gone.entry.revision = try revisions.next()
            _ = try state.pins.writeTombstone(gone)
            // The user sees this row from now on.
            try answered(pin.name, [], at: gone.entry.revision, now: now)
        }
        return []
    }

    /// Tells pins of a shared row that there is no room for its answer.
    ///
    /// The row counts in the share of one user. Without room there, the next user who has pinned
    /// it pays, until there is room or no pin is left. Returns the row as it is then.
    func refuseForPins(_ new: NewEntry, _ found: DurableRow) throws(StoreError) -> DurableRow {
        guard new.scope == shared.sharedScope else { return found }
        var row = found
        while let error = try entries.refusal(of: new, row) {
            let pins = try state.keepers.of(new.entry.id).filter(\.isKeepingPin)
            let paid = pins.filter { $0.name.scope.scope.uid == row.payer }
            for pin in paid.isEmpty ? pins : paid {
                try state.pins.setTrouble(pin.name, .tooLarge, PinTrouble(error))
            }
            guard !pins.isEmpty, let next = try state.rows.find(row.name) else { return row }
            row = next
        }
        return row
    }
}
