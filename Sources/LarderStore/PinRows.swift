import LarderModel
import LarderNormalize

/// What pins say of a durable row beside its entry.
struct PinRows {
    let state: StateWriter

    // MARK: Marks

    /// Makes a pin that waits for its bytes, or has one that has none wait for them again.
    ///
    /// One that has bytes stays as it is, and a base that has some is held from then on.
    func mark(
        _ scope: ScopeKey,
        _ id: EntryID,
        origin: OriginName?,
        now: Timestamp
    ) throws(StoreError) -> (hasBytes: Bool, isNew: Bool) {
        guard let found = try state.rows.find(scope, id) else {
            try state.budget.checkCount(scope)
            let size = StateBudget.sizeWithoutEntry(scope, id, origin?.text)
            try state.budget.checkRoom(for: size, scope, replacing: 0)
            try state.rows.insert(scope, id, origin, pin: .waiting, at: now)
            return (false, true)
        }
        if !found.isPinned {
            try state.budget.checkCount(scope)
            try state.budget.checkRoom(for: found.size, scope, replacing: 0)
            try setPinned(found, scope, at: now)
        }
        guard !found.hasBytes, let pin = try state.rows.find(scope, id) else {
            return (true, !found.isPinned)
        }
        try setState(of: pin, in: scope, .waiting, nil, isWanted: true)
        return (false, !found.isPinned)
    }

    /// Makes a pin of a row, which is held, or with no moment a row that is no pin.
    func setPinned(
        _ row: DurableRow,
        _ scope: ScopeKey,
        at moment: Timestamp?
    ) throws(StoreError) {
        let pin: PinState? = moment == nil ? nil : .held
        try state.statements[.setPinned].run(
            (":key", row.number),
            (":pinned_at", moment?.milliseconds),
            (":state", pin?.rawValue)
        )
        state.budget.recount(scope, row) { $0.pin = pin }
    }

    /// Makes a row for an entry that is put and pinned in one, or a pin of the row that there is.
    func makePin(
        _ new: NewEntry,
        _ old: DurableRow?,
        _ now: Timestamp
    ) throws(StoreError) {
        guard old?.isPinned != true else { return }
        try state.budget.checkCount(new.scope)
        if let old { return try setPinned(old, new.scope, at: now) }
        try state.rows.insert(new.scope, new.entry.id, new.entry.origin, pin: .held, at: now)
    }

    /// Says of a pin why it is not held.
    ///
    /// Bytes that it has stay, and of a pin that has some only a new answer that is too large is
    /// told.
    func setTrouble(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ newState: PinState,
        _ trouble: PinTrouble
    ) throws(StoreError) {
        guard let found = try state.rows.find(scope, id), found.isPinned,
            !found.hasBytes || newState == .tooLarge
        else { return }
        try setState(of: found, in: scope, newState, trouble, isWanted: false)
        if found.keepsShared { try state.keepers.countKeepers(of: id) }
    }

    /// Has a pin without bytes that gave up wait for its origin again.
    func wantAgain(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        guard let found = try state.rows.find(scope, id), let pin = found.pin,
            PinState.failures.contains(pin), !found.hasBytes, !found.isWanted
        else { return }
        try setState(of: found, in: scope, .waiting, nil, isWanted: true)
        state.memory.hasNews = true
        if found.keepsShared { try state.keepers.countKeepers(of: id) }
    }

    /// Takes an answer that what is pinned is deleted, of which watchers hear; false where nothing is.
    func bury(_ tombstone: NewEntry, _ revision: Revision) throws(StoreError) -> Bool {
        let (scope, id) = (tombstone.scope, tombstone.entry.id)
        guard let found = try state.rows.find(scope, id) else { return false }
        let view = found.isTargeted ? try state.views.view(of: TargetName(scope, id)) : nil
        guard try bury(scope, id, status: tombstone.entry.status) else { return false }
        guard found.goneStatus == nil else { return true }
        // What modifiers make of it is something else from this step on.
        if let row = try state.rows.find(scope, id), row.isTargeted {
            try state.targets.setTargeted(true, row, scope, revision)
        }
        try state.views.logPut(tombstone, revision, since: view)
        return true
    }

    /// The origin has deleted what is pinned: the bytes stay; false when there are none.
    func bury(
        _ scope: ScopeKey,
        _ id: EntryID,
        status: Int
    ) throws(StoreError) -> Bool {
        guard let found = try state.rows.find(scope, id), found.isPinned, found.hasBytes else {
            return false
        }
        state.memory.changedRows.append(RowKey(scope, id))
        try setState(
            of: found,
            in: scope,
            .gone,
            PinTrouble(deleted: status),
            goneStatus: status,
            isWanted: false
        )
        return true
    }

    /// Takes a pin's mark away from a row that is a base too: what the pin alone kept goes.
    ///
    /// The bytes of one that is gone are shown no more, which is the step of `revision`.
    func unpin(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ revision: Revision?
    ) throws(StoreError) {
        guard let pin = try state.rows.find(scope, id), pin.isPinned else { return }
        let isGone = pin.goneStatus != nil
        let view = isGone && pin.isTargeted ? try state.views.view(of: TargetName(scope, id)) : nil
        try setPinned(pin, scope, at: nil)
        try state.rows.noteReason(gone: scope, id)
        state.memory.changedRows.append(RowKey(scope, id))
        guard let status = pin.goneStatus, var row = try state.rows.find(scope, id),
            var entry = try state.rows.entry(scope, id)?.entry?.tombstone(status), let revision
        else { return }
        entry.revision = revision
        let size = entry.rowSize(in: scope, isChunked: false)
        try state.rows.write(entry, .inline([]), size: size, to: row, in: scope)
        if row.isTargeted {
            row = try state.rows.find(scope, id) ?? row
            try state.targets.setTargeted(true, row, scope, revision)
        }
        let tombstone = NewEntry(scope: scope, entry: entry, body: .inline([]))
        try state.views.logPut(tombstone, revision, since: view)
    }

    func setState(
        of row: DurableRow,
        in scope: ScopeKey,
        _ newState: PinState,
        _ trouble: PinTrouble?,
        goneStatus: Int? = nil,
        isWanted: Bool
    ) throws(StoreError) {
        try state.statements[.setState].run(
            (":key", row.number),
            (":state", newState.rawValue),
            (":problem", trouble?.problem),
            (":reason", trouble?.reason),
            (":gone_status", goneStatus),
            (":wanted", isWanted)
        )
        state.budget.recount(scope, row) { $0.pin = newState }
    }
}
