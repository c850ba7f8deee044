import LarderModel

/// What is kept in `state.db` instead of the cache, over both files: pins, and bases of targets.
///
/// Terms: an id is *covered* while ``KeptIndex`` has it; a row is *kept* because it is *pinned*, or
/// *targeted* by unsettled changes, or both; one that is neither any more is *released*. A *shadow*
/// is a row of `cache.db` under the id of a kept row that has an entry. A *copy* is a row of a
/// user's scope that was taken from the shared row under its id.
///
/// Invariants:
/// 1. A kept row that has an entry is the entry, whatever `cache.db` says. Each answer for its id
///    goes into `state.db`, synced, and nowhere else, before anybody hears of it.
/// 2. While an id is covered, no put of the cache's writer makes a row for it: that looks into the
///    index inside its transaction. What it had put before is what taking a row over reads, as
///    commands are carried out in order.
/// 3. A shadow is never newer than its row. It arises when a row gets its first entry, and the next
///    command takes it away, and when a row is given back. Where that fails, and after a crash
///    between the two commits, or when the power's loss brings an older `cache.db` back, it is swept
///    later. Readers look here before the cache.
/// 4. A pin without an entry leaves its id to the cache: its row there, if there is one, is an
///    ordinary one that is not evicted. A target without an entry does not: its first answer goes
///    into its row.
/// 5. What changes a row does so in its turn (``KeptTurns``), and the index follows the row: in
///    before the row is made, out after it is gone.
/// 6. The accounted size of what is pinned and not targeted is never let grow beyond
///    `pins.max_bytes`. What is targeted takes what the server says.
/// 7. What is put into a shared row goes into every copy of it first, in the turns of all of them,
///    but for one that has no room for it.
/// 8. A released row leaves `state.db` after what the cache has of it is synced there, so that no
///    older row comes back; a copy goes once the shared row is as new as it is.
final class KeptStore: Sendable {
    let cache: WriterPart<CacheWriter>
    let file: StateFile
    var state: WriterPart<StateWriter> { file.queue }
    let shared: SharedCacheState
    let revisions: RevisionSource
    let carrier: BodyCarrier
    /// By which the conditions of writes are looked at.
    let readers: StoreReaders
    /// That of `cache.db`.
    let cachePath: String
    let findings: Findings
    let turns = KeptTurns()

    init(
        cache: WriterPart<CacheWriter>,
        readers: StoreReaders,
        cachePath: String,
        state: StateFile,
        shared: SharedCacheState,
        bodies: BlockingReader,
        revisions: RevisionSource,
        findings: Findings
    ) {
        self.cache = cache
        self.readers = readers
        self.cachePath = cachePath
        file = state
        self.shared = shared
        self.revisions = revisions
        self.findings = findings
        carrier = BodyCarrier(cache: cache, state: state.queue, shared: shared, bodies: bodies)
    }

    func inTurn<Value>(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ work: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await turns.inTurn(KeptKey(scope, id), work)
    }

    /// Lets a body of the cache go that was leased.
    func giveBack(_ body: ChunkedBody) {
        if body.file == .cache, shared.leases.giveBack(body.number) { cache.wake() }
    }

    func find(
        _ scope: ScopeKey,
        _ id: EntryID
    ) async throws(StoreError) -> StateWriter.FoundKept? {
        try await state.submit { writer throws(StoreError) in try writer.find(scope, id) }
    }

    // MARK: Answers

    /// Stores an entry in the row that its id is kept in, in the copies of a shared one, and where
    /// it is not kept in the cache.
    ///
    /// Where `fence` covers the id, it has the last word on what is stored.
    func put(
        _ new: NewEntry,
        now: Timestamp,
        fence: AnswerFence?,
        if condition: WriteCondition? = nil
    ) async throws(StoreError) -> PutReceipt {
        var new = new
        for _ in 0..<Limits.keptRoundsMax {
            if let receipt = try await putInTurn(new, now, fence, condition) { return receipt }
            let seen = try await condition?.check(readers)
            // Given back while it arrived, if it ever was kept.
            let ready = try await inCache(new, now: now)
            new = ready
            let receipt = try await cache.submit { writer throws(StoreError) -> PutReceipt? in
                guard try writer.isStill(seen, ready.scope, ready.entry.id) else { return nil }
                return try writer.putUnlessKept(ready, now: now)
            }
            if let receipt { return receipt }
        }
        throw .overloaded
    }

