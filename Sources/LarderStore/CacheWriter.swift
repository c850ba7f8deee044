import LarderModel

/// The one connection that writes `cache.db`, and alone checkpoints it.
///
/// Confined to the thread of its ``StoreWriter``. What it keeps in memory beside the file is
/// ``CacheWriterState``, which goes back with a transaction that is rolled back. It outlives the
/// file: when that is lost another one takes its place; see `CacheWriter+File.swift`.
final class CacheWriter {
    let configuration: StoreConfiguration
    let shared: SharedCacheState
    let revisions: RevisionSource
    let database: DatabaseFile
    let findings: Findings
    /// The moment by which it is told how often the file was made anew.
    let now: @Sendable () -> Timestamp
    var state: CacheWriterState
    /// The open file; nil while there is none.
    var file: CacheFile?
    var recreations = RecreationLimit()
    let reserve: Reserve
    /// How far the cache shrinks, at most, so that the reserve can be taken again; nil while it is
    /// held.
    var roomFloorBytes: Int64?
    /// How far the cache shrinks, at most, for a disk or a quota that is short; nil while neither is.
    var pressureFloorBytes: Int64?
    /// How much a quota lets the cache hold, as failures have shown; nil while nothing is known.
    var learnedBudget: Int64?
    /// The right to the folder; nil where it is the state's, and when the store is gone.
    private(set) weak var folder: FolderHold?
    private var saved: CacheWriterState
    private var changesBefore: Int64 = 0
    private var bytesAfterRebuild: Int64 = 0
    /// Uses taken from the logs by the open transaction.
    private var takenTouches: [(log: TouchLog, ticks: [RowKey: Int64])] = []
    /// Uses of entities by their keys, taken by the open transaction.
    private var takenDirectUses: Set<RowKey> = []
    /// Rows that the open transaction has written, confirmed or taken away.
    private var changedRows: [RowKey] = []

    /// Has no file until ``adopt(_:)`` or ``look()``.
    init(
        configuration: StoreConfiguration,
        database: DatabaseFile,
        shared: SharedCacheState,
        revisions: RevisionSource,
        findings: Findings,
        reserve: Reserve,
        folder: FolderHold?,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.configuration = configuration
        self.database = database
        self.shared = shared
        self.revisions = revisions
        self.findings = findings
        self.reserve = reserve
        self.folder = folder
        self.now = now
        state = CacheWriterState(budget: configuration.maxBytes.bytes)
        saved = state
        shared.publish(state.totals)
    }

    /// Commands and housekeeping run only after ``begin()``, which needs a file.
    private var open: CacheFile {
        guard let file else { preconditionFailure("a command runs in a transaction") }
        return file
    }
    /// Whether the open transaction has changed the file.
    var hasChanged: Bool { connection.totalChanges != changesBefore }
    var connection: SQLiteConnection { open.connection }
    var statements: PreparedStatements<CacheStatement> { open.statements }
    var bodies: BodyTable { open.bodies }
    var chunks: ChunkReader { open.chunks }
    var references: ReferenceTable { open.references }
    var tables: AnswerTables { open.tables }

    // MARK: Transactions

    func begin() throws(StoreError) {
        saved = state
        guard let file else { throw shared.absence }
        changesBefore = file.connection.totalChanges
        try file.statements[.begin].run()
    }

    /// Commits, and makes the commit known to readers before anybody is answered.
    func commit() throws(StoreError) {
        guard state.totals.bytes >= 0, state.totals.entries >= 0 else {
            throw .corrupt(file: database.path, step: "sum up the rows")
        }
        if state.totals != saved.totals || state.highestRevision != saved.highestRevision {
            try setMeta("bytes", state.linkedBytes)
            try setMeta("entries", state.totals.entries)
            try setMeta("rev", state.highestRevision.number)
        }
        // Before what was trimmed is gone for whoever reads.
        if state.log.start != saved.log.start {
            shared.changes.setStart(.cache, state.log.start)
        }
        shared.stamps.commitBegins(changing: changedRows)
        do throws(StoreError) {
            try statements[.commit].run()
        } catch {
            shared.stamps.commitEnded()
            throw error
        }
        takenTouches.removeAll()
        takenDirectUses.removeAll()
        shared.publish(state.totals)
        shared.stamps.commitEnded()
        shared.changes.changed(state.log.changes)
        if state.hasUntold { shared.changes.isNotWhole() }
        state.log.changes.removeAll(keepingCapacity: true)
        // After the commit is published, so that whoever is told reads it.
        if state.hasUntold {
            shared.watches.allChanged()
        } else {
            shared.watches.rowsChanged(changedRows)
        }
        state.hasUntold = false
        changedRows.removeAll(keepingCapacity: true)
    }

    func rollBack() {
        file?.connection.rollBack()
        file?.references.forget()
        state = saved
        for (log, ticks) in takenTouches {
            log.restore(ticks)
        }
        shared.noteDirectUses(takenDirectUses)
        takenTouches.removeAll()
        takenDirectUses.removeAll()
        changedRows.removeAll(keepingCapacity: true)
    }

