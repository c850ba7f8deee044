import Dispatch
package import LarderModel

/// The whole cache on disk: one writer, any number of readers, and the files they stand on.
///
/// Every method may be called from any thread. Writes return after their commit.
package final class CacheStore: Sendable {
    private let configuration: StoreConfiguration
    private let file: DatabaseFile
    private let shared: SharedCacheState
    private let queue: CommitQueue
    private let stateFile: StateFile
    private let revisions: RevisionSource
    private let locks: [DirectoryLock]
    /// Chunks of large bodies are read here, off the event loops.
    private let bodyReader: BlockingReader
    /// Lists are read here, so that a long one holds up no body.
    private let listReader: BlockingReader
    /// What was found wrong when the files were opened, in words for the log.
    package let findings: [String]

    /// Opens the files under the configuration's folders, making what is missing.
    ///
    /// A `cache.db` that is damaged or of a later version is set aside and made anew; a `state.db`
    /// of a later version is an error.
    package init(
        _ configuration: StoreConfiguration,
        now: @escaping @Sendable () -> Timestamp,
        newKeySeed: () -> UInt64 = { .random(in: .min ... .max) }
    ) throws(StoreError) {
        self.configuration = configuration
        var locks = [try DirectoryLock(directory: configuration.stateDirectory)]
        if configuration.cacheDirectory != configuration.stateDirectory {
            locks.append(try DirectoryLock(directory: configuration.cacheDirectory))
        }
        self.locks = locks
        file = DatabaseFile(
            path: configuration.cacheDirectory + "/cache.db",
            schema: .cache,
            synchronous: "NORMAL",
            faults: configuration.faults
        )
        let opened = try CacheOpening(file: file, newKeySeed: newKeySeed)
        shared = SharedCacheState(
            keySeed: opened.keySeed,
            hashMask: configuration.hashMask
        )
        stateFile = try StateFile(
            directory: configuration.stateDirectory,
            highest: opened.highestRevision,
            faults: configuration.faults
        )
        revisions = try stateFile.makeRevisionSource()
        findings = opened.findings + stateFile.findings
        try opened.connection.setPageCache(bytes: configuration.pageCacheBytes)
        let writer = try CacheWriter(
            connection: opened.connection,
            configuration: configuration,
            shared: shared,
            revisions: revisions
        )
        try writer.sweepAtStart()
        try writer.measureSpace()
        queue = CommitQueue(writer, now: now)
        let share = configuration.pageCacheBytes
        bodyReader = BlockingReader(
            "larder.bodies",
            try Self.makeReader(file, share, shared, queue)
        )
        listReader = BlockingReader(
            "larder.lists",
            try Self.makeReader(file, share, shared, queue)
        )
        queue.wake()
    }

    /// Makes a reader for an event loop to own.
    package func makeReader() throws(StoreError) -> StoreReader {
        try Self.makeReader(file, configuration.pageCacheBytes, shared, queue)
    }

    private static func makeReader(
        _ file: DatabaseFile,
        _ cacheBytes: Int64,
        _ shared: SharedCacheState,
        _ queue: CommitQueue
    ) throws(StoreError) -> StoreReader {
        let connection = try file.openReader(cacheBytes: cacheBytes)
        return try StoreReader(connection: connection, shared: shared) {
            queue.post { writer throws(StoreError) in try writer.flushTouches() }
        }
    }

    package var maxEntryBytes: Int64 { configuration.maxEntryBytes.bytes }

    package func key(for scope: Scope) -> ScopeKey {
        shared.key(for: scope)
    }

    // MARK: Entries

    package func put(_ new: NewEntry, now: Timestamp) async throws(StoreError) -> PutReceipt {
        try await queue.submit { writer throws(StoreError) in
            try writer.put(new, now: now)
        }
    }

    /// Confirms a row's bytes; see ``CacheWriter/refresh(_:in:)``.
    package func refresh(
        _ confirmed: Entry,
        in scope: ScopeKey
    ) async throws(StoreError) -> RefreshOutcome {
        try await queue.submit { writer throws(StoreError) in
            try writer.refresh(confirmed, in: scope)
        }
    }

    /// Removes an id's row and leaves nothing; what it was, or nil where there was none.
    package func delete(_ scope: ScopeKey, _ id: EntryID) async throws(StoreError) -> EntryKind? {
        try await queue.submit { writer throws(StoreError) in
            try writer.delete(scope, id)
        }
    }

    /// Evicts named rows, in transactions of at most 256.
    package func evict(
        _ candidates: [EvictionCandidate]
    ) async throws(StoreError) -> EvictionReceipt {
        var receipt = EvictionReceipt()
        var rest = candidates[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(Limits.evictionBatchRowsMax))
            rest = rest.dropFirst(batch.count)
            let part = try await queue.submit { writer throws(StoreError) in
                try writer.evict(batch)
            }
            receipt.evicted += part.evicted
            receipt.skipped += part.skipped
        }
        return receipt
    }

    /// Keeps an id's row from being evicted until ``release(_:_:)``; both count.
    package func protect(_ scope: ScopeKey, _ id: EntryID) {
        shared.protection.protect(RowKey(scope, id))
    }

    package func release(_ scope: ScopeKey, _ id: EntryID) {
        shared.protection.release(RowKey(scope, id))
    }

    package func isProtected(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        shared.protection.covers(RowKey(scope, id))
    }

    // MARK: Large bodies

    package func beginUpload() async throws(StoreError) -> UploadID {
        try await queue.submit { writer throws(StoreError) in try writer.beginUpload() }
    }

    package func append(
        _ chunk: [UInt8],
        to upload: UploadID,
        now: Timestamp
    ) async throws(StoreError) {
        try await queue.submit { writer throws(StoreError) in
            try writer.append(chunk, to: upload, now: now)
        }
    }

    /// Gives an upload up.
    ///
    /// It does not wait: its chunks go when the writer has time.
    package func abandon(_ upload: UploadID) {
        shared.abandon(upload)
        queue.wake()
    }

    /// A body that stays readable until ``BodyReader`` is gone, even if its row goes; nil when the
    /// row no longer names it.
    package func openBody(
        _ body: ChunkedBody,
        of scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) async throws(StoreError) -> BodyReader? {
        let reader = BodyReader(
            body,
            of: scope,
            id,
            leases: shared.leases,
            source: bodyReader,
            queue: queue
        )
        let current = try await bodyReader.read { connection throws(StoreError) in
            defer { connection.endTransaction() }
            return try connection.withEntry(scope, id, now: now, isUse: false) { row in
                row.chunkedBody
            } ?? nil
        }
        return current == body ? reader : nil
    }

    // MARK: Lists and totals

    /// Reads off the event loops; for what may take long.
    package func read<Value: Sendable>(
        _ work: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await listReader.read(work)
    }

    package var totals: StoreTotals { shared.totals }

    /// The number of a step that leaves nothing in the store, such as an answer that is only told.
    package func nextRevision() throws(StoreError) -> Revision {
        try revisions.next()
    }

    /// The lengths of `cache.db` and its WAL.
    package var fileSizes: (database: Int64, wal: Int64) {
        (DiskSpace.fileBytes(at: file.path), DiskSpace.fileBytes(at: file.path + "-wal"))
    }

    // MARK: Housekeeping

    /// Writes down the uses that readers have seen.
    package func flushTouches() async throws(StoreError) {
        try await queue.submit { writer throws(StoreError) in try writer.flushTouches() }
    }

    /// What is due every few seconds: uses written down, free space looked at, and in an idle
    /// moment pages given back.
    package func maintain() async throws(StoreError) {
        try await queue.submit { writer throws(StoreError) in
            try writer.flushTouches()
            try writer.measureSpace()
        }
        guard queue.isIdle else { return }
        let gaveBack = try await queue.submit { writer throws(StoreError) in
            try writer.vacuumStep()
        }
        if gaveBack { try await queue.checkpoint(truncating: false) }
        try await queue.rebuildIfWorthIt()
    }

    /// Returns once there is nothing left to evict or to remove; for tests and an orderly end.
    package func settle() async throws(StoreError) {
        try await queue.settle()
    }

    /// Writes down what is only in memory, writes the WAL back and takes no more commands.
    package func close() async throws(StoreError) {
        try await flushTouches()
        try await queue.checkpoint(truncating: true)
        queue.close()
        try stateFile.checkpoint()
    }
}
