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
            try checkRoom(for: size, replacing: 0)
            let row = BareRow(origin: origin, pinnedAt: now, pin: .waiting)
            try insert(row, scope, id)
            return (false, true)
        }
        if !found.isPinned { try setPinned(found, scope, now) }
        guard !found.hasBytes, let pin = try find(scope, id) else {
            return (true, !found.isPinned)
        }
        try setState(of: pin, in: scope, .waiting, nil, isWanted: true)
        return (false, !found.isPinned)
    }

    /// Makes a pin of a row, which is held.
    private func setPinned(
        _ row: FoundClaim,
        _ scope: ScopeKey,
        _ now: Timestamp
    ) throws(StoreError) {
        try checkCount(scope)
        try checkRoom(for: row.size, replacing: 0)
        statements.setPinned.bind(1, row.number)
        statements.setPinned.bind(2, now.milliseconds)
        statements.setPinned.bind(3, PinState.held.rawValue)
        try statements.setPinned.run()
        recount(
            scope,
            from: row,
            to: ClaimCharge(pin: .held, isTargeted: row.isTargeted, size: row.size)
        )
    }

    /// Makes a row for an entry that is put and pinned in one, or a pin of the row that there is.
    func makePin(
        _ new: NewEntry,
        _ old: FoundClaim?,
        _ now: Timestamp
    ) throws(StoreError) {
        guard let old else {
            try checkCount(new.scope)
            let row = BareRow(origin: new.entry.origin, pinnedAt: now, pin: .held)
            return try insert(row, new.scope, new.entry.id)
        }
        guard !old.isPinned else { return }
        try checkCount(new.scope)
        statements.setPinned.bind(1, old.number)
        statements.setPinned.bind(2, now.milliseconds)
        statements.setPinned.bind(3, PinState.held.rawValue)
        try statements.setPinned.run()
        recount(
            new.scope,
            from: old,
            to: ClaimCharge(pin: .held, isTargeted: old.isTargeted, size: old.size)
        )
    }

    /// Says of a pin why it is not held; false when there is none.
    ///
    /// Bytes that it has stay, and of a pin that has some only a new answer that is too large is
    /// told.
    @discardableResult
    func setTrouble(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ newState: PinState,
        _ trouble: PinTrouble
    ) throws(StoreError) -> Bool {
        guard let found = try find(scope, id), found.isPinned else { return false }
        guard !found.hasBytes || newState == .tooLarge else { return true }
        try setState(of: found, in: scope, newState, trouble, isWanted: false)
        return true
    }

    /// The same as an answer, of which watchers hear.
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
            goneStatus: Int64(status),
            isWanted: false
        )
        return true
    }

    /// Takes a pin's mark away from a row that is a base too: what the pin alone kept goes.
    func unpin(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        guard let pin = try find(scope, id), pin.isPinned else { return }
        statements.setPinned.bind(1, pin.number)
        statements.setPinned.bind(2, Int64?.none)
        statements.setPinned.bind(3, Int64?.none)
        try statements.setPinned.run()
        recount(
            scope,
            from: pin,
            to: ClaimCharge(pin: nil, isTargeted: pin.isTargeted, size: pin.size)
        )
        state.changedRows.append(RowKey(scope, id))
        guard let status = pin.goneStatus, let row = try find(scope, id),
            let entry = try entry(scope, id)?.entry?.tombstone(Int(status))
        else { return }
        let size = entry.rowSize(in: scope, isChunked: false)
        try write(entry, .inline([]), size: size, to: row, in: scope)
    }

    func setState(
        of row: FoundClaim,
        in scope: ScopeKey,
        _ newState: PinState,
        _ trouble: PinTrouble?,
        goneStatus: Int64? = nil,
        isWanted: Bool
    ) throws(StoreError) {
        let statement = statements.setState
        statement.bind(1, row.number)
        statement.bind(2, newState.rawValue)
        statement.bind(3, trouble?.problem)
        statement.bind(4, trouble?.reason)
        statement.bind(5, goneStatus)
        statement.bind(6, isWanted ? 1 : 0)
        try statement.run()
        recount(
            scope,
            from: row,
            to: ClaimCharge(pin: newState, isTargeted: row.isTargeted, size: row.size)
        )
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
        try checkRoom(for: size, replacing: found?.pinnedSize ?? 0)
    }

    func checkRoom(for size: Int64, replacing old: Int64) throws(StoreError) {
        guard state.pins.bytes - old + size <= state.pins.maxBytes else {
            throw .pinsFull(bytes: size, limit: state.pins.maxBytes)
        }
    }

    private func checkCount(_ scope: ScopeKey) throws(StoreError) {
        // A scope's text is the uid, a colon and the account; a semicolon comes next.
        let uid = scope.text.prefix { $0 != ":" }
        statements.count.bind(1, String(uid))
        statements.count.bind(2, "\(uid);")
        defer { statements.count.reset() }
        guard try statements.count.step(),
            statements.count.integer(0) < Limits.pinsPerUserMax
        else { throw .tooManyPins(limit: Limits.pinsPerUserMax) }
    }
}
