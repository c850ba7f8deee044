import LarderModel

extension CacheWriter {
    /// A row as the writer finds it before it changes it.
    struct FoundRow {
        let key: RowKey
        let kind: EntryKind
        let revision: Revision
        let byteCount: Int
        let digest: Digest
        let body: Int64?
        let size: Int64
        let etag: String?
        let lastModified: String?
        /// Of an answer that is kept normalized, and the checksum of its template.
        let skeleton: Int64?
        let checksum: Int64?

        /// Whether its body stands in `state.db` alone.
        var isHead: Bool { body == EntryRow.bodyOfHead }
    }

    /// Looks through an id's slots: its row, or else the first free slot for it.
    func find(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> (FoundRow?, RowKey) {
        let first = RowKey(scope, id)
        let statement = statements.find
        statement.bind(1, first.number)
        statement.bind(2, first.last.number)
        defer { statement.reset() }
        var free = first.number
        while try statement.step() {
            let key = RowKey(statement.integer(0))
            // The last slot of the last hash is the highest number that there is.
            if key.number == free { free &+= 1 }
            guard statement.isText(1, scope.text), statement.isText(2, id.text) else { continue }
            return (try row(statement, at: key), key)
        }
        // All 16 slots taken by other ids: the last one gives way.
        let isTaken = free < first.number || free > first.last.number
        return (nil, isTaken ? first.last : RowKey(free))
    }

    private func row(
        _ statement: SQLiteStatement,
        at key: RowKey
    ) throws(StoreError) -> FoundRow {
        var numbers = RowNumbers(statement)
        return FoundRow(
            key: key,
            kind: EntryKind(rawValue: statement.integer(3)) ?? .blob,
            revision: numbers.revision(4),
            byteCount: numbers.byteCount(5),
            digest: statement.digest(6),
            body: statement.integerOrNil(8),
            size: try rowSize(statement, 9),
            etag: statement.text(10),
            lastModified: statement.text(11),
            skeleton: statement.integerOrNil(12),
            checksum: statement.integerOrNil(13)
        )
    }

    /// Stores an entry in place of the one under its id, and makes room for it.
    ///
    /// Equal bytes keep the old revision: whoever has seen that one has seen these. `given` is a
    /// revision that the entry has already.
    func put(
        _ new: NewEntry,
        given: Revision? = nil,
        now: Timestamp
    ) throws(StoreError) -> PutReceipt {
        let (old, key) = try find(new.scope, new.entry.id)
        let uploaded = try bodies.link(new.body, &state.bodies)
        let size = new.entry.rowSize(in: new.scope, isChunked: uploaded != nil)
        try checkSize(size, bodyBytes: new.entry.body.byteCount)
        if old == nil { try evictOccupant(of: key) }
        let isSame = old.map { $0.matches(new.entry) } ?? false
        var entry = new.entry
        if let given {
            entry.revision = given
            state.highestRevision = max(state.highestRevision, given)
        } else if isSame, let old {
            entry.revision = old.revision
        } else {
            entry.revision = try nextRevision()
        }
        if let old { try letGo(of: old) }
        try write(entry, at: key, scope: new.scope, body: new.body)
        try writeRecency(entry, at: key, size: size)
        noteChange(of: key)
        if given == nil, !isSame { try log(new.change(at: entry.revision)) }
        state.totals.bytes += size - (uploaded ?? 0) - (old?.size ?? 0)
        state.totals.entries += old == nil ? 1 : 0
        try makeRoom(for: size, keeping: [key], now: now)
        return PutReceipt(revision: entry.revision, isNew: old == nil, isSame: isSame)
    }

    func checkSize(_ size: Int64, bodyBytes: Int) throws(StoreError) {
        let limit = configuration.maxEntryBytes.bytes
        guard Int64(bodyBytes) <= limit else {
            throw .tooLarge(bytes: Int64(bodyBytes), limit: limit)
        }
        try checkBudget(size)
    }

    /// What would not fit into an empty cache: for good, or while the disk is short of space.
    func checkBudget(_ size: Int64) throws(StoreError) {
        guard size > state.totals.budget else { return }
        guard size <= configuration.maxBytes.bytes else {
            throw .tooLarge(bytes: size, limit: configuration.maxBytes.bytes)
        }
        throw .diskFull(file: database.path, step: "make room for \(size) bytes")
    }

    /// Whatever stands where a new id has to go: nothing, but for 17 ids with one hash.
    func evictOccupant(of key: RowKey) throws(StoreError) {
        guard key.number == key.last.number, try evict(key, .lru, nil) != nil else { return }
        state.totals.evictions += 1
    }

    /// Writes a row; `form` is the skeleton of a normalized answer and the checksum of its template.
    func write(
        _ entry: Entry,
        at key: RowKey,
        scope: ScopeKey,
        body: NewBody,
        form: (skeleton: Int64, checksum: Int64)? = nil,
        isHead: Bool = false
    ) throws(StoreError) {
        let statement = statements.putEntry
        statement.bind(1, key.number)
        statement.bind(2, scope.text)
        statement.bind(3, entry.id.text)
        statement.bind(entry, body, isHead: isHead, from: 4)
        statement.bind(20, form?.skeleton)
        statement.bind(21, form?.checksum)
        try statement.run()
    }

    func writeRecency(_ entry: Entry, at key: RowKey, size: Int64) throws(StoreError) {
        let statement = statements.putRecency
        statement.bind(1, key.number)
        statement.bind(2, shared.clock.tick())
        statement.bind(3, size)
        statement.bind(4, entry.storedAt.milliseconds)
        statement.bind(5, entry.kind == .blob ? entry.freshUntil?.milliseconds : nil)
        try statement.run()
    }

    /// Confirms a row's bytes without a new body, as a 304 does, if it still has `validators`.
    func refresh(
        _ confirmed: Entry,
        in scope: ScopeKey
    ) throws(StoreError) -> RefreshOutcome {
        let (found, key) = try find(scope, confirmed.id)
        guard let found, found.kind == .fetched, found.etag == confirmed.etag,
            found.lastModified == confirmed.lastModified, found.digest == confirmed.body.digest
        else { return .gone }
        var entry = confirmed
        entry.revision = found.revision
        let statement = statements.refreshEntry
        statement.bind(1, key.number)
        statement.bind(confirmed: entry, from: 2)
        try statement.run()
        // A normalized one counts its template, which stays.
        let size =
            found.skeleton == nil
            ? found.isHead
                ? entry.rowSize(in: scope, dataBytes: 0)
                : entry.rowSize(in: scope, isChunked: found.body != nil) : found.size
        statements.refreshRecency.bind(1, key.number)
        statements.refreshRecency.bind(2, entry.storedAt.milliseconds)
        statements.refreshRecency.bind(3, size)
        statements.refreshRecency.bind(4, shared.clock.tick())
        try statements.refreshRecency.run()
        noteChange(of: key)
        state.totals.bytes += size - found.size
        try makeRoom(for: size, keeping: [key], now: entry.storedAt)
        return .refreshed(entry)
    }
}
