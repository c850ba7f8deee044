import LarderModel

/// What pins say of a claimed row beside its entry, and the room that they have.
extension StateWriter {
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
        guard let found = try find(scope, id) else {
            try checkCount(scope)
            let size = Self.sizeWithoutEntry(scope, id, origin?.text)
            try checkRoom(for: size, scope, replacing: 0)
            try insert(scope, id, origin, pin: .waiting, at: now)
            return (false, true)
        }
        if !found.isPinned {
            try checkCount(scope)
            try checkRoom(for: found.size, scope, replacing: 0)
            try setPinned(found, scope, at: now)
        }
        guard !found.hasBytes, let pin = try find(scope, id) else {
            return (true, !found.isPinned)
        }
        try setState(of: pin, in: scope, .waiting, nil, isWanted: true)
        return (false, !found.isPinned)
    }

    /// Makes a pin of a row, which is held, or with no moment a row that is no pin.
    func setPinned(
        _ row: FoundClaim,
        _ scope: ScopeKey,
        at moment: Timestamp?
    ) throws(StoreError) {
        let pin: PinState? = moment == nil ? nil : .held
        try statements[.setPinned].run(row.number, moment?.milliseconds, pin?.rawValue)
        recount(scope, row) { $0.pin = pin }
    }

    /// Makes a row for an entry that is put and pinned in one, or a pin of the row that there is.
    func makePin(
        _ new: NewEntry,
        _ old: FoundClaim?,
        _ now: Timestamp
    ) throws(StoreError) {
        guard old?.isPinned != true else { return }
        try checkCount(new.scope)
        if let old { return try setPinned(old, new.scope, at: now) }
        try insert(new.scope, new.entry.id, new.entry.origin, pin: .held, at: now)
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
        guard let found = try find(scope, id), found.isPinned,
            !found.hasBytes || newState == .tooLarge
        else { return }
        try setState(of: found, in: scope, newState, trouble, isWanted: false)
        if found.keepsShared { try countKeepers(of: id) }
    }

    /// Has a pin without bytes that gave up wait for its origin again.
    func wantAgain(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        guard let found = try find(scope, id), let pin = found.pin,
            PinState.failures.contains(pin), !found.hasBytes, !found.isWanted
        else { return }
        try setState(of: found, in: scope, .waiting, nil, isWanted: true)
        state.hasNews = true
        if found.keepsShared { try countKeepers(of: id) }
    }

    /// Takes an answer that what is pinned is deleted, of which watchers hear; false where nothing is.
    func bury(_ tombstone: NewEntry, _ revision: Revision) throws(StoreError) -> Bool {
        let (scope, id) = (tombstone.scope, tombstone.entry.id)
        guard let found = try find(scope, id) else { return false }
        let view = found.isTargeted ? try view(of: TargetName(scope, id)) : nil
        guard try bury(scope, id, status: tombstone.entry.status) else { return false }
        guard found.goneStatus == nil else { return true }
        // What modifiers make of it is something else from this step on.
        if let row = try find(scope, id), row.isTargeted {
            try setTargeted(true, row, scope, revision)
        }
        try logPut(tombstone, revision, since: view)
        return true
    }

    /// The origin has deleted what is pinned: the bytes stay; false when there are none.
    func bury(
        _ scope: ScopeKey,
        _ id: EntryID,
        status: Int
    ) throws(StoreError) -> Bool {
        guard let found = try find(scope, id), found.isPinned, found.hasBytes else { return false }
        state.changedRows.append(RowKey(scope, id))
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
        guard let pin = try find(scope, id), pin.isPinned else { return }
        let isGone = pin.goneStatus != nil
        let view = isGone && pin.isTargeted ? try view(of: TargetName(scope, id)) : nil
        try setPinned(pin, scope, at: nil)
        try noteReason(gone: scope, id)
        state.changedRows.append(RowKey(scope, id))
        guard let status = pin.goneStatus, var row = try find(scope, id),
            var entry = try entry(scope, id)?.entry?.tombstone(status), let revision
        else { return }
        entry.revision = revision
        let size = entry.rowSize(in: scope, isChunked: false)
        try write(entry, .inline([]), size: size, to: row, in: scope)
        if row.isTargeted {
            row = try find(scope, id) ?? row
            try setTargeted(true, row, scope, revision)
        }
        let tombstone = NewEntry(scope: scope, entry: entry, body: .inline([]))
        try logPut(tombstone, revision, since: view)
    }

    func setState(
        of row: FoundClaim,
        in scope: ScopeKey,
        _ newState: PinState,
        _ trouble: PinTrouble?,
        goneStatus: Int? = nil,
        isWanted: Bool
    ) throws(StoreError) {
        let statement = statements[.setState]
        statement.bind(1, row.number)
        statement.bind(2, newState.rawValue)
        statement.bind(3, trouble?.problem)
        statement.bind(4, trouble?.reason)
        statement.bind(5, goneStatus.map(Int64.init))
        statement.bind(6, isWanted ? 1 : 0)
        try statement.run()
        recount(scope, row) { $0.pin = newState }
    }

    // MARK: Room

    /// Whether what comes for a row has to fit beside the other pins.
    static func hasToFit(_ row: FoundClaim?, as keeping: Keeping) -> Bool {
        switch keeping {
        case .pin: row?.isPinned != true || row?.isTargeted != true
        case .answer: row?.isPinned == true && row?.isTargeted != true
        case .base: false
        }
    }

    /// Throws unless an entry of this size fits in place of what an id's pin holds.
    func checkRoom(
        for size: Int64,
        _ scope: ScopeKey,
        _ id: EntryID,
        as keeping: Keeping
    ) throws(StoreError) {
        let found = try find(scope, id)
        guard Self.hasToFit(found, as: keeping) else { return }
        try checkRoom(for: size, scope, replacing: found?.pinnedSize ?? 0)
    }

    /// The same of bytes, which have to fit into all pins' room and into their user's part of it.
    func checkRoom(
        for size: Int64,
        _ scope: ScopeKey,
        replacing old: Int64,
        paidBy payer: UInt32? = nil
    ) throws(StoreError) {
        guard state.pins.bytes - old + size <= state.pins.maxBytes else {
            throw .pinsFull(bytes: size, limit: state.pins.maxBytes)
        }
        guard size > old, let uid = scope.scope.uid ?? payer else { return }
        let part = pinPart(of: uid)
        guard (state.pins.users[uid]?.bytes ?? 0) - old + size <= part else {
            throw .pinsFull(bytes: size, limit: part)
        }
    }

    /// What one user's pins may hold, which always counts: one user alone leaves room for a second.
    func pinPart(of uid: UInt32) -> Int64 {
        let isAlone = state.pins.users.keys.allSatisfy { $0 == uid }
        return limits.part(of: state.pins.maxBytes, users: isAlone ? 1 : 2)
    }

    func checkCount(_ scope: ScopeKey) throws(StoreError) {
        guard let uid = scope.scope.uid,
            (state.pins.users[uid]?.count ?? 0) >= Limits.pinsPerUserMax
        else { return }
        throw .tooManyPins(limit: Limits.pinsPerUserMax)
    }
}