    /// Nil when the id is not kept, and when who follows it has changed meanwhile.
    private func putInTurn(
        _ new: NewEntry,
        _ now: Timestamp,
        _ fence: AnswerFence?,
        _ condition: WriteCondition?
    ) async throws(StoreError) -> PutReceipt? {
        let (scope, id) = (new.scope, new.entry.id)
        let isFenced = fence?.covers(scope, id) == true
        guard isFenced || shared.kept.concerns(scope, id) else { return nil }
        let followers = shared.kept.followers(scope, id)
        let keys = ([scope] + followers).map { KeptKey($0, id) }
        return try await turns.inTurns(keys) { () async throws(StoreError) in
            guard shared.kept.followers(scope, id) == followers else { return nil }
            _ = try await condition?.check(readers)
            for follower in followers { await put(new, intoCopyOf: follower, now, fence) }
            let found = shared.kept.covers(scope, id) ? try await find(scope, id) : nil
            guard let fenced = try await fenced(new, by: fence, now) else {
                return PutReceipt(
                    revision: try skipped(found),
                    isNew: false,
                    isSame: true
                )
            }
            guard let found else { return try await putIntoCache(fenced, now) }
            return try await put(fenced, into: found, now)
        }
    }

    /// The revision of what stays as it is.
    private func skipped(_ found: StateWriter.FoundKept?) throws(StoreError) -> Revision {
        guard let found, found.hasEntry else { return try revisions.spend() }
        return found.revision
    }

    /// Stores an entry in its row, in the row's turn.
    func put(
        _ new: NewEntry,
        into found: StateWriter.FoundKept,
        _ now: Timestamp
    ) async throws(StoreError) -> PutReceipt {
        switch new.entry.kind {
        case .tombstone: try await bury(new, found, now)
        case .blob, .fetched, .variants, .entity: try await store(new, found, now)
        }
    }

    private func store(
        _ new: NewEntry,
        _ found: StateWriter.FoundKept,
        _ now: Timestamp
    ) async throws(StoreError) -> PutReceipt {
        let (scope, id) = (new.scope, new.entry.id)
        do throws(StoreError) {
            guard let receipt = try await keep(new, pinnedAt: nil, now) else { throw .closed }
            return receipt
        } catch .pinsFull(let bytes, let limit) {
            let error = StoreError.pinsFull(bytes: bytes, limit: limit)
            if !found.hasBytes || new.entry.kind == .fetched {
                let trouble = PinTrouble(problem: "pins-full", reason: error.message)
                try await setTrouble(scope, id, .tooLarge, trouble)
            }
            guard !found.hasBytes else { throw error }
            if found.hasEntry {
                // It said that there is nothing.
                try await file.settle { writer throws(StoreError) in
                    if let row = try writer.find(scope, id) { try writer.clear(row, scope, id) }
                }
            }
            return try await putIntoCache(new, now)
        }
    }

    /// Stores an entry in its row; nil when there is none and none is to be made.
    func keep(
        _ new: NewEntry,
        pinnedAt: Timestamp?,
        _ now: Timestamp
    ) async throws(StoreError) -> PutReceipt? {
        try file.refuseWhileFull("pin")
        var kept = new
        let keeping: Keeping = pinnedAt == nil ? .answer : .pin
        kept.body = try await carrier.carry(new, to: .state, as: keeping, now: now)
        let isCopy = kept.body.upload != new.body.upload
        let put: StateWriter.KeptPut
        do throws(StoreError) {
            let moved = kept
            put = try await revisions.step { (step) async throws(StoreError) in
                var ready = moved
                ready.entry.revision = step
                return try await state.submit { [ready] writer throws(StoreError) in
                    try writer.put(ready, pinnedAt: pinnedAt)
                }
            }
        } catch {
            if isCopy { carrier.abandon(kept.body) }
            throw error
        }
        guard case .stored(var receipt, let hadEntry) = put else {
            if isCopy { carrier.abandon(kept.body) }
            return nil
        }
        if isCopy { carrier.abandon(new.body) }
        let isEntity = new.entry.id.isEntity
        if !hadEntry,
            await dropShadow(new.scope, new.entry.id, sparingMirrors: isEntity)
        {
            receipt.isNew = false
        }
        return receipt
    }

