import LarderModel

/// The one connection that writes and checkpoints `cache.db`.
///
/// UncheckedSendable to the thread of its ``StoreWriter``. A rolled back transaction restores its state in
/// memory, ``CacheWriterState``. It outlives the file: a new one takes the place of a lost one.
final class CacheWriter {
    let shared: SharedCacheState
    let revisions: RevisionSource
    var database: DatabaseFile { shared.cacheFile }
    var configuration: StoreConfiguration { shared.configuration }
    var findings: Findings { shared.findings }
    var reserve: Reserve { shared.reserves.cache }
    var state: CacheWriterState
    var file: CacheFile?
    /// An entity of `state.db`, which cached answers show too.
    var durableEntity: (TargetName) throws(StoreError) -> KnownEntity? = { _ in nil }
    var recreations = RecreationLimit()
    var bounds = CacheRoom.Bounds()
    /// The right to the folder; nil where it is the state's, and when the store is gone.
    private(set) weak var folder: CacheDirectoryLock?
    private var saved: CacheWriterState
    private var changesBefore: Int64 = 0
    private var takenTouches: [(log: TouchLog, ticks: [RowKey: Int64])] = []
    private var takenDirectUses: Set<RowKey> = []
    private var changedRows: [RowKey] = []

    /// `next` is the next revision that `state.db` had when it was opened.
    init(
        _ shared: SharedCacheState,
        _ revisions: RevisionSource,
        _ start: CacheStart,
        _ next: Int64
    ) {
        (self.shared, self.revisions) = (shared, revisions)
        folder = start.folder
        state = CacheWriterState(budget: shared.configuration.maxBytes.bytes)
        saved = state
        shared.publish(state.totals)
        reserve.take()
        do throws(StoreError) {
            let opening = try start.opening.get()
            let isWhole = opening.contents.hasWholeLog(boot: configuration.boot, next: next)
            try adopt(opening, isWhole: isWhole)
        } catch {
            goWithout(error)
        }
    }

    private var open: CacheFile {
        guard let file else { preconditionFailure("a command runs in a transaction") }
        return file
    }
    var hasChanged: Bool { connection.totalChanges != changesBefore }
    var connection: SQLiteConnection { open.connection }
    var statements: PreparedStatements<CacheStatement> { open.statements }
    var bodies: BodyTable { BodyTable(connection: connection, file: .cache) }
    var chunks: ChunkReader { ChunkReader(connection: connection) }
    var changeLog: ChangeLog { open.log }
    var references: ReferenceTable { open.references }
    var hidden: HiddenTable { open.hidden }

    var rows: CachedRows { CachedRows(cache: self) }
    var answers: CachedAnswers { CachedAnswers(cache: self) }
    var eviction: CacheEviction { CacheEviction(cache: self) }
    var room: CacheRoom { CacheRoom(cache: self) }
    var log: CacheLog { CacheLog(cache: self) }
    var clock: CacheClock { CacheClock(cache: self) }
    var hiding: CacheHiding { CacheHiding(cache: self) }

    // MARK: Transactions

    func begin() throws(StoreError) {
        saved = state
        guard let file else { throw shared.absence }
        changesBefore = file.connection.totalChanges
        try file.statements[.begin].run()
    }

    func commit() throws(StoreError) {
        guard state.totals.bytes >= 0, state.totals.entries >= 0 else {
            throw .corrupt(file: database.path, step: "sum up the rows")
        }
        if state.totals != saved.totals || state.highestRevision != saved.highestRevision {
            try setMeta("bytes", state.linkedBytes)
            try setMeta("entries", state.totals.entries)
            try setMeta("rev", state.highestRevision.number)
        }
        // The start moves before readers can miss the trimmed changes.
        if state.log.start != saved.log.start { shared.changes.setStart(.cache, state.log.start) }
        shared.stamps.commitBegins(changing: changedRows)
        do throws(StoreError) {
            try statements[.commit].run()
        } catch {
            shared.stamps.commitEnded()
            throw error
        }
        shared.publish(state.totals)
        shared.stamps.commitEnded()
        shared.changes.changed(state.log.changes)
        state.log.changes.removeAll(keepingCapacity: true)
        // After the commit is published, so that a watcher that is notified reads it.
        if state.hasUntold {
            shared.changes.isNotWhole()
            shared.watches.allChanged()
        } else {
            shared.watches.rowsChanged(changedRows)
        }
        state.hasUntold = false
        forgetTransaction()
    }

    func rollBack() {
        file?.connection.rollBack()
        file?.references.forget()
        state = saved
        for (log, ticks) in takenTouches { log.restore(ticks) }
        shared.noteDirectUses(takenDirectUses)
        forgetTransaction()
    }

    private func forgetTransaction() {
        takenTouches.removeAll()
        takenDirectUses.removeAll()
        changedRows.removeAll(keepingCapacity: true)
    }

    func nextRevision() throws(StoreError) -> Revision {
        let revision = try revisions.next()
        state.highestRevision = max(state.highestRevision, revision)
        return revision
    }

    /// A function that changes a row calls this, so that the row's watchers are notified.
    func noteChange(of key: RowKey) { changedRows.append(key) }

