import LarderModel

/// The rows that are kept, whatever for: found, filled, confirmed, emptied, taken away.
extension StateWriter {
    /// A claimed row as the writer finds it before it changes it.
    struct FoundClaim {
        let number: Int64
        /// Nil while there is no entry.
        let kind: EntryKind?
        let revision: Revision
        let byteCount: Int
        let digest: Digest
        let body: Int64?
        let size: Int64
        /// Nil when it is not pinned.
        let pin: PinState?
        let etag: String?
        let lastModified: String?
        let origin: String?
        /// What the origin answered when it had deleted what a pin keeps.
        let goneStatus: Int64?
        let isWanted: Bool
        /// Whether an unsettled change targets it.
        let isTargeted: Bool
        let isShared: Bool

        var isPinned: Bool { pin != nil }
        /// Whether nothing keeps it any more, so that it goes once the cache has it synced.
        var isReleased: Bool { !isPinned && !isTargeted }
        /// Whether the entry under its id is the cache's: it is a pin that has none.
        var isLeftToCache: Bool { isPinned && !isTargeted && !hasEntry }
        /// What it counts as a pin.
        var pinnedSize: Int64 { isPinned ? size : 0 }
        var hasEntry: Bool { kind != nil }
        /// Whether it has an entry that is no tombstone.
        var hasBytes: Bool { kind != nil && kind != .tombstone }
    }

    /// A claimed row with its entry and the body where it stands.
    struct SavedEntry: Sendable {
        /// Nil while there is none.
        let entry: Entry?
        let inline: [UInt8]
        let chunked: ChunkedBody?
        let goneStatus: Int?
        let isPinned: Bool
        let isTargeted: Bool
        let isShared: Bool

        var isReleased: Bool { !isPinned && !isTargeted }
    }

    /// What a put into a claimed row came to.
    enum SavedPut {
        case notClaimed
        case stored(PutReceipt, hadEntry: Bool)
    }

    /// What a confirmation of a claimed row's bytes came to.
    enum SavedRefresh {
        case notClaimed
        /// A pin without bytes: it is the cache's row that is to be confirmed.
        case noBytes
        case refreshed(RefreshOutcome)
    }