    /// The origin has deleted it: the bytes of a pin stay, a base is a tombstone from then on.
    private func bury(
        _ new: NewEntry,
        _ found: StateWriter.FoundKept,
        _ now: Timestamp
    ) async throws(StoreError) -> PutReceipt {
        let (scope, id, status) = (new.scope, new.entry.id, new.entry.status)
        if found.isLeftToCache {
            try await setTrouble(scope, id, .failed, PinTrouble(deleted: status))
            return try await putIntoCache(new, now)
        }
        return try await revisions.step { (step) async throws(StoreError) in
            var tombstone = new
            tombstone.entry.revision = step
            return try await file.settle { [tombstone] writer throws(StoreError) in
                if try writer.bury(tombstone, step) {
                    return PutReceipt(revision: step, isNew: false, isSame: false)
                }
                guard case .stored(let receipt, _) = try writer.put(tombstone) else {
                    throw .closed
                }
                return receipt
            }
        }
    }

    func putIntoCache(_ new: NewEntry, _ now: Timestamp) async throws(StoreError) -> PutReceipt {
        let ready = try await inCache(new, now: now)
        do throws(StoreError) {
            return try await cache.submit { writer throws(StoreError) in
                try writer.put(ready, now: now)
            }
        } catch {
            if ready.body.upload != new.body.upload { carrier.abandon(ready.body) }
            throw error
        }
    }

    /// The same entry with a body that was uploaded for a kept row moved to where the cache takes
    /// it.
    private func inCache(_ new: NewEntry, now: Timestamp) async throws(StoreError) -> NewEntry {
        var moved = new
        moved.body = try await carrier.carry(new, to: .cache, now: now)
        if moved.body.upload != new.body.upload { carrier.abandon(new.body) }
        return moved
    }

    /// Confirms the bytes that stand under an id, and those of the copies of a shared row.
    func refresh(
        _ confirmed: Entry,
        in scope: ScopeKey
    ) async throws(StoreError) -> RefreshOutcome {
        for _ in 0..<Limits.keptRoundsMax {
            let id = confirmed.id
            guard shared.kept.concerns(scope, id) else {
                return try await refreshInCache(confirmed, scope)
            }
            let followers = shared.kept.followers(scope, id)
            let keys = ([scope] + followers).map { KeptKey($0, id) }
            let outcome = try await turns.inTurns(keys) {
                () async throws(StoreError) -> RefreshOutcome? in
                guard shared.kept.followers(scope, id) == followers else { return nil }
                return try await refresh(confirmed, scope, followers)
            }
            if let outcome { return outcome }
        }
        throw .overloaded
    }

    private func refresh(
        _ confirmed: Entry,
        _ scope: ScopeKey,
        _ followers: [ScopeKey]
    ) async throws(StoreError) -> RefreshOutcome {
        do throws(StoreError) {
            try await file.settle { writer throws(StoreError) in
                for follower in followers { _ = try writer.refresh(confirmed, in: follower) }
            }
        } catch {
            findings.tell("copies of \(confirmed.id) were not confirmed: \(error.message)")
        }
        guard shared.kept.covers(scope, confirmed.id) else {
            return try await refreshInCache(confirmed, scope)
        }
        let refresh = try await file.settle { writer throws(StoreError) in
            try writer.refresh(confirmed, in: scope)
        }
        return switch refresh {
        case .notKept, .noBytes: try await refreshInCache(confirmed, scope)
        case .refreshed(let outcome): outcome
        }
    }

    private func refreshInCache(
        _ confirmed: Entry,
        _ scope: ScopeKey
    ) async throws(StoreError) -> RefreshOutcome {
        try await cache.submit { writer throws(StoreError) in
            try writer.refresh(confirmed, in: scope)
        }
    }

    func setTrouble(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ newState: PinState,
        _ trouble: PinTrouble
    ) async throws(StoreError) {
        _ = try await file.settle { writer throws(StoreError) in
            try writer.setTrouble(scope, id, newState, trouble)
        }
    }

    // MARK: Removal

    /// Takes away what nothing keeps any more and was not given back yet, with whatever stands
    /// under its id in the cache; what it was.
    ///
    /// Throws for what is pinned or targeted.
    func delete(
        _ scope: ScopeKey,
        _ id: EntryID,
        client: ClientTag?,
        if condition: WriteCondition?
    ) async throws(StoreError) -> EntryKind? {
        try await inTurn(scope, id) { () async throws(StoreError) in
            let found = try await find(scope, id)
            if found?.isTargeted == true { throw .targeted }
            if found?.isPinned == true { throw .pinned }
            _ = try await condition?.check(readers)
            if let found { try await removeReleased(scope, id, found.kind, client) }
            shared.kept.remove(scope, id)
            guard found?.kind == nil else {
                await dropShadow(scope, id)
                return found?.kind
            }
            return try await cache.submit { writer throws(StoreError) in
                try writer.delete(scope, id, client: client)
            }
        }
    }