    /// Runs work that adds about `bytes`, for which protected rows may leave no room.
    ///
    /// If there is no room, the work is undone, and nothing was evicted for it.
    func attempt<Value>(
        _ bytes: Int,
        _ work: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let most = state.totals.bytes + Int64(bytes + Limits.inlineBodyBytesMax)
        guard most > state.totals.budget else { return try work() }
        // Uses that are written down stay so.
        try flushTouches()
        try connection.execute("SAVEPOINT attempt")
        let before = state
        do throws(StoreError) {
            let value = try work()
            try connection.execute("RELEASE attempt")
            return value
        } catch {
            guard case .noRoom = error else { throw error }
            try connection.execute("ROLLBACK TO attempt; RELEASE attempt")
            references.forget()
            state = before
            throw error
        }
    }

    // MARK: Uses

    func flushTouches() throws(StoreError) {
        for log in shared.touchLogs {
            let ticks = log.drain()
            guard !ticks.isEmpty else { continue }
            takenTouches.append((log, ticks))
            // In the order of the table, so that each of its pages is written once.
            for (key, tick) in ticks.sorted(by: { $0.key.number < $1.key.number }) {
                try statements[.touch].run((":key", key.number), (":used", tick))
            }
        }
        let direct = shared.takeDirectUses()
        takenDirectUses.formUnion(direct)
        for key in direct { try statements[.markDirect].run((":key", key.number)) }
    }

    func count(_ added: Int64, of owner: Int64) {
        state.totals.bytes += added
        state.owners.add(added, to: owner)
    }

    func rowSize(
        _ statement: SQLiteStatement,
        _ column: some SQLiteColumn
    ) throws(StoreError) -> Int64 {
        let size = statement.integer(column)
        guard Limits.rowBytes.contains(size) else {
            throw .corrupt(file: database.path, step: "read a row's size")
        }
        return size
    }

    func setMeta(_ name: String, _ value: Int64?) throws(StoreError) {
        guard let value else { return try statements[.deleteMeta].run((":name", name)) }
        try statements[.setMeta].run((":name", name), (":value", value))
    }

    // MARK: Bodies too large for a row

    func beginUpload() throws(StoreError) -> UploadID {
        let upload = try bodies.begin(&state.bodies)
        shared.noteBody(upload.body)
        return upload
    }

    func append(_ chunk: [UInt8], to upload: UploadID, now: Timestamp) throws(StoreError) {
        let added = BodyState.size(of: chunk)
        try room.checkBudget(try state.bodies.upload(upload).size + added)
        try bodies.append(chunk, to: upload, &state.bodies)
        state.totals.bytes += added
        try eviction.makeRoom(for: added, keeping: [], now: now)
    }

    func forget(_ upload: UploadID) { state.totals.bytes -= state.bodies.forget(upload) }
}

struct CacheWriterState {
    var totals = StoreTotals()
    var highestRevision = Revision(0)
    var log = ChangeLogState()
    var isShrinking = false
    var positions: [EvictionOrder: EvictionPosition] = [:]
    var owners = OwnerTotals()
    var bodies = BodyState()
    /// Entities that have lost a reference, perhaps the last one.
    var orphans: [RowKey] = []
    /// Whether the open transaction has changed views without saying which.
    var hasUntold = false

    /// The total in the file, without uploads: after a crash they are not in it.
    var linkedBytes: Int64 { totals.bytes - bodies.uploadedBytes }

    mutating func noteOrphans(_ keys: [Int64]) {
        orphans += keys.prefix(max(0, Limits.orphansMax - orphans.count)).map(RowKey.init)
    }

    init(_ contents: CacheContents? = nil, budget: Int64) {
        totals.budget = budget
        guard let contents else { return }
        totals.bytes = contents.bytes
        totals.entries = contents.entries
        owners = contents.owners
        highestRevision = contents.highestRevision
        bodies = BodyState(unlinked: contents.unlinkedBodies)
    }
}

/// The bytes of each user's rows in `cache.db`; rows that all users share belong to no user.
struct OwnerTotals: Equatable {
    /// The column `owner` of a row that all users share.
    static let shared: Int64 = -1
    static let owners = shared...Int64(UInt32.max)

    private(set) var bytes: [Int64: Int64] = [:]

    init() {}

    /// Throws `corrupt` for an impossible owner or sum.
    init(reading connection: SQLiteConnection) throws(StoreError) {
        let totals = "SELECT owner, total(size) AS bytes FROM recency GROUP BY owner"
        let sums = try connection.prepare(totals)
        while try sums.step() {
            let (owner, sum) = (sums.integer("owner"), sums.integer("bytes"))
            guard Self.owners.contains(owner), Limits.accountedBytes.contains(sum) else {
                throw .corrupt(file: connection.path, step: "sum up the rows of each user")
            }
            add(sum, to: owner)
        }
    }

    mutating func add(_ added: Int64, to owner: Int64) {
        guard owner != Self.shared else { return }
        let sum = (bytes[owner] ?? 0) + added
        bytes[owner] = sum > 0 ? sum : nil
    }

    /// The user with the most bytes above `share`, as far as there is more than one user.
    func largest(above share: Int64, where isWanted: (Int64) -> Bool) -> Int64? {
        guard bytes.count > 1 else { return nil }
        let wanted = bytes.filter { $0.value > share && isWanted($0.key) }
        return wanted.max { ($0.value, -$0.key) < ($1.value, -$1.key) }?.key
    }
}
