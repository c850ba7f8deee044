import LarderModel

/// The one connection that writes `cache.db`, and alone checkpoints it.
///
/// Confined to the queue of its ``CommitQueue``. What it keeps in memory beside the file is
/// ``CacheWriterState``, which goes back with a transaction that is rolled back.
final class CacheWriter {
    let connection: SQLiteConnection
    let statements: CacheWriterStatements
    let configuration: StoreConfiguration
    let shared: SharedCacheState
    let revisions: RevisionSource
    var state: CacheWriterState
    let walSize: WALSize
    private var saved: CacheWriterState
    private var bytesAfterRebuild: Int64 = 0
    /// Uses taken from the logs by the open transaction.
    private var takenTouches: [(log: TouchLog, ticks: [RowKey: Int64])] = []

    init(
        connection: SQLiteConnection,
        configuration: StoreConfiguration,
        shared: SharedCacheState,
        revisions: RevisionSource
    ) throws(StoreError) {
        self.connection = connection
        self.configuration = configuration
        self.shared = shared
        self.revisions = revisions
        statements = try CacheWriterStatements(connection)
        state = try CacheWriterState(
            reading: connection,
            budget: configuration.maxBytes.bytes
        )
        saved = state
        walSize = Self.countWALPages(of: connection)
        shared.clock.advance(to: try Self.highestTick(connection))
        shared.publish(state.totals)
    }

    // MARK: Transactions

    func begin() throws(StoreError) {
        // Before the state is saved: an upload that was given up stays so, whatever fails.
        for upload in shared.takeAbandoned() { forget(upload) }
        saved = state
        takenTouches.removeAll()
        try statements.begin.run()
    }

    /// Commits, and makes the commit known to readers before anybody is answered.
    func commit() throws(StoreError) {
        if state.totals != saved.totals || state.highestRevision != saved.highestRevision {
            try writeMeta()
        }
        try statements.commit.run()
        takenTouches.removeAll()
        shared.publish(state.totals)
    }

    func rollBack() {
        connection.rollBack()
        state = saved
        for (log, ticks) in takenTouches {
            log.restore(ticks)
        }
        takenTouches.removeAll()
    }

    private func writeMeta() throws(StoreError) {
        for (name, value) in [
            ("bytes", state.linkedBytes), ("entries", state.totals.entries),
            ("rev", state.highestRevision.number),
        ] {
            statements.setMeta.bind(1, name)
            statements.setMeta.bind(2, value)
            try statements.setMeta.run()
        }
    }

    private static func highestTick(_ connection: SQLiteConnection) throws(StoreError) -> Int64 {
        try connection.integer("SELECT max(last_used) FROM recency") ?? 0
    }

    // MARK: Uses

    /// Writes down every use that readers have seen since the last time.
    func flushTouches() throws(StoreError) {
        for log in shared.touchLogs() {
            let ticks = log.drain()
            guard !ticks.isEmpty else { continue }
            takenTouches.append((log, ticks))
            for (key, tick) in ticks {
                statements.touch.bind(1, key.number)
                statements.touch.bind(2, tick)
                try statements.touch.run()
            }
        }
    }

    // MARK: Space

    /// Sets what the cache may hold now: what it holds, and what is free beyond the minimum.
    ///
    /// Free pages of the file count as free, as the next idle moments give them back; else each
    /// look would take once more what the one before has evicted.
    func measureSpace() throws(StoreError) {
        let wanted = configuration.minFreeBytes.bytes
        state.totals.budget = configuration.maxBytes.bytes
        if wanted > 0, let free = configuration.freeBytes(configuration.cacheDirectory) {
            let pages = try connection.integer("PRAGMA freelist_count") ?? 0
            let spare = free + pages * 4_096 - wanted
            state.totals.budget = min(state.totals.budget, max(0, state.totals.bytes + spare))
        }
        if state.totals.bytes > state.totals.budget { state.isShrinking = true }
    }

    var lowWatermarkBytes: Int64 {
        Int64(Double(state.totals.budget) * configuration.lowWatermark)
    }

    /// Gives free pages up, a step at a time; false when there are none.
    ///
    /// The file itself becomes smaller with the next checkpoint.
    func vacuumStep() throws(StoreError) -> Bool {
        guard let free = try connection.integer("PRAGMA freelist_count"), free > 0 else {
            return false
        }
        try connection.execute("PRAGMA incremental_vacuum(\(Limits.vacuumPagesMax))")
        return true
    }

    /// Whether the file is so much larger than what it holds that it is worth writing anew: pages
    /// half empty, which an incremental vacuum does not find.
    func wantsRebuild() throws(StoreError) -> Bool {
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let free = try connection.integer("PRAGMA freelist_count") ?? 0
        let used = (pages - free) * 4_096
        return used > 2 * max(state.totals.bytes, bytesAfterRebuild) + Limits.rebuildBytesMin
    }

    /// Writes the file anew.
    ///
    /// What it has then it needs, and the next time waits until it has doubled: long ids take more
    /// in their index than they count.
    func rebuild() throws(StoreError) {
        try connection.execute("VACUUM")
        bytesAfterRebuild = (try connection.integer("PRAGMA page_count") ?? 0) * 4_096
    }
}

/// What a writer remembers beside its file.
struct CacheWriterState {
    var totals: StoreTotals
    var highestRevision: Revision
    /// Whether eviction is on its way to the low watermark.
    var isShrinking = false
    /// Bodies that no row names any more, to be removed once nobody reads them.
    var unlinkedBodies: [Int64] = []
    /// Chunks and bytes of uploads that are under way.
    var uploads: [Int64: Upload] = [:]

    struct Upload {
        var chunks: Int64 = 0
        /// With the chunks' overhead, as counted in the totals.
        var size: Int64 = 0
    }

    /// What the file's total says: an upload is counted in memory only, so that one which a crash
    /// cuts off is not counted for ever.
    var linkedBytes: Int64 {
        uploads.values.reduce(totals.bytes) { $0 - $1.size }
    }

    init(reading connection: SQLiteConnection, budget: Int64) throws(StoreError) {
        totals = StoreTotals()
        totals.bytes = try Self.meta("bytes", connection)
        totals.entries = try Self.meta("entries", connection)
        totals.budget = budget
        highestRevision = Revision(try Self.meta("rev", connection))
    }

    private static func meta(
        _ name: String,
        _ connection: SQLiteConnection
    ) throws(StoreError) -> Int64 {
        try connection.integer("SELECT value FROM meta WHERE name='\(name)'") ?? 0
    }
}