    private func removeReleased(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ kind: EntryKind?,
        _ client: ClientTag?
    ) async throws(StoreError) {
        try await revisions.step { (step) async throws(StoreError) in
            let event: Change.Event? =
                switch kind {
                case nil, .variants: nil
                case .blob: .delete(id, ChangeCause(.client, client: client))
                case .fetched, .tombstone, .entity: .evict(id, .request, client: client)
                }
            try await file.settle { writer throws(StoreError) in
                guard try writer.removeReleased(scope, id), let event else { return }
                try writer.log(Change(step, scope.scope, event))
            }
        }
    }

    func uncoverIfGone(_ scope: ScopeKey, _ id: EntryID) async throws(StoreError) {
        if try await find(scope, id) == nil { shared.kept.remove(scope, id) }
    }

    // MARK: Uploads

    /// Begins a body for an id: in `state.db` when a kept row is to take it, else nil.
    func beginUpload(
        _ scope: ScopeKey,
        _ id: EntryID,
        isPinning: Bool
    ) async throws(StoreError) -> UploadID? {
        guard isPinning || shared.kept.covers(scope, id) else { return nil }
        return try await state.submit { writer throws(StoreError) in
            guard !isPinning else { return try writer.beginUpload(scope, id, as: .pin) }
            guard let found = try writer.find(scope, id) else { return nil }
            // What did not fit is better off in the cache.
            if found.pin == .tooLarge, !found.isTargeted { return nil }
            return try writer.beginUpload(scope, id, as: .answer)
        }
    }

    func append(
        _ chunk: [UInt8],
        to upload: UploadID,
        now: Timestamp
    ) async throws(StoreError) {
        try await carrier.append(chunk, to: upload, now: now)
    }

    func abandon(_ upload: UploadID) {
        carrier.abandon(.uploaded(upload))
    }

    // MARK: Shadows

    /// Whether there was one.
    @discardableResult
    func dropShadow(
        _ scope: ScopeKey,
        _ id: EntryID,
        sparingMirrors isSparing: Bool = false
    ) async -> Bool {
        await dropShadows([(scope, id)], sparingMirrors: isSparing)
    }

    /// Takes away the rows of `cache.db` under kept rows; whether there was one that counted.
    func dropShadows(
        _ rows: [(ScopeKey, EntryID)],
        sparingMirrors isSparing: Bool = false
    ) async -> Bool {
        do throws(StoreError) {
            return try await cache.submit { writer throws(StoreError) in
                var wasThere = false
                for (scope, id) in rows {
                    let found = try writer.removeShadow(scope, id, sparingMirrors: isSparing)
                    wasThere = wasThere || found
                }
                return wasThere
            }
        } catch {
            shared.kept.hasShadows = true
            return false
        }
    }

    /// The same for which nobody waits: whatever is done in the cache later comes after it.
    func postDropOfShadows(_ rows: [(ScopeKey, EntryID)]) {
        cache.post { writer throws(StoreError) in
            for (scope, id) in rows {
                _ = try writer.removeShadow(scope, id, sparingMirrors: true)
            }
        } done: { [shared] hasSucceeded in
            if !hasSucceeded { shared.kept.hasShadows = true }
        }
    }

    /// The same for rows that were read: of those that leave nothing to the cache.
    func sweepShadows(of rows: [KeptRow]) async throws(StoreError) {
        let names = rows.filter { $0.hasEntry || !$0.isPinned || $0.isTargeted }
            .map { (shared.key(for: $0.scope), $0.id) }
        try await cache.submit { writer throws(StoreError) in
            for (scope, id) in names {
                _ = try writer.removeShadow(scope, id, sparingMirrors: true)
            }
        }
    }
}

extension Entry {
    /// What is left when its origin has deleted it.
    func tombstone(_ status: Int) -> Entry {
        var entry = Entry(
            id: id,
            kind: .tombstone,
            status: status,
            storedAt: storedAt,
            revision: revision,
            body: BodySummary(of: [], isJSON: false)
        )
        entry.origin = origin
        return entry
    }
}
