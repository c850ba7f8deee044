import LarderModel

/// How a kept row becomes the cache's again.
extension KeptStore {
    /// Copies a row into the cache; it is lost if the cache cannot take it, as any entry there may
    /// be at any time.
    ///
    /// `deleted` has it given back as a tombstone.
    func giveBack(
        _ row: StateWriter.KeptEntry,
        _ scope: ScopeKey,
        _ now: Timestamp
    ) async throws(StoreError) {
        guard let entry = row.entry, !entry.isExpired(at: now) else { return }
        if let status = row.goneStatus {
            var new = NewEntry(scope: scope, entry: entry.tombstone(status), body: .inline([]))
            new.isTold = false
            _ = try await cache.submit { [new] writer throws(StoreError) in
                try writer.put(new, now: now)
            }
            return
        }
        var body = NewBody.inline(row.inline)
        if let chunked = row.chunked {
            body = .uploaded(
                try await carrier.copy(chunked, to: .cache, for: entry, in: scope, now: now)
            )
        }
        let new = NewEntry(scope: scope, entry: entry, body: body)
        do throws(StoreError) {
            _ = try await cache.submit { writer throws(StoreError) in
                try writer.put(new, given: entry.revision, now: now)
            }
        } catch {
            carrier.abandon(body)
            throw error
        }
    }

    /// Gives a page of released rows back: into the cache, synced there, and only then out of
    /// `state.db`; false when there was none or none could be given back now.
    func giveBack(_ rows: [KeptRow], now: Timestamp) async throws(StoreError) -> Bool {
        let names = rows.map { (scope: shared.key(for: $0.scope), id: $0.id) }
        guard !names.isEmpty else { return false }
        return try await turns.inTurns(names.map { KeptKey($0.scope, $0.id) }) {
            () async throws(StoreError) in
            let generation = shared.generation
            var gone: [(ScopeKey, EntryID)] = []
            var copied: [(ScopeKey, EntryID)] = []
            for (scope, id) in names {
                let found = try await state.submit { writer throws(StoreError) in
                    try writer.entry(scope, id)
                }
                guard let found, found.isReleased, !found.isShared else { continue }
                guard found.entry != nil else {
                    gone.append((scope, id))
                    continue
                }
                switch await taken(found, scope, now) {
                case .yes: copied.append((scope, id))
                case .never: gone.append((scope, id))
                case .later: continue
                }
            }
            do throws(StoreError) {
                if !copied.isEmpty { try await syncCache(generation) }
                gone += copied
                try await remove(gone)
            } catch {
                // They stay here, so what the cache has of them is a shadow.
                _ = await dropShadows(copied)
                throw error
            }
            return !gone.isEmpty
        }
    }

    private enum Taken {
        case yes
        /// It is larger than the cache takes, or than there is room.
        case never
        case later
    }

    private func taken(
        _ row: StateWriter.KeptEntry,
        _ scope: ScopeKey,
        _ now: Timestamp
    ) async -> Taken {
        guard let id = row.entry?.id else { return .never }
        do throws(StoreError) {
            try await giveBack(row, scope, now)
            return .yes
        } catch .tooLarge, .noRoom, .badChunk {
            // What is under its id must not be an older row.
            await dropShadow(scope, id)
            return shared.kept.comesFirst ? .later : .never
        } catch {
            await dropShadow(scope, id)
            return .later
        }
    }

    /// Returns when everything that the cache was given is on its disk.
    private func syncCache(_ generation: Generation) async throws(StoreError) {
        let isSynced = try await cache.outsideTransaction { writer throws(StoreError) in
            try writer.syncedCheckpoint()
        }
        guard isSynced, shared.generation == generation else {
            throw .noFile(reason: "what was given back is not synced")
        }
    }

    private func remove(_ rows: [(ScopeKey, EntryID)]) async throws(StoreError) {
        guard !rows.isEmpty else { return }
        let removed = try await file.settle { writer throws(StoreError) in
            var removed: [(ScopeKey, EntryID)] = []
            for (scope, id) in rows where try writer.removeReleased(scope, id) {
                removed.append((scope, id))
            }
            return removed
        }
        for (scope, id) in removed { shared.kept.remove(scope, id) }
    }
}
