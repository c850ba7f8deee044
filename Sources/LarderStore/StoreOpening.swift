import LarderModel

/// Both files of a store, opened, with the queue of their one writer.
struct StoreOpening {
    let cache: DatabaseFile
    let state: StateFile
    let shared: SharedCacheState
    let reserves: (cache: Reserve, state: Reserve)
    let found = Findings()
    /// Nil where the cache's folder is that of the state.
    let cacheFolder: FolderHold?

    /// `cache.db` gets `keySeed` only if a new one is made.
    init(
        _ configuration: StoreConfiguration,
        keySeed: UInt64,
        now: @escaping @Sendable () -> Timestamp
    ) throws(StoreError) {
        cache = .ofCache(configuration)
        reserves = Reserve.ofFolders(configuration)
        let start = try CacheStart(cache, configuration, reserves.cache, keySeed: keySeed)
        cacheFolder = start.folder
        shared = SharedCacheState(
            keySeed: start.keySeed,
            hashMask: configuration.hashMask,
            pinsMaxBytes: configuration.pinsMaxBytes.bytes,
            maxEntryBytes: configuration.maxEntryBytes.bytes
        )
        state = try StateFile(
            configuration,
            highest: start.highestRevision,
            shared: shared,
            reserve: reserves.state,
            now: now
        ) { [cache, cacheFolder, shared, reserves, found] revisions, foundNext in
            let writer = CacheWriter(
                configuration: configuration,
                database: cache,
                shared: shared,
                revisions: revisions,
                findings: found,
                reserve: reserves.cache,
                folder: cacheFolder,
                now: now
            )
            writer.start(with: start, nextRevision: foundNext)
            return writer
        }
        for finding in state.findings { found.add(finding) }
        if state.takesAlong { takeAlong(now: now()) }
        state.commits.wake()
    }

    /// Has what an earlier version saved take its entities and variants along.
    ///
    /// If this fails, the next start tries it again; a saved answer is shown as it was saved until then.
    private func takeAlong(now: Timestamp) {
        _ = try? state.commits.submitBlocking { writer throws(StoreError) in
            try writer.promotion.takeAlong(now: now)
            try writer.state.endTakingAlong()
        }
    }
}
