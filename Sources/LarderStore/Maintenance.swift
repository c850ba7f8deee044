import LarderModel

struct Maintenance {
    let store: Store
    private var commits: CommitQueue { store.commits }
    private var shared: SharedCacheState { store.shared }

    /// The parts of a round, in their order; from ``totals`` on they need `cache.db`.
    private enum Part: CaseIterable {
        /// Checks both files and the space on their disks.
        case files
        /// Truncates the WAL of `state.db` after the removal of a credential.
        case secrets
        case statePages
        case snapshot
        case aliases
        case totals
        /// Writes uses and measures free space.
        case uses
        case garbage
        /// Moves rows to the file where they belong.
        case released
        /// In an idle moment, gives pages back.
        case cachePages
    }

    /// Runs one round of maintenance, and throws the first error after it.
    ///
    /// Each part has its turn also if one before it fails: the cache needs care while `state.db`
    /// cannot be written.
    func run() async throws(StoreError) {
        shared.maintenanceTrigger.begin()
        defer { if !store.files.areWell { shared.maintenanceTrigger.want() } }
        var first: StoreError?
        for part in Part.allCases {
            if part == .totals, !shared.generation.hasFile { break }
            do throws(StoreError) {
                try await run(part)
            } catch {
                // A closed store has no parts left to look after.
                guard error != .closed else { throw error }
                first = first ?? error
            }
        }
        if let first { throw first }
    }

    private func run(_ part: Part) async throws(StoreError) {
        switch part {
        case .files:
            try await commits.outsideTransaction { writer throws(StoreError) in
                let cache = writer.files.cache
                cache.look()
                cache.room.regainReserve()
                cache.room.shortenWAL()
            }
            shared.reserves.state.take()
            store.stateFile.look()
        case .secrets:
            try await commits.outsideTransaction { writer throws(StoreError) in
                try writer.files.state.removeSecretsFromWAL()
            }
        case .statePages: try await giveBackPages(of: .state)
        case .snapshot:
            // A snapshot is taken by the path: the last one may be all that is left.
            if !store.stateFile.isLost { store.snapshots.takeIfDue(now: store.now()) }
        case .aliases: try await keepAliases(now: store.now())
        case .totals: try await checkTotals()
        case .uses:
            let now = store.now()
            try await commits.submit { writer throws(StoreError) in
                try writer.cache.flushTouches()
                try writer.cache.room.measureSpace()
                try writer.cache.clock.clampMoments(now: now)
            }
        case .garbage: try await removeGarbage()
        case .released:
            guard store.knowsReferences else { return }
            try await removeReleased(now: store.now())
        case .cachePages:
            guard commits.isIdle else { return }
            try await giveBackPages(of: .cache)
            try await commits.outsideTransaction { writer throws(StoreError) in
                try writer.files.cache.room.rebuildIfWorthIt()
            }
        }
    }

    private func checkTotals() async throws(StoreError) {
        guard shared.wantsTotalsChecked() else { return }
        do throws(StoreError) {
            _ = try await store.read(as: .check) { reader throws(StoreError) in
                try reader.cache.reading { file throws(StoreError) in
                    try CacheContents.checkTotals(file.connection)
                }
            }
        } catch .corrupt {
            // The reader has told the writer, which replaces the file.
        }
    }

    private func giveBackPages(of file: BodyFile) async throws(StoreError) {
        guard commits.isIdle else { return }
        let gaveBack = try await commits.submit { writer throws(StoreError) in
            switch file {
            case .cache: try writer.cache.connection.vacuumStep()
            case .state: try writer.state.connection.vacuumStep()
            }
        }
        if gaveBack { try await commits.checkpoint(file, truncating: false) }
    }

    private func keepAliases(now: Timestamp) async throws(StoreError) {
        let (used, hasOld) = shared.aliases.takeUses(now: now)
        guard !used.isEmpty || hasOld else { return }
        try await store.stateFile.settle { writer throws(StoreError) in
            try writer.renaming.runMaintenance(used, now: now)
        }
    }

    private func removeGarbage() async throws(StoreError) {
        while true {
            let keys = shared.residency.someGarbage(atMost: Limits.evictionBatchRowsMax)
            guard !keys.isEmpty, shared.generation.hasFile else { return }
            try await commits.submit { writer throws(StoreError) in
                try writer.promotion.removeGarbage(keys)
            }
        }
    }

    /// Gives rows that nothing keeps in `state.db` any more back to `cache.db`.
    ///
    /// Each pass ends with a checkpoint of `cache.db`. A pass takes many rows, and passes are few.
    /// While writes are sent, rows are released all the time, and most of them wait for the next
    /// round. The second pass and those after it take rows that the removal of other rows has
    /// released.
    func removeReleased(now: Timestamp) async throws(StoreError) {
        let index = shared.residency
        // The next round tries again with rows that stay for now or could not be moved.
        var later: [TargetName] = []
        defer { index.addReleasable(later) }
        for _ in 0..<Limits.releasedPassesMax {
            let names = index.takeReleasable(atMost: Limits.releasedRowsMax)
            guard !names.isEmpty else { return }
            later += names
            let free = try await remove(names, now)
            later.removeLast(names.count)
            later += free.filter { index.covers($0.scope, $0.id) }
        }
    }

    /// Removes those that nothing keeps; returns them, as some may have to stay for now.
    private func remove(
        _ names: [TargetName],
        _ now: Timestamp
    ) async throws(StoreError) -> [TargetName] {
        let generation = shared.generation
        var (free, releases): ([TargetName], [Release]) = ([], [])
        for batch in names.chunks(of: Limits.releasedBatchRowsMax) {
            let prepared = try await commits.submit { writer throws(StoreError) in
                try writer.demotion.prepare(batch, now: now)
            }
            free += prepared.map(\.name)
            for release in prepared {
                if let ready = await copied(release, now) { releases.append(ready) }
            }
        }
        guard !free.isEmpty else { return [] }
        let isSynced = try await commits.outsideTransaction { writer throws(StoreError) in
            try writer.files.cache.checkpoint(truncating: false)
        }
        guard isSynced, shared.generation == generation else {
            throw .noFile(reason: "what is released is not synced")
        }
        for batch in releases.chunks(of: Limits.releasedBatchRowsMax) {
            try await store.stateFile.settle { writer throws(StoreError) in
                try writer.demotion.remove(batch)
            }
        }
        return free
    }

    /// Copies a released row's body into the cache if it is large, and returns how the row may
    /// leave.
    ///
    /// Nil means that the next round has to try again. Other rows leave meanwhile.
    private func copied(_ release: Release, _ now: Timestamp) async -> Release? {
        guard case .large(let large) = release else { return release }
        do throws(StoreError) {
            return try await store.submit(now: now, promotes: false) {
                writer throws(StoreError) -> CommandResult<Release?> in
                switch try writer.demotion.prepare([large.name], now: now).first {
                case .large(let body)?: .needs([body])
                case let release: .done(release)
                }
            }
        } catch .tooLarge, .noRoom, .keyTaken {
            return .lost(large.name, .lru)
        } catch {
            return nil
        }
    }
}
