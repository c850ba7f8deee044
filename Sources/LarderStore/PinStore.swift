import LarderModel

/// Pins: entries that are kept for good, by a ``KeptStore``, because a user wants so.
///
/// What a crash leaves, in the order of the steps. Pinning what is cached: chunks in `state.db` that
/// no row names (swept at start; not pinned) → the pin with its bytes, and a shadow (pinned; the
/// shadow is swept at start) → the pin alone. A put: unnamed chunks (the old bytes, whole) → the
/// new bytes. Unpinning: the entry in `cache.db` beside its pin (still pinned, the row a shadow) →
/// the entry alone. Of what is targeted as well only the mark goes.
final class PinStore: Sendable {
    private let kept: KeptStore
    private let index: KeptIndex

    init(_ kept: KeptStore) {
        self.kept = kept
        index = kept.shared.kept
    }

    /// Keeps what is cached under an id, or marks it as waiting when there is an `origin` to fetch
    /// it from.
    ///
    /// With `adoptsShared`, what is shared is cached as well.
    func pin(
        _ scope: ScopeKey,
        _ id: EntryID,
        origin: OriginName?,
        adoptsShared: Bool = false,
        now: Timestamp
    ) async throws(StoreError) -> PinOutcome {
        try await kept.inTurn(scope, id) { () async throws(StoreError) in
            let found = try await kept.find(scope, id)
            if let found, found.isPinned, found.hasBytes { return .held(isNew: false) }
            index.insert(scope, id)
            do throws(StoreError) {
                let isNew = found?.isPinned != true
                let outcome =
                    found?.isLeftToCache ?? true
                    ? try await adopt(scope, id, origin, adoptsShared, now, isNew: isNew)
                    : try await markKept(scope, id, origin, now, hasBytes: found?.hasBytes == true)
                if outcome == .miss, found == nil { index.remove(scope, id) }
                if outcome != .miss { index.setPinned(scope, id, true) }
                return outcome
            } catch {
                try? await kept.uncoverIfGone(scope, id)
                throw error
            }
        }
    }

    private func adopt(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ origin: OriginName?,
        _ adoptsShared: Bool,
        _ now: Timestamp,
        isNew: Bool
    ) async throws(StoreError) -> PinOutcome {
        let shared = adoptsShared ? kept.shared.key(for: .shared) : nil
        let row: CacheWriter.Takeable?
        do throws(StoreError) {
            row = try await kept.cache.submit { writer throws(StoreError) in
                if let row = try writer.pinnable(scope, id, now: now) { return row }
                return try shared.flatMap { shared throws(StoreError) in
                    try writer.pinnable(shared, id, now: now)
                }
            }
        } catch {
            // Without the cache it can be fetched all the same.
            guard origin != nil else { throw error }
            row = nil
        }
        if let row {
            do throws(StoreError) {
                try await take(row, scope, now)
                return .held(isNew: isNew)
            } catch .pinsFull(let bytes, let limit) {
                let error = StoreError.pinsFull(bytes: bytes, limit: limit)
                let trouble = PinTrouble(problem: "pins-full", reason: error.message)
                try await mark(scope, id, row.entry.origin, trouble, now)
                return .tooLarge(trouble)
            } catch .badChunk {
                await kept.dropShadow(scope, id)
            }
        }
        guard origin != nil else { return .miss }
        try await mark(scope, id, origin, nil, now)
        return .waiting(isNew: isNew)
    }

    /// Pins what is kept already: as the base of a target, or as it was not given back yet.
    private func markKept(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ origin: OriginName?,
        _ now: Timestamp,
        hasBytes: Bool
    ) async throws(StoreError) -> PinOutcome {
        guard hasBytes || origin != nil else { return .miss }
        try kept.file.refuseWhileFull("pin")
        let (hasBytes, isNew) = try await kept.state.submit { writer throws(StoreError) in
            try writer.mark(scope, id, origin: origin, now: now)
        }
        return hasBytes ? .held(isNew: isNew) : .waiting(isNew: isNew)
    }

    /// Copies a row of the cache into a pin.
    private func take(
        _ row: CacheWriter.Takeable,
        _ scope: ScopeKey,
        _ now: Timestamp
    ) async throws(StoreError) {
        defer { row.giveBack(to: kept.shared, kept.cache) }
        try kept.file.refuseWhileFull("pin")
        let new = try await kept.taken(row, scope, as: .pin, now)
        do throws(StoreError) {
            _ = try await kept.state.submit { writer throws(StoreError) in
                try writer.put(new, pinnedAt: now, isNews: false)
            }
        } catch {
            kept.carrier.abandon(new.body)
            throw error
        }
        await kept.dropShadow(scope, row.entry.id, sparingMirrors: true)
    }

