package import LarderModel

/// The whole cache on disk: one writer, any number of readers, and their files.
package final class Store: Sendable {
    var configuration: StoreConfiguration { shared.configuration }
    var database: DatabaseFile { shared.cacheFile }
    let shared: SharedCacheState
    let commits: CommitQueue
    let stateFile: StateFile
    package let bodies: BodyStore
    let readers: StoreReaders
    let snapshots: StateSnapshots
    let examiner = IntegrityChecker()
    /// Whether each reference of a row in `state.db` is known, so that rows without any may leave it.
    let knowsReferences: Bool
    private let stateLock: DirectoryLock
    private let cacheFolder: CacheDirectoryLock?
    var now: @Sendable () -> Timestamp { shared.now }

    /// Opens the files under the configuration's folders, and creates missing ones.
    ///
    /// A damaged `cache.db`, or one of a later version, is set aside and recreated. If that fails,
    /// the store goes on without one. A `state.db` of a later version is an error.
    package init(
        _ configuration: StoreConfiguration,
        now: @escaping @Sendable () -> Timestamp,
        newKeySeed: () -> UInt64 = { .random(in: .min ... .max) }
    ) throws(StoreError) {
        let configuration = configuration.shareLimits()
        let reserves = Reserve.ofFolders(configuration)
        stateLock = try DirectoryLock(directory: configuration.stateDirectory)
        let start = try CacheStart(configuration, reserves.cache, keySeed: newKeySeed())
        let shared = SharedCacheState(configuration, reserves, keySeed: start.keySeed, now: now)
        (self.shared, cacheFolder) = (shared, start.folder)
        stateFile = try StateFile(shared, beside: start)
        commits = stateFile.commits
        readers = StoreReaders(shared, stateFile)
        bodies = BodyStore(file: stateFile, shared: shared, readers: readers)
        snapshots = StateSnapshots(shared, stateFile.file)
        knowsReferences =
            if stateFile.takesAlong { commits.takeAlong(now: now()) } else { true }
        commits.wake()
    }

    package var pins: PinStore { PinStore(store: self) }
    package var modifiers: ModifierStore { ModifierStore(store: self) }
    package var files: StoreFiles { StoreFiles(store: self) }

    package var notices: [String] { stateFile.notices }

    /// Tells secrets apart; it is lost with `state.db` only.
    package var digestKey: DigestKey { stateFile.digestKey }
    package func makeReader() throws(StoreError) -> StoreReader { readers.make(.eventLoop) }
    package var maxEntryBytes: Int64 { configuration.maxEntryBytes.bytes }
    package var limits: StoreLimits { configuration.limits }

    /// Sets other limits from now on.
    ///
    /// Maintenance evicts what the cache holds beyond them. In `state.db` rows and modifiers
    /// beyond them stay until they are done.
    package func setLimits(_ limits: StoreLimits) {
        configuration.setLimits(limits)
        shared.maintenanceTrigger.want()
    }

    package func key(for scope: Scope) -> ScopeKey { shared.key(for: scope) }

    /// Stores an entry: where its id is kept, else in the cache.
    ///
    /// Where `fence` covers the id it has the last word; when nothing is to be stored, the receipt
    /// is that of equal bytes. Throws `conditionFailed` where `condition` does not hold.
    package func put(
        _ new: NewEntry,
        now: Timestamp,
        fence: AnswerFence? = nil,
        if condition: WriteCondition? = nil
    ) async throws(StoreError) -> PutReceipt {
        let isRepeatable = new.entry.kind != .blob
        if condition == nil, !shared.residency.covers(new.scope, new.entry.id) {
            let receipt = try await commits.submit(isRepeatable: isRepeatable) {
                writer throws(StoreError) in
                try writer.entries.putEvictable(new, fence: fence, now: now)
            }
            if let receipt { return receipt }
        }
        try refuseWhileFull(new)
        return try await submit(
            if: condition,
            now: now,
            isRepeatable: isRepeatable,
            cache: .optional
        ) { writer throws(StoreError) in try writer.entries.put(new, fence: fence, now: now) }
    }

    func refuseWhileFull(_ new: NewEntry) throws(StoreError) {
        guard new.entry.kind != .tombstone, shared.residency.covers(new.scope, new.entry.id) else {
            return
        }
        try stateFile.refuseWhileFull("pin")
    }

    package func refresh(
        _ confirmed: Entry,
        in scope: ScopeKey,
        fence: AnswerFence? = nil,
        isUse: Bool = true
    ) async throws(StoreError) -> RefreshOutcome {
        let now = now()
        return try await commits.submit(isRepeatable: true, cache: .optional) {
            writer throws(StoreError) in
            let entries = writer.entries
            return try entries.refresh(confirmed, in: scope, fence: fence, isUse: isUse, now: now)
        }
    }

    /// Marks the rows of an id, of its variants and of the reads with a body of its URL stale, in the
    /// scopes where a user looks.
    ///
    /// With `digest` only the rows of the id whose body has it. A step marks a part of them, so
    /// that other commands go between.
    package func markStale(
        _ id: EntryID,
        of digest: Digest? = nil,
        in scopes: [ScopeKey]
    ) async throws(StoreError) {
        var first = Optional(id)
        let prefix = digest == nil ? id.variantPrefix : nil
        var page = prefix.map { VariantPage(prefix: $0, hasReads: true) }
        repeat {
            page = try await commits.submit(isRepeatable: true, cache: .optional) {
                [first, page] writer throws(StoreError) in
                try writer.settling.markStale(first, of: digest, in: scopes, page)
            }
            first = nil
        } while page != nil
    }

    /// Removes an id's row and leaves nothing; nil if there was no row.
    ///
    /// Throws `pinned` for a pinned row, `targeted` for a target of an unsettled modifier, and
    /// `conditionFailed` if `condition` does not hold.
    package func delete(
        _ scope: ScopeKey,
        _ id: EntryID,
        client: ClientTag? = nil,
        if condition: WriteCondition? = nil
    ) async throws(StoreError) -> RemovalReceipt? {
        // A target is refused as such, whatever its row is.
        if modifiers.isTarget(scope, id) { throw .targeted }
        if isDurable(scope, id), !pins.isPinned(scope, id) {
            try await commits.submit { writer throws(StoreError) in
                try writer.pinning.hide(TargetName(scope, id))
            }
        }
        return try await submit(if: condition, now: now(), cache: .optional) {
            writer throws(StoreError) in
            try writer.entries.delete(TargetName(scope, id), client: client)
        }
    }

    package func evict(
        _ candidates: [EvictionCandidate],
        client: ClientTag? = nil
    ) async throws(StoreError) -> EvictionReceipt {
        var receipt = EvictionReceipt()
        for batch in candidates.chunks(of: Limits.evictionBatchRowsMax) {
            let part = try await commits.submit { writer throws(StoreError) in
                try writer.cache.eviction.evict(batch, client: client)
            }
            receipt.evicted += part.evicted
            receipt.skipped += part.skipped
        }
        return receipt
    }

    /// Keeps an id's row from being evicted until ``release(_:_:)``; both count.
    package func protect(_ scope: ScopeKey, _ id: EntryID) {
        shared.protection.take(RowKey(scope, id))
    }

    package func release(_ scope: ScopeKey, _ id: EntryID) {
        shared.protection.release(RowKey(scope, id))
    }

    /// The positions of the candidates that ``evict(_:client:)`` would skip.
    package func skipped(_ candidates: [EvictionCandidate]) async throws(StoreError) -> Set<Int> {
        try await commits.submit { writer throws(StoreError) in
            try writer.cache.eviction.skipped(candidates)
        }
    }

    package func protections(_ scope: ScopeKey, _ id: EntryID) -> Int {
        shared.protection.count(RowKey(scope, id))
    }

    /// Has `tell` called after each commit that changed an id's row, as long as the watch is held.
    ///
    /// It is called on the writer's thread and before the change is answered, so it must be quick.
    /// It says only that there is something to read; a row that shares the id's hash may cause it.
    package func watch(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ tell: @escaping @Sendable () -> Void
    ) -> RowWatch {
        RowWatch(shared.watches, RowKey(scope, id), tell)
    }

    /// Whether `state.db` has a row under an id, or is about to have one or to give it away.
    package func isDurable(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        shared.residency.covers(scope, id)
    }

    package func keepsShared(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        shared.residency.place(scope, id)?.keepsShared == true
    }

    /// Reads off the event loops, for what may take long; ``Reading/current`` says for whom.
    ///
    /// Throws `tooManyReads` where as many of one user wait as may.
    package func read<Value: Sendable>(
        as reading: Reading = .current,
        _ work: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await readers.read(reading, work)
    }

    /// Throws unless `cache.db` can be read; does not wait for other reads.
    package func check() async throws(StoreError) {
        try await readers.read(.check) { reader throws(StoreError) in try reader.check() }
    }

    package var groupSizes: Histogram { commits.groupSizes }
    package var totals: StoreTotals { shared.totals }

    package func offlineOrigins() throws(StoreError) -> Set<String> {
        // Asked once at start, with a connection of its own.
        let connection = try stateFile.file.openReader(cacheBytes: 0)
        return Set(try connection.prepare("SELECT name FROM offline_origin").all { $0.text(.only) })
    }

    /// Saves that an origin was set offline or online, over restarts; synced when it returns.
    package func setOffline(_ name: String, _ isOffline: Bool) async throws(StoreError) {
        let sql =
            isOffline
            ? "INSERT OR IGNORE INTO offline_origin (name) VALUES (:name)"
            : "DELETE FROM offline_origin WHERE name = :name"
        try await stateFile.settle { writer throws(StoreError) in
            try writer.state.connection.statement(sql).run((":name", name))
        }
    }

    package func flushTouches() async throws(StoreError) {
        try await commits.submit { writer throws(StoreError) in try writer.cache.flushTouches() }
    }

    package func maintain() async throws(StoreError) { try await maintenance.run() }
    package var prefetches: PrefetchStore { PrefetchStore(store: self) }
    var maintenance: Maintenance { Maintenance(store: self) }
    package var maintenanceTrigger: MaintenanceTrigger { shared.maintenanceTrigger }

    package func forget(_ scopes: RowScopes) async throws(StoreError) {
        try await commits.submit(isRepeatable: true) { writer throws(StoreError) in
            try writer.state.modifiers.forget(scopes)
            let names = try writer.state.temporaries.forget(scopes)
            writer.afterCommit { [aliases = writer.shared.aliases] in aliases.remove(names) }
            try writer.cacheIfAny?.log.forget(scopes)
        }
    }

    /// Returns once there is nothing left to evict or to remove; for tests and an orderly end.
    package func settle() async throws(StoreError) { try await commits.settle() }

    /// Runs a step while the store's own threads begin nothing, then waits for what it asked of
    /// them.
    ///
    /// So a simulation on one thread runs the same way every time.
    package func alone<Value>(_ step: () -> Value) -> Value {
        readers.hold()
        commits.hold()
        defer {
            readers.release()
            commits.release()
        }
        return step()
    }

    /// Writes pending state to disk, writes the WALs back and takes no more commands.
    ///
    /// A failure of one file does not keep the other from being closed.
    package func close() async throws(StoreError) {
        var failure: StoreError?
        do throws(StoreError) { try await closeCache() } catch { failure = error }
        try await stateFile.close()
        if let failure { throw failure }
    }

    private func closeCache() async throws(StoreError) {
        guard shared.generation.hasFile else { return }
        try await flushTouches()
        try await commits.submit { writer throws(StoreError) in try writer.cache.log.close() }
        try await commits.checkpoint(.cache, truncating: true)
    }

    /// Runs a command once its condition holds and the large bodies that it needs are copied.
    ///
    /// A round copies the bodies that the command has named, or checks the condition of a row that
    /// has changed since the last check.
    func submit<Value: Sendable>(
        if condition: WriteCondition? = nil,
        now: Timestamp,
        isRepeatable: Bool = false,
        promotes: Bool? = nil,
        cache: CommitQueue.CacheUse = .required,
        _ command:
            @escaping @Sendable (StoreWriter) throws(StoreError) -> CommandResult<Value>
    ) async throws(StoreError) -> Value {
        var copied: CopiedBodies = [:]
        // A body that a row links by now stays.
        defer { for copy in copied.values { bodies.abandon(copy.upload) } }
        for _ in 0..<Limits.commandRoundsMax {
            let seen = try await condition?.check(readers)
            let entrance = try await commits.submit(
                isRepeatable: isRepeatable && condition == nil,
                promotes: promotes ?? !shared.residency.isEmpty,
                cache: cache
            ) { [copied] writer throws(StoreError) -> CommandResult<Value> in
                guard try writer.isStill(seen) else { return .needs([]) }
                writer.copied = copied
                defer { writer.copied = [:] }
                return try command(writer)
            }
            switch entrance {
            case .done(let value): return value
            case .refused(let error): throw error
            case .needs(let large): try await bodies.copy(large, into: &copied, now: now)
            }
        }
        throw .overloaded
    }
}
