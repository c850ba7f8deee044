import CSQLite
import LarderModel

/// The one writer of both files, confined to the thread of its ``CommitQueue``.
///
/// A transaction is open over as many of them as its commands use. `state.db` is committed first.
/// Its changes count, even if `cache.db` fails after it.
final class StoreWriter: WriterPart {
    private let stateWriter: StateWriter
    private let cacheWriter: CacheWriter
    let revisions: RevisionSource
    private(set) var isStateOpen = false
    private var isCacheOpen = false
    private var changesOfState: Int64 = 0
    private var hasCommittedState = false
    private(set) var isCacheLeftOut = false
    var copied: CopiedBodies = [:]
    private var undoing: [() -> Void] = []
    private var following: [() -> Void] = []
    private var showing: [() -> Void] = []
    private var updates: [EntityUpdates] = []
    private var lastSeen: Revision

    init(state: StateWriter, cache: CacheWriter, _ revisions: RevisionSource) {
        stateWriter = state
        cacheWriter = cache
        self.revisions = revisions
        lastSeen = revisions.last
        cache.durableEntity = { [unowned self] (name) throws(StoreError) in
            guard cacheWriter.shared.residency.covers(name.scope, name.id) else { return nil }
            return try self.state.reader.withEntry(name.scope, name.id) { $0.entity } ?? nil
        }
    }

    var state: StateWriter {
        get throws(StoreError) {
            guard !isStateOpen else { return stateWriter }
            try stateWriter.begin()
            isStateOpen = true
            changesOfState = stateWriter.connection.totalChanges
            return stateWriter
        }
    }

    var hasChangedCache: Bool { isCacheOpen && cacheWriter.hasChanged }

    var cache: CacheWriter {
        get throws(StoreError) {
            if !isCacheOpen { try cacheWriter.begin() }
            isCacheOpen = true
            return cacheWriter
        }
    }

    /// The cache's part in the open transaction; nil while there is no file, and for a command that
    /// does without.
    var cacheIfAny: CacheWriter? {
        get throws(StoreError) {
            isCacheLeftOut || !shared.generation.hasFile ? nil : try cache
        }
    }

    func leavingOutCache<Value>(
        _ command: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        isCacheLeftOut = true
        defer { isCacheLeftOut = false }
        return try command()
    }

    var writer: StoreWriter { self }
    var shared: SharedCacheState { cacheWriter.shared }

    var files: (state: StateWriter, cache: CacheWriter) { (stateWriter, cacheWriter) }

    // MARK: Transactions

    func begin() throws(StoreError) {
        assert(!isStateOpen && !isCacheOpen, "a transaction was left open")
        hasCommittedState = false
        revisions.reserveAhead { end throws(StoreError) in
            try stateWriter.reserveRevisions(upTo: end)
        }
        // This comes before the writer saves a state to roll back to, so that no rollback restores
        // an upload.
        for upload in shared.takeAbandoned() {
            switch upload.file {
            case .state: stateWriter.forget(upload)
            case .cache: cacheWriter.forget(upload)
            }
        }
    }

    func takeChangeOfState() -> Bool {
        let changes = stateWriter.connection.totalChanges
        defer { changesOfState = changes }
        return isStateOpen && changes != changesOfState
    }

    /// Throws if SQLite has rolled an open transaction back by itself.
    ///
    /// A command may have got over the failure that caused it
    /// (https://sqlite.org/lang_transaction.html, "Response To Errors Within A Transaction"). Later
    /// statements would be committed one by one.
    func checkTransactions() throws(StoreError) {
        var open: [SQLiteConnection] = []
        if isStateOpen { open.append(stateWriter.connection) }
        if isCacheOpen { open.append(cacheWriter.connection) }
        for connection in open where !connection.isInTransaction {
            throw StoreError(
                code: SQLITE_ABORT,
                file: connection.path,
                step: "a command",
                message: "the transaction was rolled back"
            )
        }
    }

    func commitState() throws(StoreError) {
        guard isStateOpen else { return }
        let entities = stateWriter.memory.entities
        try stateWriter.commit(shared.stamps)
        updates = entities
        isStateOpen = false
        hasCommittedState = true
        undoing.removeAll(keepingCapacity: true)
    }

    func commitCache() throws(StoreError) {
        if isCacheOpen { try cacheWriter.commit() }
        isCacheOpen = false
        for work in showing { work() }
        finish()
    }

    private func finish() {
        for work in following { work() }
        if hasCommittedState { shared.residency.commitPublished() }
        shared.stamps.commitEnded()
        tell(updates)
        updates.removeAll()
        following.removeAll(keepingCapacity: true)
        undoing.removeAll(keepingCapacity: true)
        showing.removeAll(keepingCapacity: true)
        revisions.close()
        let last = revisions.last
        if last != lastSeen { shared.maintenanceTrigger.want() }
        lastSeen = last
    }

    func rollBack() {
        if isStateOpen {
            stateWriter.rollBack()
            // This comes before any command is answered. If it fails too, the next transaction
            // begins with it.
            try? stateWriter.settleDoubt()
        }
        if isCacheOpen { cacheWriter.rollBack() }
        isStateOpen = false
        isCacheOpen = false
        for work in undoing.reversed() { work() }
        undoing.removeAll(keepingCapacity: true)
        if !hasCommittedState { following.removeAll(keepingCapacity: true) }
        finish()
    }

