package import LarderModel

/// Reads both files, owned by one event loop or one queue: single rows; ``lists`` and the others
/// read the rest, in the same transactions.
package final class StoreReader {
    let cache: CacheReader
    let shared: SharedCacheState
    let touches = TouchLog()
    let state: StateFile
    /// Whether reads of any durable id, not only of uncertain ones, look into `state.db`.
    var looksIntoState = false
    package let loopBudget = LoopReadBudget()
    var notes: ReadSet?
    private var openedState: StateReader?

    init(cacheBytes: Int64, _ shared: SharedCacheState, _ state: StateFile) {
        cache = CacheReader(cacheBytes: cacheBytes, shared, state.commits)
        self.shared = shared
        self.state = state
        shared.add(touches)
    }

    package var lists: ListReader { ListReader(reader: self) }
    package var answers: AnswerReader { AnswerReader(reader: self) }
    package var targets: TargetReader { TargetReader(reader: self) }
    package var changes: ChangeReader { ChangeReader(reader: self) }
    package var usage: UsageReader { UsageReader(reader: self) }
    package var bodies: ChunkSource { ChunkSource(reader: self) }
    package func key(for scope: Scope) -> ScopeKey { shared.key(for: scope) }

    /// Scopes whose rows may be shown to a scope.
    package func places(of scope: ScopeKey) -> [ScopeKey] { shared.places(of: scope) }

    /// Hands an id's row to `read`; nil when there is none.
    ///
    /// A tombstone is a row; a blob past its `ttl` is not. A row with a wrong checksum is skipped
    /// and counted. So is a row in damaged pages, because the writer is about to replace the file.
    /// `isUse` says whether this counts as a use. The reader asks `state.db` first, then the cache,
    /// then `state.db` again.
    package func withEntry<Value>(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        isUse: Bool = true,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> Value? {
        if let saved = try withSaved(scope, id, now: now, read) { return saved }
        let moves = shared.residency.moves
        if let value = try withCached(scope, id, now: now, isUse: isUse, read) { return value }
        if let saved = try withSaved(scope, id, now: now, read) { return saved }
        guard shared.residency.moves != moves else { return nil }
        // The row may have moved into the cache after that was read, and before `state.db` was read
        // again.
        return try withCached(scope, id, now: now, isUse: isUse, read)
    }

    /// Hands the saved row of an id to `read`; nil if there is none, and a nil value for a damaged
    /// row.
    ///
    /// A pin outlives the `ttl` of its blob, and reading it is no use that eviction counts.
    func withSaved<Value>(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> Value?? {
        guard let place = shared.residency.place(scope, id) else { return nil }
        var damaged: Digest?
        let state = try stateReader(of: place)
        let value = try state.withEntry(scope, id) { row -> Value? in
            guard row.isSound else {
                damaged = row.digest
                return nil
            }
            return place.isReleased && row.isExpired(at: now) ? nil : read(row)
        }
        if let damaged { self.state.dropDamaged(scope, id) { $0.digest == damaged } }
        return value
    }

    /// The reader of `state.db` for one row.
    ///
    /// If no modifier targets the row, results stay valid as long as the row does not change.
    func stateReader(of place: ResidencyIndex.RowLocation) throws(StoreError) -> StateReader {
        guard place.targets == 0 else { return try stateReader() }
        notes?.add(place.row)
        return try openStateReader()
    }

    /// Hands the saved row of an id to `read` where that row alone is what its client sees; false
    /// else.
    func plainSavedRow(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        _ read: (borrowing EntryRow) -> Void
    ) throws(StoreError) -> Bool {
        let hasRules = !shared.origins.rules.isEmpty
        let mayExpire = shared.residency.place(scope, id)?.isReleased ?? true
        notes?.add(RowKey(scope, id))
        return try openStateReader().withEntry(scope, id) { row -> Bool in
            guard row.kind == .blob || row.kind == .fetched, row.isSound, row.isComplete,
                !mayExpire || !row.isExpired(at: now)
            else { return false }
            // An answer of an origin with rules may show newer entities than were saved with it.
            if hasRules, row.kind == .fetched, row.isJSON { return false }
            read(row)
            return true
        } ?? false
    }

    /// The request of a read with a body whose answer is lost: its durable row keeps the request.
    package func lostRequest(
        _ scope: ScopeKey,
        _ id: EntryID
    ) throws(StoreError) -> RequestContent? {
        guard shared.residency.covers(scope, id) else { return nil }
        return try stateReader().claim("request", TargetName(scope, id)).first { row in
            row.isNull(.only) ? nil : RequestContent(stored: row.bytes(.only), id: id)
        }
    }

    func letStateGo() { openedState?.letGo() }

    /// The reader of `state.db`, which sees one commit from now on within ``inConsistentSnapshot(_:)``.
    func stateReader() throws(StoreError) -> StateReader {
        notes?.looksIntoState = true
        return try openStateReader()
    }

    func openStateReader() throws(StoreError) -> StateReader {
        let state: StateReader
        if let openedState {
            state = openedState
        } else {
            let connection = try self.state.file.openReader(cacheBytes: Limits.statePageCacheBytes)
            state = try StateReader(connection, shared)
            state.loopBudget = loopBudget
            openedState = state
        }
        if cache.hold != .none { try state.hold() }
        return state
    }

    /// The reader of `state.db` while it sees one commit; nil if nothing was read of the file.
    var heldState: StateReader? { openedState?.isHeld == true ? openedState : nil }

    @inline(__always) func withCached<Value>(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        isUse: Bool,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> Value? {
        do throws(StoreError) {
            guard let file = try cache.openTransaction() else { return nil }
            let key = RowKey(scope, id)
            notes?.add(key)
            defer { file.get.reset() }
            guard try file.find(key, scope, id) else { return nil }
            let row = EntryRow(file.get)
            guard row.isSound else {
                shared.countDamagedRow()
                return nil
            }
            if row.isExpired(at: now) { return nil }
            if isUse { noteUse(of: key) }
            return read(row)
        } catch {
            guard cache.wasLost(after: error) else { throw error }
            if error.meansDamage(of: shared.cacheFile) { shared.countDamagedRow() }
            return nil
        }
    }

    @inline(__always) func noteUse(of key: RowKey) {
        if let count = touches.touch(key, at: shared.clock.tick()) { noted(1, of: count) }
    }

    @inline(__always) func noteUse(_ use: RowUse) {
        let rows = use.keys.count
        if let count = touches.touch(use, at: shared.clock.tick(rows)) { noted(rows, of: count) }
    }

    private func noted(_ rows: Int, of count: Int) {
        if count == rows { shared.maintenanceTrigger.want() }
        guard count / Limits.touchesMax > (count - rows) / Limits.touchesMax else { return }
        state.commits.post { writer throws(StoreError) in try writer.cache.flushTouches() }
    }

    /// Hands an id's row in `cache.db` to `read`, sound or not; this counts as no use of it.
    func withRow<Value>(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> Value? {
        try cache.reading { file throws(StoreError) in
            defer { file.get.reset() }
            let key = RowKey(scope, id)
            notes?.add(key)
            guard try file.find(key, scope, id) else { return nil }
            let row = EntryRow(file.get)
            return read(row)
        } ?? nil
    }

    package func entry(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp,
        isUse: Bool = false
    ) throws(StoreError) -> Entry? {
        try withEntry(scope, id, now: now, isUse: isUse) { $0.entry() } ?? nil
    }

    package func check() throws(StoreError) {
        try cache.reading { file throws(StoreError) in
            _ = try file.connection.integer("SELECT count(*) FROM meta")
        }
    }

    /// Told once whenever a transaction was opened, so that the owner can see to its end.
    package var transactionOpened: () -> Void {
        get { cache.transactionOpened }
        set { cache.transactionOpened = newValue }
    }

    package func endTransaction() { cache.endTransaction() }

    /// Whether a row of `place` is hidden from the user of a scope.
    ///
    /// A shared row is hidden if a row of the user's own came before it. Call it at one moment with
    /// the read of the row.
    package func isHidden(_ id: EntryID, in place: ScopeKey, from scope: ScopeKey) -> Bool {
        guard shared.mayHideRows, place.scope == .shared, scope.scope != .shared else {
            return false
        }
        let key = RowKey(place, id)
        notes?.add(key)
        do throws(StoreError) {
            if let claim = shared.residency.place(place, id),
                let isHidden = try stateReader(of: claim).isHidden(id, from: scope)
            {
                return isHidden
            }
            return try cache.reading { file throws(StoreError) in
                try file.hidden.contains(key.number, scope.text)
            } ?? false
        } catch {
            // The writer has heard of it. A row that may be hidden is not shown.
            return true
        }
    }
}
