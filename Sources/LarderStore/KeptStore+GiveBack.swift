import LarderModel

/// How a kept row becomes the cache's again.
extension KeptStore {
    /// Copies a row into the cache; why it has not, where that is for good: it is lost then, as any
    /// entry there may be at any time.
    ///
    /// What its origin has deleted is given back as a tombstone.
    func giveBack(
        _ row: StateWriter.KeptEntry,
        _ scope: ScopeKey,
        _ now: Timestamp
    ) async throws(StoreError) -> EvictionReason? {
        guard let entry = row.entry else { return nil }
        guard !entry.isExpired(at: now) else { return .expired }
        if let entity = MirroredEntity(entry, row.inline, in: scope) {
            do throws(StoreError) {
                _ = try await cache.submit { writer throws(StoreError) in
                    try writer.mirror(entity, now: entity.storedAt)
                }
                return nil
            } catch .tooLarge, .noRoom {
                return .lru
            }
        }
        if let status = row.goneStatus {
            var new = NewEntry(scope: scope, entry: entry.tombstone(status), body: .inline([]))
            new.isTold = false
            _ = try await cache.submit { [new] writer throws(StoreError) in
                try writer.put(new, now: now)
            }
            return nil
        }
        let isTaken = try await cache.submit { writer throws(StoreError) in
            try writer.takeBack(entry, scope)
        }
        if isTaken { return nil }
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
            return nil
        } catch .tooLarge, .noRoom, .badChunk {
            carrier.abandon(body)
            return .lru
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
            var gone: [Gone] = []
            var copied: [(scope: ScopeKey, id: EntryID)] = []
            for (scope, id) in names {
                let found = try await state.submit { writer throws(StoreError) in
                    try writer.entry(scope, id)
                }
                guard let found, found.isReleased, !found.isShared else { continue }
                guard found.entry != nil else {
                    gone.append(Gone(scope: scope, id: id))
                    continue
                }
                switch await taken(found, scope, now) {
                case .yes: copied.append((scope, id))
                case .never(let why): gone.append(Gone(scope: scope, id: id, reason: why))
                case .later: continue
                }
            }
            do throws(StoreError) {
                if !copied.isEmpty { try await syncCache(generation) }
                gone += copied.map { Gone(scope: $0.scope, id: $0.id) }
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
        /// It is larger than the cache takes, or than there is room, or past its time.
        case never(EvictionReason)
        case later
    }

    /// A row that leaves `state.db`.
    private struct Gone {
        let scope: ScopeKey
        let id: EntryID
        /// Nil where its entry is in the cache, or there is none.
        var reason: EvictionReason?
    }

    private func taken(
        _ row: StateWriter.KeptEntry,
        _ scope: ScopeKey,
        _ now: Timestamp
    ) async -> Taken {
        guard let id = row.entry?.id else { return .yes }
        do throws(StoreError) {
            guard let reason = try await giveBack(row, scope, now) else { return .yes }
            // What is under its id must not be an older row.
            await dropShadow(scope, id)
            return shared.kept.hasShadows ? .later : .never(reason)
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

    /// What is lost with them is one step.
    private func remove(_ rows: [Gone]) async throws(StoreError) {
        guard !rows.isEmpty else { return }
        let isLoss = rows.contains { $0.reason != nil }
        let removed =
            isLoss
            ? try await revisions.step { (step) async throws(StoreError) in
                try await remove(rows, step)
            } : try await remove(rows, nil)
        for row in removed { shared.kept.remove(row.scope, row.id) }
    }

    private func remove(
        _ rows: [Gone],
        _ step: Revision?
    ) async throws(StoreError) -> [Gone] {
        try await file.settle { writer throws(StoreError) in
            var removed: [Gone] = []
            for row in rows where try writer.removeReleased(row.scope, row.id) {
                removed.append(row)
                guard let step, let reason = row.reason else { continue }
                let event = Change.Event.evict(row.id, reason, client: nil)
                try writer.log(Change(step, row.scope.scope, event))
            }
            return removed
        }
    }
}
