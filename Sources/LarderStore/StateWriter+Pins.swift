import LarderModel

extension StateWriter {
    /// A pin as the writer finds it before it changes it.
    struct FoundPin {
        let number: Int64
        /// Nil while there are no bytes.
        let kind: EntryKind?
        let revision: Revision
        let byteCount: Int
        let digest: Digest
        let body: Int64?
        let size: Int64
        let state: PinState
        let etag: String?
        let lastModified: String?
        let origin: String?
        let goneStatus: Int64?
        let isWanted: Bool

        var hasBytes: Bool { kind != nil }
    }

    /// A pin with its body where it stands.
    struct PinnedEntry: Sendable {
        let pin: Pin
        let inline: [UInt8]
        let chunked: ChunkedBody?
    }

    /// What a put into a pin came to.
    enum PinPut {
        case notPinned
        case stored(PutReceipt, hadBytes: Bool)
    }

    /// What a confirmation of a pin's bytes came to.
    enum PinRefresh {
        case notPinned
        case noBytes
        case refreshed(RefreshOutcome)
    }

    func find(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> FoundPin? {
        let statement = statements.find
        statement.bind(1, scope.text)
        statement.bind(2, id.text)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return FoundPin(
            number: statement.integer(0),
            kind: statement.integerOrNil(1).map { EntryKind(rawValue: $0) ?? .blob },
            revision: Revision(statement.integer(2)),
            byteCount: Int(statement.integer(3)),
            digest: Digest(
                high: UInt64(bitPattern: statement.integer(4)),
                low: UInt64(bitPattern: statement.integer(5))
            ),
            body: statement.integerOrNil(6),
            size: statement.integer(7),
            state: PinState(rawValue: statement.integer(8)) ?? .failed,
            etag: statement.text(9),
            lastModified: statement.text(10),
            origin: statement.text(11),
            goneStatus: statement.integerOrNil(12),
            isWanted: statement.integer(13) != 0
        )
    }

    /// A pin with the body that stands in its row; nil when there is none.
    func pin(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> PinnedEntry? {
        let statement = statements.get
        statement.bind(1, scope.text)
        statement.bind(2, id.text)
        defer { statement.reset() }
        guard try statement.step(), let pin = Pin(statement) else { return nil }
        let row = EntryRow(statement, file: .state)
        return PinnedEntry(
            pin: pin,
            inline: row.withBody { Array($0) },
            chunked: row.chunkedBody
        )
    }

    // MARK: Marks

    /// Makes a pin that waits for its bytes, or has one that has none wait for them again.
    ///
    /// One that has bytes stays as it is.
    func mark(
        _ scope: ScopeKey,
        _ id: EntryID,
        origin: OriginName?,
        now: Timestamp
    ) throws(StoreError) -> (hasBytes: Bool, isNew: Bool) {
        if let found = try find(scope, id) {
            guard !found.hasBytes else { return (true, false) }
            try setState(of: found, .waiting, nil, isWanted: true)
            return (false, false)
        }
        try insert(scope, id, origin: origin, state: .waiting, now: now)
        return (false, true)
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
        guard let found = try find(scope, id) else { return false }
        guard !found.hasBytes || newState == .tooLarge else { return true }
        try setState(of: found, newState, trouble, isWanted: false)
        return true
    }

    /// The origin has deleted what is pinned: the bytes stay; false when there are none.
    func bury(_ scope: ScopeKey, _ id: EntryID, status: Int) throws(StoreError) -> Bool {
        guard let found = try find(scope, id), found.hasBytes else { return false }
        let trouble = PinTrouble(
            problem: "deleted",
            reason: "the origin answered \(status): it has deleted it"
        )
        state.changedRows.append(RowKey(scope, id))
        try setState(of: found, .gone, trouble, goneStatus: Int64(status), isWanted: false)
        return true
    }

    /// Drops bytes that do not match their checksum, unless there are others by now.
    ///
    /// Where they came from an origin they are wanted from then on.
    func dropDamaged(
        _ scope: ScopeKey,
        _ id: EntryID,
        where isDamaged: (FoundPin) -> Bool
    ) throws(StoreError) {
        guard let found = try find(scope, id), found.hasBytes, isDamaged(found) else { return }
        let trouble = PinTrouble(
            problem: "storage",
            reason: "its bytes were damaged on the disk"
        )
        let isWanted = found.kind == .fetched
        try setState(of: found, .failed, trouble, isWanted: isWanted)
        let size = Self.sizeWithoutBytes(scope, id, found.origin)
        statements.clearEntry.bind(1, found.number)
        statements.clearEntry.bind(2, size)
        try statements.clearEntry.run()
        if let body = found.body { try unlink(body: body) }
        state.changedRows.append(RowKey(scope, id))
        state.totals.bytes += size - found.size
        state.totals.damaged += 1
        state.hasNews = isWanted
    }

    /// Takes a pin away with its bytes; false when there was none.
    func removePin(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Bool {
        guard let found = try find(scope, id) else { return false }
        statements.delete.bind(1, found.number)
        try statements.delete.run()
        if let body = found.body { try unlink(body: body) }
        state.totals.count -= 1
        state.totals.bytes -= found.size
        state.changedRows.append(RowKey(scope, id))
        if found.state == .waiting { state.totals.waiting -= 1 }
        return true
    }

    private func setState(
        of pin: FoundPin,
        _ newState: PinState,
        _ trouble: PinTrouble?,
        goneStatus: Int64? = nil,
        isWanted: Bool
    ) throws(StoreError) {
        let statement = statements.setState
        statement.bind(1, pin.number)
        statement.bind(2, newState.rawValue)
        statement.bind(3, trouble?.problem)
        statement.bind(4, trouble?.reason)
        statement.bind(5, goneStatus)
        statement.bind(6, isWanted ? 1 : 0)
        try statement.run()
        count(from: pin.state, to: newState)
    }

    private func count(from old: PinState, to new: PinState) {
        if old == .waiting { state.totals.waiting -= 1 }
        if new == .waiting { state.totals.waiting += 1 }
    }

    private func insert(
        _ scope: ScopeKey,
        _ id: EntryID,
        origin: OriginName?,
        state newState: PinState,
        now: Timestamp
    ) throws(StoreError) {
        try checkCount(scope)
        let size = Self.sizeWithoutBytes(scope, id, origin?.text)
        try checkRoom(for: size, replacing: 0)
        let statement = statements.insert
        statement.bind(1, scope.text)
        statement.bind(2, id.text)
        statement.bind(3, origin?.text)
        statement.bind(4, size)
        statement.bind(5, now.milliseconds)
        statement.bind(6, newState.rawValue)
        statement.bind(7, newState == .waiting ? 1 : 0)
        try statement.run()
        state.totals.count += 1
        state.totals.bytes += size
        if newState == .waiting { state.totals.waiting += 1 }
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

    private static func sizeWithoutBytes(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ origin: String?
    ) -> Int64 {
        Int64(
            Limits.rowOverheadBytes + scope.text.utf8.count + id.text.utf8.count
                + (origin?.utf8.count ?? 0)
        )
    }
}

// MARK: Bytes

extension StateWriter {
    /// Stores an entry in its pin, in place of what that holds; the entry has its revision.
    ///
    /// Equal bytes keep the old revision. `pinnedAt` makes a pin where there is none. When there is
    /// no room the pin is as it was before.
    func put(_ new: NewEntry, pinnedAt: Timestamp? = nil) throws(StoreError) -> PinPut {
        let old = try find(new.scope, new.entry.id)
        guard old != nil || pinnedAt != nil else { return .notPinned }
        let size = new.entry.rowSize(in: new.scope, isChunked: new.body.isUploaded)
        try checkRoom(for: size, replacing: old?.size ?? 0)
        if old == nil, let pinnedAt { try make(new, pinnedAt) }
        guard let pin = try find(new.scope, new.entry.id) else { return .notPinned }
        let isSame = pin.hasBytes && pin.matches(new.entry)
        var entry = new.entry
        if isSame { entry.revision = pin.revision }
        try link(new.body)
        if let replaced = pin.body { try unlink(body: replaced) }
        try write(entry, new.body, size: size, to: pin)
        state.totals.bytes += size - pin.size
        count(from: pin.state, to: .held)
        state.changedRows.append(RowKey(new.scope, new.entry.id))
        if pin.isWanted { state.hasNews = true }
        let receipt = PutReceipt(
            revision: entry.revision,
            isNew: !pin.hasBytes,
            isSame: isSame
        )
        return .stored(receipt, hadBytes: pin.hasBytes)
    }

    /// Throws unless an entry of this size fits in place of what an id's pin holds.
    func checkRoom(
        for size: Int64,
        _ scope: ScopeKey,
        _ id: EntryID
    ) throws(StoreError) {
        try checkRoom(for: size, replacing: try find(scope, id)?.size ?? 0)
    }

    private func checkRoom(for size: Int64, replacing old: Int64) throws(StoreError) {
        guard state.totals.bytes - old + size <= state.totals.maxBytes else {
            throw .pinsFull(bytes: size, limit: state.totals.maxBytes)
        }
    }

    private func make(_ new: NewEntry, _ now: Timestamp) throws(StoreError) {
        let origin = new.entry.origin
        try insert(new.scope, new.entry.id, origin: origin, state: .held, now: now)
    }

    private func write(
        _ entry: Entry,
        _ body: NewBody,
        size: Int64,
        to pin: FoundPin
    ) throws(StoreError) {
        let statement = statements.setEntry
        statement.bind(1, pin.number)
        statement.bind(2, entry.kind.rawValue)
        statement.bind(3, entry.storedAt.milliseconds)
        statement.bind(4, entry.freshUntil?.milliseconds)
        statement.bind(5, entry.revision.number)
        statement.bind(6, entry.origin?.text)
        statement.bind(7, Int64(entry.status))
        statement.bind(8, entry.mediaType)
        statement.bind(9, entry.etag)
        statement.bind(10, entry.lastModified)
        statement.bind(11, entry.headers.lines)
        statement.bind(12, Int64(entry.body.byteCount))
        statement.bind(13, entry.body.isJSON ? 1 : 0)
        statement.bind(14, Int64(bitPattern: entry.body.digest.high))
        statement.bind(15, Int64(bitPattern: entry.body.digest.low))
        switch body {
        case .inline(let bytes):
            statement.bind(16, Int64?.none)
            statement.bind(17, bytes)
        case .uploaded(let upload):
            statement.bind(16, upload.body)
            statement.bind(17, [UInt8]?.none)
        }
        statement.bind(18, size)
        statement.bind(19, PinState.held.rawValue)
        try statement.run()
    }

    /// Confirms a pin's bytes without a new body, as a 304 does, if it still has the validators.
    func refresh(_ confirmed: Entry, in scope: ScopeKey) throws(StoreError) -> PinRefresh {
        guard let pin = try find(scope, confirmed.id) else { return .notPinned }
        guard pin.hasBytes else { return .noBytes }
        guard pin.kind == .fetched, pin.etag == confirmed.etag,
            pin.lastModified == confirmed.lastModified, pin.digest == confirmed.body.digest
        else { return .refreshed(.gone) }
        var entry = confirmed
        entry.revision = pin.revision
        let size = entry.rowSize(in: scope, isChunked: pin.body != nil)
        try checkRoom(for: size, replacing: pin.size)
        let statement = statements.refresh
        statement.bind(1, pin.number)
        statement.bind(2, entry.storedAt.milliseconds)
        statement.bind(3, entry.freshUntil?.milliseconds)
        statement.bind(4, entry.headers.lines)
        statement.bind(5, entry.origin?.text)
        statement.bind(6, entry.mediaType)
        statement.bind(7, size)
        statement.bind(8, PinState.held.rawValue)
        try statement.run()
        state.totals.bytes += size - pin.size
        count(from: pin.state, to: .held)
        state.changedRows.append(RowKey(scope, entry.id))
        return .refreshed(.refreshed(entry))
    }
}

extension StateWriter.FoundPin {
    /// Whether the pin has the bytes that an entry brings.
    fileprivate func matches(_ entry: Entry) -> Bool {
        kind == entry.kind && byteCount == entry.body.byteCount && digest == entry.body.digest
    }
}
