import LarderModel

/// The rows that are kept, whatever for: found, filled, confirmed, emptied, taken away.
extension StateWriter {
    /// A claimed row as the writer finds it before it changes it.
    struct FoundClaim: Sendable {
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
        let goneStatus: Int?
        let isWanted: Bool
        /// Whether an unsettled change targets it.
        let isTargeted: Bool
        /// Whether it keeps the shared row under its id, and has no entry of its own.
        let keepsShared: Bool
        /// Of a shared row in whose share it counts.
        let payer: UInt32?
        /// Of an answer that is kept normalized, and the checksum of its template.
        let skeleton: Int64?
        let checksum: Int64?
        /// Whether it is a variant of a URL that is pinned or targeted.
        let isHeld: Bool
        /// Whether it counts in the room of pins, as a pinned answer has brought it.
        let isInPins: Bool

        var charge: ClaimCharge {
            ClaimCharge(pin: pin, isInPins: isInPins, size: size, payer: payer)
        }
        var isPinned: Bool { pin != nil }
        /// Whether nothing keeps it but references to it, so that it goes without those once the cache has
        /// it synced.
        var isReleased: Bool { !isPinned && !isTargeted && !isHeld }
        /// Whether the entry under its id is the cache's: it is a pin that has none.
        var isLeftToCache: Bool { isPinned && !isTargeted && !hasEntry && !keepsShared }
        /// What it counts as a pin.
        var pinnedSize: Int64 { isPinned ? size : 0 }
        var hasEntry: Bool { kind != nil }
        /// Whether it has an entry that is no tombstone, or is a pin of a shared row that has.
        var hasBytes: Bool { kind.map { $0 != .tombstone } ?? (keepsShared && pin == .held) }

        init(_ row: SQLiteStatement) {
            var numbers = RowNumbers(row)
            number = row.integer(0)
            kind = row.integerOrNil(3).map { EntryKind(rawValue: $0) ?? .blob }
            revision = numbers.revision(6)
            origin = row.text(7)
            etag = row.text(10)
            lastModified = row.text(11)
            byteCount = numbers.byteCount(13)
            digest = row.digest(15)
            body = row.integerOrNil(17)
            size = numbers.size(21)
            pin = row.isNull(22) ? nil : PinState(rawValue: row.integer(23)) ?? .failed
            goneStatus = numbers.statusOrNil(24)
            isWanted = row.integer(25) != 0
            isTargeted = row.integer(26) != 0
            keepsShared = row.integer(27) != 0
            skeleton = row.integerOrNil(19)
            checksum = row.integerOrNil(20)
            isHeld = row.integer(28) != 0
            isInPins = row.integer(29) != 0
            payer = row.integerOrNil(30).flatMap(UInt32.init(exactly:))
        }

        /// Behind those of its entry.
        static let columns = """
            size, pinned_at, state, gone_status, wanted, targeted, shared, held, in_pins, payer
            """
    }

    /// A claimed row with its entry and the body where it stands.
    struct SavedEntry: Sendable {
        let claim: FoundClaim
        /// Nil while there is none, and for one that is damaged.
        let entry: Entry?
        let inline: [UInt8]
        let chunked: ChunkedBody?
        /// Its row where it is a normalized answer; then `inline` is its template.
        var normalized: NormalizedRow?
    }