    /// Takes a number for a step of the open transaction.
    func nextRevision() throws(StoreError) -> Revision {
        let revision = try revisions.next()
        state.highestRevision = max(state.highestRevision, revision)
        return revision
    }

    /// To be called by whatever changes a row, so that those who watch it hear of it.
    func noteChange(of key: RowKey) {
        changedRows.append(key)
    }

    // MARK: Uses

    /// Writes down every use that readers have seen since the last time.
    func flushTouches() throws(StoreError) {
        for log in shared.touchLogs() {
            let ticks = log.drain()
            guard !ticks.isEmpty else { continue }
            takenTouches.append((log, ticks))
            // In the order of the table, so that each of its pages is written once.
            for (key, tick) in ticks.sorted(by: { $0.key.number < $1.key.number }) {
                try statements[.touch].run(key.number, tick)
            }
        }
        let direct = shared.takeDirectUses()
        takenDirectUses.formUnion(direct)
        for key in direct {
            try statements[.markDirect].run(key.number)
        }
    }

    // MARK: Space

    /// Sets what the cache may hold now: what it holds, and what is free beyond the minimum; while
    /// the reserve is not held, also beyond that, though never less than three quarters of what it
    /// held when it was released.
    ///
    /// Free pages of the file count as free, as the next idle moments give them back; else each
    /// look would take once more what the one before has evicted.
    func measureSpace() throws(StoreError) {
        state.totals.budget = configuration.maxBytes.bytes
        let wanted = configuration.minFreeBytes.bytes
        if wanted > 0 || !reserve.isHeld,
            let free = configuration.freeBytes(configuration.cacheDirectory)
        {
            let pages = try connection.integer("PRAGMA freelist_count") ?? 0
            let most = state.totals.bytes + free + pages * 4_096
            if wanted > 0 { leave(wanted, free: free, most: most) }
            if !reserve.isHeld {
                let floor = roomFloorBytes ?? state.totals.bytes
                lowerBudget(to: max(floor, most - wanted - reserve.bytesNeeded))
            }
        }
        if let learnedBudget { lowerBudget(to: learnedBudget) }
        state.totals.isPressed = state.totals.budget < configuration.maxBytes.bytes
        if state.totals.bytes > state.totals.budget { state.isShrinking = true }
    }

    /// Leaves so much free on the disk: first by storing no more than there is, and only with less
    /// than half of it free by eviction, down to half of what was there when the disk became short.
    ///
    /// Whoever else fills the disk would otherwise cost every user the whole cache.
    private func leave(_ wanted: Int64, free: Int64, most: Int64) {
        guard free < wanted else {
            pressureFloorBytes = nil
            return lowerBudget(to: most - wanted)
        }
        let bytes = state.totals.bytes
        let floor = pressureFloorBytes ?? bytes / 2
        pressureFloorBytes = floor
        lowerBudget(to: max(floor, free < wanted / 2 ? min(bytes, most - wanted) : bytes))
    }

    private func lowerBudget(to bytes: Int64) {
        state.totals.budget = min(state.totals.budget, max(0, bytes))
    }

    var lowWatermarkBytes: Int64 {
        Int64(Double(state.totals.budget) * configuration.lowWatermark)
    }

    /// Writes the file anew if it is so much larger than what it holds that this is worth it: pages
    /// half empty, which an incremental vacuum does not find.
    ///
    /// What it has then it needs, and the next time waits until it has doubled: long ids take more
    /// in their index than they count.
    func rebuildIfWorthIt() throws(StoreError) {
        guard file != nil else { return }
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let free = try connection.integer("PRAGMA freelist_count") ?? 0
        let used = (pages - free) * 4_096
        guard used > 2 * max(state.totals.bytes, bytesAfterRebuild) + Limits.rebuildBytesMin else {
            return
        }
        try connection.execute("VACUUM")
        bytesAfterRebuild = (try connection.integer("PRAGMA page_count") ?? 0) * 4_096
    }
}

/// What a writer remembers beside its file.
struct CacheWriterState {
    var totals = StoreTotals()
    var highestRevision = Revision(0)
    var log = ChangeLogState()
    /// Whether eviction is on its way to the low watermark.
    var isShrinking = false
    var positions: [EvictionOrder: EvictionPosition] = [:]
    var owners = OwnerTotals()
    var bodies = BodyState()
    /// Entities that something has ceased to refer to: nothing may be left that does.
    var orphans: [RowKey] = []
    /// The open transaction has changed what entries show, and has not said which.
    var hasUntold = false

    /// What the file's total says: an upload is counted in memory only, so that one which a crash
    /// cuts off is not counted for ever.
    var linkedBytes: Int64 { totals.bytes - bodies.uploadedBytes }

    /// Of no file.
    init(budget: Int64) {
        totals.budget = budget
    }

    init(_ contents: CacheContents, budget: Int64) {
        totals.bytes = contents.bytes
        totals.entries = contents.entries
        totals.budget = budget
        owners = contents.owners
        highestRevision = contents.highestRevision
        bodies = BodyState(unlinked: contents.unlinkedBodies)
    }
}