    private func mark(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ origin: OriginName?,
        _ trouble: PinTrouble?,
        _ now: Timestamp
    ) async throws(StoreError) {
        try kept.file.refuseWhileFull("pin")
        try await kept.state.submit { writer throws(StoreError) in
            _ = try writer.mark(scope, id, origin: origin, now: now)
            if let trouble { try writer.setTrouble(scope, id, .tooLarge, trouble) }
        }
    }

    /// Stores an entry and pins it in one; neither is done when there is no room.
    func putPinned(
        _ new: NewEntry,
        now: Timestamp,
        if condition: WriteCondition? = nil
    ) async throws(StoreError) -> PutReceipt {
        let (scope, id) = (new.scope, new.entry.id)
        return try await kept.inTurn(scope, id) { () async throws(StoreError) in
            index.insert(scope, id)
            do throws(StoreError) {
                if let condition {
                    // What the cache was told to put before has been put.
                    try await kept.cache.submit { _ throws(StoreError) in }
                    _ = try await condition.check(kept.readers)
                }
                guard let receipt = try await kept.keep(new, pinnedAt: now, now) else {
                    throw .closed
                }
                index.setPinned(scope, id, true)
                return receipt
            } catch {
                try? await kept.uncoverIfGone(scope, id)
                throw error
            }
        }
    }

    /// Gives an entry back to the cache; false when it was not pinned.
    ///
    /// It is lost if the cache cannot take it, as any entry there may be at any time. What is
    /// targeted stays as a base.
    func unpin(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) async throws(StoreError) -> Bool {
        guard index.covers(scope, id) else { return false }
        return try await kept.inTurn(scope, id) { () async throws(StoreError) in
            let found = try await kept.state.submit { writer throws(StoreError) in
                try writer.entry(scope, id)
            }
            guard let found, found.isPinned else {
                if found == nil { index.remove(scope, id) }
                return false
            }
            // A copy goes when it is released: what is behind it shows then.
            guard !found.isTargeted, !found.isShared else {
                try await kept.file.settle { writer throws(StoreError) in
                    try writer.unpin(scope, id)
                }
                index.setPinned(scope, id, false)
                return true
            }
            var lost: EvictionReason?
            do throws(StoreError) {
                lost = try await kept.giveBack(found, scope, now)
            } catch {
                lost = .lru
            }
            guard let lost else { return try await remove(scope, id) }
            return try await kept.revisions.step { (step) async throws(StoreError) in
                let event = Change.Event.evict(id, lost, client: nil)
                return try await remove(scope, id, Change(step, scope.scope, event))
            }
        }
    }

    /// Takes what is pinned away with its bytes, or what is to be given back, and leaves nothing in
    /// the cache; false when there was none, or it is targeted.
    func drop(
        _ scope: ScopeKey,
        _ id: EntryID,
        client: ClientTag?
    ) async throws(StoreError) -> Bool {
        guard index.covers(scope, id) else { return false }
        return try await kept.inTurn(scope, id) { () async throws(StoreError) in
            let found = try await kept.find(scope, id)
            guard found?.isTargeted != true else { return false }
            let wasKept = try await kept.revisions.step { (step) async throws(StoreError) in
                let event = Change.Event.evict(id, .request, client: client)
                return try await remove(scope, id, Change(step, scope.scope, event))
            }
            guard wasKept else { return false }
            guard found?.hasEntry == true else {
                // Its entry was the cache's.
                try await kept.cache.submit { writer throws(StoreError) in
                    try writer.evict(scope, id, .request, client)
                }
                return true
            }
            await kept.dropShadow(scope, id)
            return true
        }
    }

    private func remove(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ eviction: Change? = nil
    ) async throws(StoreError) -> Bool {
        let wasKept = try await kept.file.settle { writer throws(StoreError) in
            guard let row = try writer.find(scope, id) else { return false }
            try writer.remove(row, scope, id)
            if row.hasEntry { try writer.log(eviction) }
            return true
        }
        index.remove(scope, id)
        return wasKept
    }
}