    func find(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> FoundClaim? {
        let statement = statements.find
        statement.bind(1, scope.text)
        statement.bind(2, id.text)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let state = PinState(rawValue: statement.integer(8)) ?? .failed
        var numbers = RowNumbers(statement)
        return FoundClaim(
            number: statement.integer(0),
            kind: statement.integerOrNil(1).map { EntryKind(rawValue: $0) ?? .blob },
            revision: numbers.revision(2),
            byteCount: numbers.byteCount(3),
            digest: statement.digest(4),
            body: statement.integerOrNil(6),
            size: numbers.size(7),
            pin: statement.isNull(14) ? nil : state,
            etag: statement.text(9),
            lastModified: statement.text(10),
            origin: statement.text(11),
            goneStatus: numbers.statusOrNil(12).map(Int64.init),
            isWanted: statement.integer(13) != 0,
            isTargeted: statement.integer(15) != 0,
            isShared: statement.integer(16) != 0
        )
    }

    /// A row with the body that stands in it; nil when there is none.
    func entry(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> SavedEntry? {
        let statement = statements.get
        statement.bind(1, scope.text)
        statement.bind(2, id.text)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let row = EntryRow(statement, file: .state)
        // Of what is damaged nothing is known.
        let entry = statement.isNull(3) || !row.isSound ? nil : row.entry()
        let hasEntry = entry != nil
        var numbers = RowNumbers(statement)
        return SavedEntry(
            entry: entry,
            inline: hasEntry ? row.withBody { Array($0) } : [],
            chunked: hasEntry ? row.chunkedBody : nil,
            goneStatus: numbers.statusOrNil(19),
            isPinned: !statement.isNull(20),
            isTargeted: statement.integer(21) != 0,
            isShared: statement.integer(22) != 0
        )
    }

    // MARK: Entries

    /// Stores an entry in its row, in place of what that holds; the entry has its revision.
    ///
    /// Equal bytes keep the old revision. `pinnedAt` makes a pin of it, also where there is no row.
    /// When there is no room the row is as it was before; what is targeted has room, as its base
    /// follows what the server says. Watchers hear of it unless it is moved from the cache.
    func put(
        _ new: NewEntry,
        pinnedAt: Timestamp? = nil,
        isNews: Bool = true
    ) throws(StoreError) -> SavedPut {
        let old = try find(new.scope, new.entry.id)
        guard old != nil || pinnedAt != nil else { return .notClaimed }
        let size = new.entry.rowSize(in: new.scope, isChunked: new.body.isUploaded)
        if Self.hasToFit(old, as: pinnedAt == nil ? .answer : .pin) {
            try checkRoom(for: size, replacing: old?.pinnedSize ?? 0)
        }
        if let pinnedAt { try makePin(new, old, pinnedAt) }
        guard let row = try find(new.scope, new.entry.id) else { return .notClaimed }
        let isSame = row.hasEntry && row.goneStatus == nil && row.matches(new.entry)
        let name = TargetName(new.scope, new.entry.id)
        let isCompared = row.isTargeted || name.id.isEntity
        let view = isCompared && !isSame && isNews ? try view(of: name) : nil
        var entry = new.entry
        if isSame { entry.revision = row.revision }
        try write(entry, new.body, size: size, to: row, in: new.scope)
        if !isSame, isNews { try logPut(new, entry.revision, since: view) }
        if row.isWanted { state.hasNews = true }
        let receipt = PutReceipt(
            revision: entry.revision,
            isNew: !row.hasBytes,
            isSame: isSame
        )
        return .stored(receipt, hadEntry: row.hasEntry)
    }

    /// Puts an entry into a row, which is held if it is pinned; a tombstone has no bytes for a pin.
    func write(
        _ entry: Entry,
        _ body: NewBody,
        size: Int64,
        to row: FoundClaim,
        in scope: ScopeKey
    ) throws(StoreError) {
        try bodies.link(body, &state.bodies)
        if let replaced = row.body { try bodies.unlink(replaced, &state.bodies) }
        let isDeleted = entry.kind == .tombstone
        let pin: PinState? = row.isPinned ? (isDeleted ? .failed : .held) : nil
        let trouble = row.isPinned && isDeleted ? PinTrouble(deleted: entry.status) : nil
        let statement = statements.setEntry
        statement.bind(1, row.number)
        statement.bind(entry, body, from: 2)
        statement.bind(18, size)
        statement.bind(19, pin?.rawValue)
        statement.bind(20, trouble?.problem)
        statement.bind(21, trouble?.reason)
        try statement.run()
        recount(scope, from: row, to: ClaimCharge(pin: pin, isTargeted: row.isTargeted, size: size))
        state.changedRows.append(RowKey(scope, entry.id))
    }

    /// Confirms a row's bytes without a new body, as a 304 does, if it still has the validators.
    func refresh(_ confirmed: Entry, in scope: ScopeKey) throws(StoreError) -> SavedRefresh {
        guard let row = try find(scope, confirmed.id) else { return .notClaimed }
        guard row.hasEntry else { return row.isTargeted ? .refreshed(.gone) : .noBytes }
        guard row.kind == .fetched, row.etag == confirmed.etag,
            row.lastModified == confirmed.lastModified, row.digest == confirmed.body.digest
        else { return .refreshed(.gone) }
        var entry = confirmed
        entry.revision = row.revision
        let size = entry.rowSize(in: scope, isChunked: row.body != nil)
        if row.isPinned, !row.isTargeted { try checkRoom(for: size, replacing: row.size) }
        let pin: PinState? = row.isPinned ? .held : nil
        let statement = statements.refresh
        statement.bind(1, row.number)
        statement.bind(confirmed: entry, from: 2)
        statement.bind(7, size)
        statement.bind(8, pin?.rawValue)
        try statement.run()
        recount(scope, from: row, to: ClaimCharge(pin: pin, isTargeted: row.isTargeted, size: size))
        state.changedRows.append(RowKey(scope, entry.id))
        return .refreshed(.refreshed(entry))
    }

    /// Leaves a row without an entry.
    func clear(_ row: FoundClaim, _ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        let size = Self.sizeWithoutEntry(scope, id, row.origin)
        statements.clearEntry.bind(1, row.number)
        statements.clearEntry.bind(2, size)
        try statements.clearEntry.run()
        if let body = row.body { try bodies.unlink(body, &state.bodies) }
        state.changedRows.append(RowKey(scope, id))
        recount(
            scope,
            from: row,
            to: ClaimCharge(pin: row.pin, isTargeted: row.isTargeted, size: size)
        )
    }

    /// Drops bytes that do not match their checksum, unless there are others by now.
    ///
    /// Where they came from an origin a pin wants them from then on; a base is unknown.
    func dropDamaged(
        _ scope: ScopeKey,
        _ id: EntryID,
        where isDamaged: (FoundClaim) -> Bool
    ) throws(StoreError) {
        guard let found = try find(scope, id), found.hasEntry, isDamaged(found) else { return }
        state.pins.damaged += 1
        try clear(found, scope, id)
        guard found.isPinned, let emptied = try find(scope, id) else { return }
        let trouble = PinTrouble(
            problem: "storage",
            reason: "its bytes were damaged on the disk"
        )
        let isWanted = found.kind == .fetched
        try setState(of: emptied, in: scope, .failed, trouble, isWanted: isWanted)
        state.hasNews = isWanted
    }

    /// Takes a row away with its entry.
    func remove(_ row: FoundClaim, _ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        statements.delete.bind(1, row.number)
        try statements.delete.run()
        if let body = row.body { try bodies.unlink(body, &state.bodies) }
        recount(scope, from: row, to: nil)
        state.changedRows.append(RowKey(scope, id))
    }

    /// Makes a row without an entry.
    func insert(_ row: BareRow, _ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        let size = Self.sizeWithoutEntry(scope, id, row.origin?.text)
        let statement = statements.insert
        statement.bind(1, scope.text)
        statement.bind(2, id.text)
        statement.bind(3, row.origin?.text)
        statement.bind(4, size)
        statement.bind(5, 0)
        statement.bind(6, row.isShared ? 1 : 0)
        statement.bind(7, row.pinnedAt?.milliseconds)
        statement.bind(8, row.pin?.rawValue)
        statement.bind(9, row.pin == .waiting ? 1 : 0)
        try statement.run()
        let charge = ClaimCharge(pin: row.pin, isTargeted: false, size: size)
        recount(scope, from: nil, to: charge)
    }

    /// What a row is made of that has no entry yet.
    struct BareRow {
        var origin: OriginName?
        var pinnedAt: Timestamp?
        /// Nil when it is not pinned.
        var pin: PinState?
        var isShared = false
    }

    static func sizeWithoutEntry(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ origin: String?
    ) -> Int64 {
        Int64(
            Limits.rowOverheadBytes + scope.text.utf8.count + id.text.utf8.count
                + (origin?.utf8.count ?? 0)
        )
    }

    // MARK: What rows count

    /// What a row counts, and against which bound: a pinned one against that of pins, one that is
    /// only targeted against that of the queue, a released one against none.
    struct ClaimCharge {
        var pin: PinState?
        var isTargeted: Bool
        var size: Int64
    }

    /// To be called by whatever makes, changes or removes a row.
    func recount(_ scope: ScopeKey, from old: FoundClaim?, to new: ClaimCharge?) {
        let before = old.map { ClaimCharge(pin: $0.pin, isTargeted: $0.isTargeted, size: $0.size) }
        for (charge, sign) in [(before, -1), (new, 1)] as [(ClaimCharge?, Int64)] {
            guard let charge else { continue }
            if let pin = charge.pin {
                state.pins.count += sign
                state.pins.bytes += sign * charge.size
                if pin == .waiting { state.pins.waiting += sign }
                if PinState.failures.contains(pin), let uid = scope.scope.uid {
                    let sum = (state.pins.failed[uid] ?? 0) + sign
                    state.pins.failed[uid] = sum == 0 ? nil : sum
                }
            } else if charge.isTargeted, let uid = scope.scope.uid {
                state.queue[uid].bytes += sign * charge.size
            }
        }
    }
}

extension StateWriter.FoundClaim {
    /// Whether the row has the bytes that an entry brings.
    func matches(_ entry: Entry) -> Bool {
        kind == entry.kind && byteCount == entry.body.byteCount && digest == entry.body.digest
    }
}

extension PinTrouble {
    /// The origin has deleted what is pinned.
    init(deleted status: Int) {
        self.init(
            problem: "deleted",
            reason: "the origin answered \(status): it has deleted it"
        )
    }
}