    func onRollBack(_ undo: @escaping () -> Void) { undoing.append(undo) }

    /// Does something in memory once `state.db` is committed, and `cache.db` as far as it can be.
    func afterCommit(_ work: @escaping () -> Void) { following.append(work) }

    /// Does something in memory once `cache.db` is committed as well.
    func afterCacheCommit(_ work: @escaping () -> Void) { showing.append(work) }

    /// Does what can be done about a failure, outside a transaction; true when the command may
    /// succeed now.
    func recover(from error: StoreError) -> Bool { cacheWriter.recover(from: error) }

    func noteRefusal(_ error: StoreError) { if error == .keyTaken { cacheWriter.countTakenKey() } }

    // MARK: Maintenance

    /// A small step of what is done between two groups of commands.
    enum MaintenanceStep: Sendable {
        case removeBodies(BodyFile)
        case shrinkCache
        case sweepEntities
    }

    var maintenance: [MaintenanceStep] {
        var steps: [MaintenanceStep] = []
        if stateWriter.memory.bodies.hasRemovable(shared.stateLeases) {
            steps.append(.removeBodies(.state))
        }
        let cache = cacheWriter.state
        if cache.isShrinking {
            steps.append(.shrinkCache)
        } else if cache.bodies.hasRemovable(shared.leases) {
            steps.append(.removeBodies(.cache))
        } else if !cache.orphans.isEmpty {
            steps.append(.sweepEntities)
        }
        return steps
    }

    func runMaintenance(_ step: MaintenanceStep) throws(StoreError) {
        switch step {
        case .removeBodies(.state):
            try state.bodies.removeStep(shared.stateLeases, &stateWriter.memory.bodies)
        case .removeBodies(.cache):
            try cache.bodies.removeStep(shared.leases, &cacheWriter.state.bodies)
        case .shrinkCache: try cache.eviction.shrinkStep(now: shared.now())
        case .sweepEntities: try cache.eviction.sweepStep()
        }
    }

    func checkpointIfDue() {
        do throws(StoreError) {
            if stateWriter.wal.wantsCheckpoint { try stateWriter.wal.checkpoint(truncating: false) }
            if cacheWriter.wantsCheckpoint { try cacheWriter.checkpoint(truncating: false) }
        } catch {
            _ = recover(from: error)
        }
    }

    /// Whether an id's rows are as they were seen; a row that was not read counts as unchanged.
    func isStill(_ seen: WriteCondition.Seen?) throws(StoreError) -> Bool {
        guard let seen else { return true }
        let cached = try cacheIfAny?.rows.find(seen.name.scope, seen.name.id)?.revision
        let saved = try durable(seen.name)?.revision
        return saved == seen.saved && (isCacheLeftOut || cached == seen.cached)
    }
}

protocol WriterPart {
    var writer: StoreWriter { get }
}

extension WriterPart {
    var state: StateWriter { get throws(StoreError) { try writer.state } }
    var cache: CacheWriter { get throws(StoreError) { try writer.cache } }
    var cacheIfAny: CacheWriter? { get throws(StoreError) { try writer.cacheIfAny } }
    var shared: SharedCacheState { writer.shared }
    var revisions: RevisionSource { writer.revisions }

    /// The row under an id in `state.db`; nil where its row is evictable, or there is none.
    func durable(_ name: TargetName) throws(StoreError) -> DurableRow? {
        shared.residency.covers(name.scope, name.id) ? try state.rows.find(name) : nil
    }

    /// Has the index cover an id from now on, unless the open transaction is rolled back.
    func claim(_ name: TargetName) {
        let index = shared.residency
        let isNew = !index.covers(name.scope, name.id)
        index.insert(name)
        if isNew { onRollBack { index.remove(name) } }
    }

    /// Changes the index entry of a durable id; a rollback restores it.
    func change(_ name: TargetName, _ make: (inout ResidencyIndex.RowLocation) -> Void) {
        let index = shared.residency
        guard let before = index.change(name, make) else { return }
        onRollBack { index.change(name) { $0 = before } }
    }

    func onRollBack(_ undo: @escaping () -> Void) { writer.onRollBack(undo) }
    func afterCommit(_ work: @escaping () -> Void) { writer.afterCommit(work) }
    func afterCacheCommit(_ work: @escaping () -> Void) { writer.afterCacheCommit(work) }

    var promotion: Promotion { Promotion(writer: writer) }
    var entries: EntryWriter { EntryWriter(writer: writer) }
    var answers: AnswerWriter { AnswerWriter(writer: writer) }
    var pinning: Pinning { Pinning(writer: writer) }
    var accepting: Accepting { Accepting(writer: writer) }
    var settling: Settling { Settling(writer: writer) }
    var deadLetters: DeadLetters { DeadLetters(writer: writer) }
    var sharing: Sharing { Sharing(writer: writer) }
    var hiding: Hiding { Hiding(writer: writer) }
    var mixing: Mixing { Mixing(writer: writer) }
    var demotion: Demotion { Demotion(writer: writer) }
    var bodies: BodyLinking { BodyLinking(writer: writer) }
    var departing: Departing { Departing(writer: writer) }
    var editing: Editing { Editing(writer: writer) }
    var joining: Joining { Joining(writer: writer) }
    var renaming: Renaming { Renaming(writer: writer) }
}
