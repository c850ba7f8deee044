import LarderModel

/// Pins, over both files: keeps entries for good in `state.db`.
///
/// Terms: an id is *covered* while ``PinIndex`` has it; a pin *has bytes* once an entry stands in
/// its row; a *shadow* is a row of `cache.db` under the id of a pin that has bytes.
///
/// Invariants:
/// 1. A pin that has bytes is the entry, whatever `cache.db` says. Each answer for its id goes into
///    `state.db`, synced, and nowhere else, before anybody hears of it.
/// 2. While an id is covered, no put of the cache's writer makes a row for it: that looks into the
///    index inside its transaction. What it had put before is what pinning reads, as commands are
///    carried out in order.
/// 3. A shadow is never newer than its pin. It arises only when a pin gets its first bytes, and the
///    next command takes it away. Where that fails, and after a crash between the two commits, or
///    when the power's loss brings an older `cache.db` back, readers look at pins before the cache
///    (``PinIndex/comesFirst``) until every shadow is gone.
/// 4. A pin without bytes leaves its id to the cache: its row there, if there is one, is an ordinary
///    one that is not evicted.
/// 5. What changes a pin does so in its turn (``PinTurns``), and the index follows the row: in
///    before the row is made, out after it is gone.
/// 6. The pins' accounted size is at most `pins.max_bytes` after every commit.
///
/// What a crash leaves, in the order of the steps. Pinning what is cached: chunks in `state.db` that
/// no pin names (swept at start; not pinned) → the pin with its bytes, and a shadow (pinned; the
/// shadow is swept at start) → the pin alone. A put: unnamed chunks (the old bytes, whole) → the
/// new bytes. Unpinning: the entry in `cache.db` beside its pin (still pinned, the row a shadow) →
/// the entry alone.
final class PinStore: Sendable {
    private let cache: CommitQueue<CacheWriter>
    private let file: StateFile
    private var state: CommitQueue<StateWriter> { file.queue }
    private let shared: SharedCacheState
    private let revisions: RevisionSource
    private let carrier: PinCarrier
    private let turns = PinTurns()

    init(
        cache: CommitQueue<CacheWriter>,
        state: StateFile,
        shared: SharedCacheState,
        bodies: BlockingReader,
        revisions: RevisionSource
    ) {
        self.cache = cache
        file = state
        self.shared = shared
        self.revisions = revisions
        carrier = PinCarrier(cache: cache, state: state.queue, shared: shared, bodies: bodies)
    }

    private func inTurn<Value>(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ work: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await turns.inTurn(PinKey(scope, id), work)
    }

    // MARK: Pinning

    /// Keeps what is cached under an id, or marks it as waiting when there is an `origin` to fetch
    /// it from.
    func pin(
        _ scope: ScopeKey,
        _ id: EntryID,
        origin: OriginName?,
        now: Timestamp
    ) async throws(StoreError) -> PinOutcome {
        try await inTurn(scope, id) { () async throws(StoreError) in
            let found = try await find(scope, id)
            if let found, found.hasBytes { return .held(isNew: false) }
            shared.pins.insert(scope, id)
            do throws(StoreError) {
                let outcome = try await adopt(scope, id, origin, now, isNew: found == nil)
                if outcome == .miss, found == nil { shared.pins.remove(scope, id) }
                return outcome
            } catch {
                try? await uncoverIfGone(scope, id)
                throw error
            }
        }
    }

    private func adopt(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ origin: OriginName?,
        _ now: Timestamp,
        isNew: Bool
    ) async throws(StoreError) -> PinOutcome {
        let row: CacheWriter.Pinnable?
        do throws(StoreError) {
            row = try await cache.submit { writer throws(StoreError) in
                try writer.pinnable(scope, id, now: now)
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
                _ = await dropShadow(scope, id)
            }
        }
        guard origin != nil else { return .miss }
        try await mark(scope, id, origin, nil, now)
        return .waiting(isNew: isNew)
    }

    /// Copies a row of the cache into a pin.
    private func take(
        _ row: CacheWriter.Pinnable,
        _ scope: ScopeKey,
        _ now: Timestamp
    ) async throws(StoreError) {
        defer { row.giveBack(to: shared, cache) }
        try file.refuseWhileFull("pin")
        let body: NewBody
        switch row.body {
        case .inline(let bytes):
            body = .inline(bytes)
        case .chunked(let chunked):
            body = .uploaded(
                try await carrier.copy(chunked, to: .state, for: row.entry, in: scope, now: now)
            )
        }
        let new = NewEntry(scope: scope, entry: row.entry, body: body)
        do throws(StoreError) {
            _ = try await state.submit { writer throws(StoreError) in
                try writer.put(new, pinnedAt: now)
            }
        } catch {
            carrier.abandon(body)
            throw error
        }
        _ = await dropShadow(scope, row.entry.id)
    }