    func find(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> FoundClaim? {
        let statement = statements[.find]
        statement.bindAll(scope.text, id.text)
        defer { statement.reset() }
        return try statement.step() ? FoundClaim(statement) : nil
    }

    /// A row with the body that stands in it; nil when there is none.
    func entry(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> SavedEntry? {
        let statement = statements[.get]
        statement.bindAll(scope.text, id.text)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let claim = FoundClaim(statement)
        let row = EntryRow(statement, file: .state, hasForm: true)
        guard claim.hasEntry, row.isSound, let entry = row.entry() else {
            return SavedEntry(claim: claim, entry: nil, inline: [], chunked: nil)
        }
        let inline = row.withBody { Array($0) }
        return SavedEntry(
            claim: claim,
            entry: entry,
            inline: inline,
            chunked: row.chunkedBody,
            normalized: row.normalized(in: scope)
        )
    }

    // MARK: Entries

    /// Stores an entry in its row, in place of what that holds; the entry has its revision.
    ///
    /// Equal bytes keep the old revision. `pinnedAt` makes a pin of it, also where there is no row;
    /// else there has to be one.
    /// When there is no room the row is as it was before; what is targeted has room, as its base
    /// follows what the server says. Watchers hear of it unless it is moved from the cache, and where it
    /// was hidden from a user also of equal bytes.
    @discardableResult
    func put(
        _ new: NewEntry,
        pinnedAt: Timestamp? = nil,
        isNews: Bool = true,
        wasHidden: Bool = false
    ) throws(StoreError) -> PutReceipt {
        let old = try find(new.scope, new.entry.id)
        let size = new.rowSize
        if Self.hasToFit(old, as: pinnedAt == nil ? .answer : .pin) {
            let (replaced, payer) = (old?.pinnedSize ?? 0, old?.payer)
            try checkRoom(for: size, new.scope, replacing: replaced, paidBy: payer)
        }
        if let pinnedAt { try makePin(new, old, pinnedAt) }
        guard let row = try find(new.scope, new.entry.id) else { throw .closed }
        let hasBytes = try matches(row, new)
        let isKept = row.hasEntry && row.goneStatus == nil && hasBytes
        let isSame = isKept && !wasHidden
        let name = TargetName(new.scope, new.entry.id)
        let isCompared = row.isTargeted || name.id.isEntity
        let view = isCompared && !isSame && isNews ? try view(of: name) : nil
        var entry = new.entry
        if isSame { entry.revision = row.revision }
        try write(entry, new.body, form: new.form, size: size, to: row, in: new.scope)
        if !isSame, isNews { try logPut(new, entry.revision, since: view, isShownAgain: isKept) }
        if row.isWanted { state.hasNews = true }
        return PutReceipt(revision: entry.revision, isNew: !row.hasBytes, isSame: isSame)
    }

    /// Puts an entry into a row, which is held if it is pinned; a tombstone has no bytes for a pin.
    func write(
        _ entry: Entry,
        _ body: NewBody,
        form: AnswerForm? = nil,
        size: Int64,
        to row: FoundClaim,
        in scope: ScopeKey
    ) throws(StoreError) {
        try bodies.link(body, &state.bodies)
        if let replaced = row.body { try bodies.unlink(replaced, &state.bodies) }
        let isDeleted = entry.kind == .tombstone
        let pin: PinState? = row.isPinned ? (isDeleted ? .failed : .held) : nil
        let trouble = row.isPinned && isDeleted ? PinTrouble(deleted: entry.status) : nil
        let statement = statements[.setEntry]
        statement.bind(1, row.number)
        statement.bind(entry, body, from: 2)
        statement.bind(18, size)
        statement.bind(19, pin?.rawValue)
        statement.bind(20, trouble?.problem)
        statement.bind(21, trouble?.reason)
        var skeleton: Int64?
        if let form { skeleton = try tables.take(form.skeleton, insteadOf: row.skeleton).number }
        if let old = row.skeleton, old != skeleton { _ = try tables.giveBack(old) }
        statement.bind(22, skeleton)
        statement.bind(23, form?.checksum)
        try statement.run()
        try setReferences(of: row, form, entry, body, scope)
        recount(scope, row) { ($0.pin, $0.size) = (pin, size) }
        state.changedRows.append(RowKey(scope, entry.id))
        // It is its user's own row from now on.
        if row.keepsShared { try statements[.keep].run(row.number, 0) }
        if row.keepsShared || scope == index.sharedScope { try countKeepers(of: entry.id) }
    }

    /// Confirms a row's bytes without a new body, as a 304 does, if it still has the validators; nil
    /// where that is the cache's row, as there is none here, or a pin without bytes.
    func refresh(_ confirmed: Entry, in scope: ScopeKey) throws(StoreError) -> RefreshOutcome? {
        guard let row = try find(scope, confirmed.id) else { return nil }
        guard row.hasEntry else { return row.isTargeted ? .gone : nil }
        guard row.kind == .fetched, row.etag == confirmed.etag,
            row.lastModified == confirmed.lastModified, row.digest == confirmed.body.digest
        else { return .gone }
        var entry = confirmed
        entry.revision = row.revision
        let size =
            row.skeleton == nil ? entry.rowSize(in: scope, isChunked: row.body != nil) : row.size
        if row.isPinned, !row.isTargeted {
            try checkRoom(for: size, scope, replacing: row.size, paidBy: row.payer)
        }
        let pin: PinState? = row.isPinned ? .held : nil
        let statement = statements[.refresh]
        statement.bind(1, row.number)
        statement.bind(confirmed: entry, from: 2)
        statement.bind(7, size)
        statement.bind(8, pin?.rawValue)
        try statement.run()
        recount(scope, row) { ($0.pin, $0.size) = (pin, size) }
        state.changedRows.append(RowKey(scope, entry.id))
        return .refreshed(entry)
    }

    /// Leaves a row without an entry.
    func clear(_ row: FoundClaim, _ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        let size = Self.sizeWithoutEntry(scope, id, row.origin)
        try statements[.clearEntry].run(row.number, size)
        _ = try endHiding(row, of: scope, since: nil)
        try letGo(of: row, scope)
        state.changedRows.append(RowKey(scope, id))
        recount(scope, row) { $0.size = size }
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
        guard scope != index.sharedScope else { return try wantKept(id, found.kind == .fetched) }
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
        try letGo(of: row, scope)
        if !row.isReleased { try releaseVariants(of: id, scope) }
        try statements[.delete].run(row.number)
        recount(scope, from: row.charge, to: nil)
        state.changedRows.append(RowKey(scope, id))
    }

    /// Makes a row without an entry.
    func insert(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ origin: OriginName?,
        pin: PinState? = nil,
        at pinnedAt: Timestamp? = nil,
        isTargeted: Bool = false,
        keepsShared: Bool = false,
        isHeld: Bool = false,
        isInPins: Bool = false
    ) throws(StoreError) {
        let size = Self.sizeWithoutEntry(scope, id, origin?.text)
        let statement = statements[.insert]
        statement.bind(1, scope.text)
        statement.bind(2, id.text)
        statement.bind(3, origin?.text)
        statement.bind(4, size)
        statement.bind(5, isTargeted ? 1 : 0)
        statement.bind(6, keepsShared ? 1 : 0)
        statement.bind(7, pinnedAt?.milliseconds)
        statement.bind(8, pin?.rawValue)
        statement.bind(9, pin == .waiting ? 1 : 0)
        statement.bind(10, isHeld ? 1 : 0)
        statement.bind(11, isInPins ? 1 : 0)
        try statement.run()
        recount(scope, from: nil, to: ClaimCharge(pin: pin, isInPins: isInPins, size: size))
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

    /// What a row counts, and against which bound: a pinned one, and what came with it, against that of
    /// pins, every other against that of the queue.
    struct ClaimCharge {
        var pin: PinState?
        var isInPins: Bool
        var size: Int64
        /// Of a shared row in whose share it counts; it is a pin of nobody's.
        var payer: UInt32?
    }

    /// To be called by whatever changes a row.
    func recount(_ scope: ScopeKey, _ row: FoundClaim, _ change: (inout ClaimCharge) -> Void) {
        var charge = row.charge
        change(&charge)
        recount(scope, from: row.charge, to: charge)
    }

    /// To be called by whatever makes or removes a row.
    func recount(_ scope: ScopeKey, from old: ClaimCharge?, to new: ClaimCharge?) {
        let isKept = scope == index.sharedScope
        for (charge, sign) in [(old, -1), (new, 1)] as [(ClaimCharge?, Int64)] {
            guard let charge else { continue }
            let uid = isKept ? charge.payer : scope.scope.uid
            guard charge.pin != nil || charge.isInPins else {
                if let uid { state.queue[uid].bytes += sign * charge.size }
                continue
            }
            // One that users keep is a pin of theirs.
            let count = charge.pin == nil || charge.payer != nil ? 0 : sign
            state.pins.count += count
            state.pins.bytes += sign * charge.size
            if charge.pin == .waiting { state.pins.waiting += count }
            guard let uid else { continue }
            var user = state.pins.users[uid] ?? PinTotals.User()
            user.count += count
            user.bytes += sign * charge.size
            state.pins.users[uid] = user == PinTotals.User() ? nil : user
            if let pin = charge.pin, PinState.failures.contains(pin) {
                let sum = (state.pins.failed[uid] ?? 0) + count
                state.pins.failed[uid] = sum == 0 ? nil : sum
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