    private func mark(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ origin: OriginName?,
        _ trouble: PinTrouble?,
        _ now: Timestamp
    ) async throws(StoreError) {
        try file.refuseWhileFull("pin")
        try await state.submit { writer throws(StoreError) in
            _ = try writer.mark(scope, id, origin: origin, now: now)
            if let trouble { try writer.setTrouble(scope, id, .tooLarge, trouble) }
        }
    }

    /// Gives an entry back to the cache; false when it was not pinned.
    ///
    /// It is lost if the cache cannot take it, as any entry there may be at any time.
    func unpin(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) async throws(StoreError) -> Bool {
        guard shared.pins.covers(scope, id) else { return false }
        return try await inTurn(scope, id) { () async throws(StoreError) in
            let found = try await state.submit { writer throws(StoreError) in
                try writer.pin(scope, id)
            }
            if let found, let entry = found.pin.entry {
                try? await giveBack(entry, found, scope, now)
            }
            return try await remove(scope, id)
        }
    }

    private func giveBack(
        _ entry: Entry,
        _ found: StateWriter.PinnedEntry,
        _ scope: ScopeKey,
        _ now: Timestamp
    ) async throws(StoreError) {
        guard !entry.isExpired(at: now) else { return }
        if let status = found.pin.goneStatus {
            let new = NewEntry(scope: scope, entry: entry.tombstone(status), body: .inline([]))
            _ = try await cache.submit { writer throws(StoreError) in
                try writer.put(new, now: now)
            }
            return
        }
        var body = NewBody.inline(found.inline)
        if let chunked = found.chunked {
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

    /// Takes a pin away with its bytes and leaves nothing in the cache; false when there was none.
    func drop(_ scope: ScopeKey, _ id: EntryID) async throws(StoreError) -> Bool {
        guard shared.pins.covers(scope, id) else { return false }
        return try await inTurn(scope, id) { () async throws(StoreError) in
            let wasPinned = try await remove(scope, id)
            if wasPinned { _ = await dropShadow(scope, id) }
            return wasPinned
        }
    }

    private func remove(_ scope: ScopeKey, _ id: EntryID) async throws(StoreError) -> Bool {
        let wasPinned = try await file.settle { writer throws(StoreError) in
            try writer.removePin(scope, id)
        }
        shared.pins.remove(scope, id)
        return wasPinned
    }

    private func uncoverIfGone(_ scope: ScopeKey, _ id: EntryID) async throws(StoreError) {
        if try await find(scope, id) == nil { shared.pins.remove(scope, id) }
    }

    func find(
        _ scope: ScopeKey,
        _ id: EntryID
    ) async throws(StoreError) -> StateWriter.FoundPin? {
        try await state.submit { writer throws(StoreError) in try writer.find(scope, id) }
    }

    // MARK: Answers

    /// Stores an answer for an id that may be pinned; nil when it is not.
    func put(_ new: NewEntry, now: Timestamp) async throws(StoreError) -> PutReceipt? {
        guard shared.pins.covers(new.scope, new.entry.id) else { return nil }
        return try await inTurn(new.scope, new.entry.id) { () async throws(StoreError) in
            guard let found = try await find(new.scope, new.entry.id) else { return nil }
            switch new.entry.kind {
            case .tombstone: return try await bury(new, found, now)
            case .blob, .fetched, .variants: return try await store(new, found, now)
            }
        }
    }

    /// Stores an entry and pins it in one; neither is done when there is no room.
    func putPinned(_ new: NewEntry, now: Timestamp) async throws(StoreError) -> PutReceipt {
        let (scope, id) = (new.scope, new.entry.id)
        return try await inTurn(scope, id) { () async throws(StoreError) in
            shared.pins.insert(scope, id)
            do throws(StoreError) {
                guard let receipt = try await keep(new, pinnedAt: now, now) else {
                    throw .closed
                }
                return receipt
            } catch {
                try? await uncoverIfGone(scope, id)
                throw error
            }
        }
    }

    private func store(
        _ new: NewEntry,
        _ found: StateWriter.FoundPin,
        _ now: Timestamp
    ) async throws(StoreError) -> PutReceipt? {
        do throws(StoreError) {
            return try await keep(new, pinnedAt: nil, now)
        } catch .pinsFull(let bytes, let limit) {
            let error = StoreError.pinsFull(bytes: bytes, limit: limit)
            if !found.hasBytes || new.entry.kind == .fetched {
                let trouble = PinTrouble(problem: "pins-full", reason: error.message)
                try await setTrouble(new.scope, new.entry.id, .tooLarge, trouble)
            }
            guard !found.hasBytes else { throw error }
            return try await putIntoCache(new, now)
        }
    }

    /// Stores an entry in its pin; nil when there is none and none is to be made.
    private func keep(
        _ new: NewEntry,
        pinnedAt: Timestamp?,
        _ now: Timestamp
    ) async throws(StoreError) -> PutReceipt? {
        try file.refuseWhileFull("pin")
        var kept = new
        kept.body = try await carrier.carry(new, to: .state, now: now)
        let isCopy = kept.body.upload != new.body.upload
        let put: StateWriter.PinPut
        do throws(StoreError) {
            kept.entry.revision = try revisions.next()
            let ready = kept
            put = try await state.submit { writer throws(StoreError) in
                try writer.put(ready, pinnedAt: pinnedAt)
            }
        } catch {
            if isCopy { carrier.abandon(kept.body) }
            throw error
        }
        guard case .stored(var receipt, let hadBytes) = put else {
            if isCopy { carrier.abandon(kept.body) }
            return nil
        }
        if isCopy { carrier.abandon(new.body) }
        if !hadBytes, await dropShadow(new.scope, new.entry.id) { receipt.isNew = false }
        return receipt
    }

    private func bury(
        _ new: NewEntry,
        _ found: StateWriter.FoundPin,
        _ now: Timestamp
    ) async throws(StoreError) -> PutReceipt {
        let (scope, id, status) = (new.scope, new.entry.id, new.entry.status)
        let isKept = try await file.settle { writer throws(StoreError) in
            try writer.bury(scope, id, status: status)
        }
        if isKept {
            return PutReceipt(revision: try revisions.next(), isNew: false, isSame: false)
        }
        let trouble = PinTrouble(
            problem: "deleted",
            reason: "the origin answered \(status): it has deleted it"
        )
        try await setTrouble(scope, id, .failed, trouble)
        return try await putIntoCache(new, now)
    }

    private func putIntoCache(
        _ new: NewEntry,
        _ now: Timestamp
    ) async throws(StoreError) -> PutReceipt {
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

    /// The same entry with a body that was uploaded for a pin moved to where the cache takes it.
    func inCache(_ new: NewEntry, now: Timestamp) async throws(StoreError) -> NewEntry {
        var moved = new
        moved.body = try await carrier.carry(new, to: .cache, now: now)
        if moved.body.upload != new.body.upload { carrier.abandon(new.body) }
        return moved
    }

    /// Confirms a pin's bytes; nil when it is the cache's row that is to be confirmed.
    func refresh(
        _ confirmed: Entry,
        in scope: ScopeKey
    ) async throws(StoreError) -> RefreshOutcome? {
        guard shared.pins.covers(scope, confirmed.id) else { return nil }
        return try await inTurn(scope, confirmed.id) { () async throws(StoreError) in
            let refresh = try await file.settle { writer throws(StoreError) in
                try writer.refresh(confirmed, in: scope)
            }
            return switch refresh {
            case .notPinned, .noBytes: nil
            case .refreshed(let outcome): outcome
            }
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

    // MARK: Uploads

    /// Begins a body for an id: in `state.db` when a pin is to take it, else nil.
    func beginUpload(
        _ scope: ScopeKey,
        _ id: EntryID,
        isPinning: Bool
    ) async throws(StoreError) -> UploadID? {
        guard isPinning || shared.pins.covers(scope, id) else { return nil }
        return try await state.submit { writer throws(StoreError) in
            guard !isPinning else { return try writer.beginUpload(scope, id) }
            // What did not fit is better off in the cache.
            guard let found = try writer.find(scope, id), found.state != .tooLarge else {
                return nil
            }
            return try writer.beginUpload(scope, id)
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
    private func dropShadow(_ scope: ScopeKey, _ id: EntryID) async -> Bool {
        do throws(StoreError) {
            return try await cache.submit { writer throws(StoreError) in
                try writer.removeShadow(scope, id)
            }
        } catch {
            shared.pins.comesFirst = true
            return false
        }
    }

    /// Takes away the rows of `cache.db` under these pins.
    func dropShadows(of pins: [Pin]) async throws(StoreError) {
        let held = pins.filter { $0.entry != nil }.map { (shared.key(for: $0.scope), $0.id) }
        try await cache.submit { writer throws(StoreError) in
            for (scope, id) in held { _ = try writer.removeShadow(scope, id) }
        }
    }
}

extension Entry {
    /// What is left when its origin has deleted it.
    fileprivate func tombstone(_ status: Int) -> Entry {
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
