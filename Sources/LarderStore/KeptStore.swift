import LarderModel

/// What must not be lost: commands over both files (``StoreWriter``), as those see them who wait.
final class KeptStore: Sendable {
    let cache: WriterPart<CacheWriter>
    let file: StateFile
    let shared: SharedCacheState
    private let carrier: BodyCarrier
    /// By which the conditions of writes are looked at.
    let readers: StoreReaders
    /// That of `cache.db`.
    private let cachePath: String

    init(
        cache: WriterPart<CacheWriter>,
        readers: StoreReaders,
        cachePath: String,
        state: StateFile,
        shared: SharedCacheState
    ) {
        self.cache = cache
        self.readers = readers
        self.cachePath = cachePath
        file = state
        self.shared = shared
        carrier = BodyCarrier(
            cache: cache,
            state: state.queue,
            shared: shared,
            bodies: readers.bodies
        )
    }

    // MARK: Commands

    /// Carries a command out; where `cache.db` cannot be used, once more without it, for what is
    /// claimed.
    func submit<Value: Sendable>(
        _ command: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        do throws(StoreError) {
            return try await file.commits.submit(command)
        } catch {
            guard isOfCache(error), !shared.kept.isEmpty else { throw error }
            return try await file.commits.submit { writer throws(StoreError) in
                try writer.leavingOutCache { () throws(StoreError) in try command(writer) }
            }
        }
    }

    /// Whether it is `cache.db` that has failed.
    private func isOfCache(_ error: StoreError) -> Bool {
        switch error {
        case .noFile, .noRoom, .tooLarge, .uploadLost: true
        case _: error.file == cachePath
        }
    }

    /// Carries out a command that reads what is to be a base; where the file that had it is gone for
    /// good, once more without it.
    ///
    /// One that only cannot be read now has the row still, which nobody may take for unknown: it would
    /// be taken away as soon as it can be read again.
    private func withCache<Value: Sendable>(
        _ command: @escaping @Sendable (StoreWriter, _ isGone: Bool) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let before = shared.generation
        var failure = StoreError.closed
        // The fault of a moment is not worth a refusal.
        for _ in 0..<2 {
            do throws(StoreError) {
                return try await file.commits.submit { writer throws(StoreError) in
                    try command(writer, false)
                }
            } catch {
                guard isOfCache(error) else { throw error }
                failure = error
            }
        }
        let isGone = try await cache.outsideTransaction { writer throws(StoreError) in
            writer.isGone
        }
        let now = shared.generation
        if isGone || now.hasFile && now != before {
            return try await file.commits.submit { writer throws(StoreError) in
                try command(writer, true)
            }
        }
        switch failure {
        case .sqlite, .corrupt:
            throw .noFile(reason: "what it changes cannot be read, \(failure.message)")
        case _: throw failure
        }
    }

    /// Carries out what may need large bodies copied first.
    func copying<Value: Sendable>(
        now: Timestamp,
        _ attempt: (StoreWriter.CopiedBodies) async throws(StoreError) ->
            StoreWriter.Entrance<Value>
    ) async throws(StoreError) -> Value {
        var copied: StoreWriter.CopiedBodies = [:]
        // What a row names by now stays.
        defer { for copy in copied.values { abandon(copy) } }
        for _ in 0..<Limits.keptRoundsMax {
            switch try await attempt(copied) {
            case .done(let value): return value
            case .refused(let error): throw error
            case .needs(let large):
                for body in large { abandon(copied.removeValue(forKey: body.name)) }
                try await copy(large, into: &copied, now)
            }
        }
        throw .overloaded
    }

    /// Copies bodies and lets those go that are leased; one that is damaged is known as such.
    private func copy(
        _ large: [StoreWriter.LargeBody],
        into copied: inout StoreWriter.CopiedBodies,
        _ now: Timestamp
    ) async throws(StoreError) {
        defer {
            for body in large where body.isLeased {
                if shared.leases.giveBack(body.body.number) { cache.wake() }
            }
        }
        for large in large {
            do throws(StoreError) {
                let upload = try await carrier.copy(
                    large.body,
                    to: large.file,
                    as: large.keeping,
                    for: large.entry,
                    in: large.name.scope,
                    now: now
                )
                copied[large.name] = (large.body, upload)
            } catch .badChunk {
                copied[large.name] = (large.body, nil)
            }
        }
    }

    private func abandon(_ copy: (source: ChunkedBody, upload: UploadID?)?) {
        if let upload = copy?.upload { abandon(upload) }
    }

    // MARK: Entries

    /// See ``StoreWriter/put(_:fence:_:isOwn:isShown:now:)``.
    func put(
        _ new: NewEntry,
        now: Timestamp,
        fence: AnswerFence?,
        if condition: WriteCondition? = nil
    ) async throws(StoreError) -> PutReceipt {
        try refuseWhileFull(new)
        return try await conditionally(condition, new.scope, new.entry.id, now) {
            (writer, copied) throws(StoreError) in
            try writer.put(new, fence: fence, copied, now: now)
        }
    }

    /// Stores an entry and pins it in one.
    func putPinned(
        _ new: NewEntry,
        now: Timestamp,
        if condition: WriteCondition? = nil
    ) async throws(StoreError) -> PutReceipt {
        try file.refuseWhileFull("pin")
        return try await conditionally(condition, new.scope, new.entry.id, now) {
            (writer, copied) throws(StoreError) in
            try writer.putPinned(new, copied, now: now)
        }
    }

    private func refuseWhileFull(_ new: NewEntry) throws(StoreError) {
        guard new.entry.kind != .tombstone, shared.kept.concerns(new.scope, new.entry.id) else {
            return
        }
        try file.refuseWhileFull("pin")
    }

    /// Carries a write out that hangs on what stands under its id.
    private func conditionally<Value: Sendable>(
        _ condition: WriteCondition?,
        _ scope: ScopeKey,
        _ id: EntryID,
        _ now: Timestamp,
        _ write:
            @escaping @Sendable (StoreWriter, StoreWriter.CopiedBodies) throws(StoreError)
            -> StoreWriter.Entrance<Value>
    ) async throws(StoreError) -> Value {
        for _ in 0..<Limits.keptRoundsMax {
            let seen = try await condition?.check(readers)
            let value = try await copying(now: now) {
                (copied) async throws(StoreError) -> StoreWriter.Entrance<Value?> in
                try await submit { writer throws(StoreError) in
                    guard try writer.isStill(seen, scope, id) else { return .done(nil) }
                    return switch try write(writer, copied) {
                    case .done(let value): .done(value)
                    case .refused(let error): .refused(error)
                    case .needs(let large): .needs(large)
                    }
                }
            }
            if let value { return value }
        }
        throw .overloaded
    }

    func refresh(
        _ confirmed: Entry,
        in scope: ScopeKey
    ) async throws(StoreError) -> RefreshOutcome {
        try await submit { writer throws(StoreError) in
            try writer.refresh(confirmed, in: scope)
        }
    }

    func delete(
        _ scope: ScopeKey,
        _ id: EntryID,
        client: ClientTag?,
        if condition: WriteCondition?
    ) async throws(StoreError) -> EntryKind? {
        // What is targeted is so, whatever it is.
        if let place = shared.kept.place(scope, id), place.targets > 0 { throw .targeted }
        return try await conditionally(condition, scope, id, Timestamp(milliseconds: 0)) {
            (writer, _) throws(StoreError) in
            try writer.delete(scope, id, client: client)
        }
    }

    /// Carries out what shrinks `state.db` or settles what is under way.
    private func settling<Value: Sendable>(
        _ command: @escaping @Sendable (StoreWriter) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await file.settling { () async throws(StoreError) in try await submit(command) }
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

    func renew(_ rows: [RowNews]) async throws(StoreError) {
        try await submit { writer throws(StoreError) in try writer.renew(rows) }
    }

    // MARK: Answers and entities

    func put(
        _ answer: NewAnswer,
        now: Timestamp,
        fence: AnswerFence?
    ) async throws(StoreError) -> AnswerReceipt {
        try refuseWhileFull(answer.entry)
        return try await copying(now: now) { (copied) async throws(StoreError) in
            try await submit { writer throws(StoreError) in
                try writer.put(answer, fence: fence, copied, now: now)
            }
        }
    }

    func put(_ entities: NewEntities, now: Timestamp) async throws(StoreError) -> EntitiesReceipt {
        try await submit { writer throws(StoreError) in try writer.put(entities, now: now) }
    }

    func deleteEntity(
        _ name: EntityName,
        in scope: ScopeKey,
        fetch: Revision,
        _ cause: ChangeCause,
        now: Timestamp
    ) async throws(StoreError) -> Revision? {
        try await submit { writer throws(StoreError) in
            try writer.deleteEntity(name, in: scope, fetch: fetch, cause, now: now)
        }
    }

    /// All of a body that stays in place meanwhile.
    func bytes(of body: ChunkedBody) async throws(StoreError) -> [UInt8] {
        try await carrier.bytes(of: body)
    }

    // MARK: Pins

    func pin(
        _ scope: ScopeKey,
        _ id: EntryID,
        origin: OriginName?,
        adoptsShared: Bool,
        now: Timestamp
    ) async throws(StoreError) -> PinOutcome {
        try file.refuseWhileFull("pin")
        return try await copying(now: now) { (copied) async throws(StoreError) in
            let command = { @Sendable (writer: StoreWriter) throws(StoreError) in
                try writer.pin(
                    scope,
                    id,
                    origin: origin,
                    adoptsShared: adoptsShared,
                    copied,
                    now: now
                )
            }
            // Without the cache it can be fetched all the same.
            return origin == nil
                ? try await file.commits.submit(command) : try await submit(command)
        }
    }

    func unpin(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) async throws(StoreError) -> Bool {
        guard shared.kept.covers(scope, id) else { return false }
        return try await settling { writer throws(StoreError) in
            try writer.unpin(scope, id, now: now)
        }
    }

    func drop(
        _ scope: ScopeKey,
        _ id: EntryID,
        client: ClientTag?
    ) async throws(StoreError) -> Bool {
        guard shared.kept.covers(scope, id) else { return false }
        return try await settling { writer throws(StoreError) in
            try writer.drop(scope, id, client: client)
        }
    }

    // MARK: Modifiers

    /// Accepts all of them, or none; in their order.
    func accept(_ new: [NewModifier], now: Timestamp) async throws(StoreError) -> [Acceptance] {
        try await entering(now) { writer, copied, isCacheGone throws(StoreError) in
            try writer.accept(new, copied, isCacheGone: isCacheGone, now: now)
        }
    }

    /// Puts a dead letter at the end of the queue; nil when there is none of this number.
    func retry(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        sharing: @escaping @Sendable (EntryID) -> Bool,
        now: Timestamp
    ) async throws(StoreError) -> ModifierNumber? {
        try await entering(now) { writer, copied, isCacheGone throws(StoreError) in
            try writer.retry(
                number,
                of: scope,
                sharing: sharing,
                copied,
                isCacheGone: isCacheGone,
                now: now
            )
        }
    }

    private func entering<Value: Sendable>(
        _ now: Timestamp,
        _ command:
            @escaping @Sendable (StoreWriter, StoreWriter.CopiedBodies, _ isCacheGone: Bool)
            throws(StoreError) -> StoreWriter.Entrance<Value>
    ) async throws(StoreError) -> Value {
        try file.refuseWhileFull("accept a modifier")
        return try await copying(now: now) { (copied) async throws(StoreError) in
            try await withCache { writer, isGone throws(StoreError) in
                try command(writer, copied, isGone)
            }
        }
    }

    /// Settles all of them in one command; those that were settled before are left out of the
    /// receipt.
    func settle(
        _ settlements: [Settlement],
        now: Timestamp
    ) async throws(StoreError) -> SettleReceipt {
        try await settling { writer throws(StoreError) in try writer.settle(settlements, now: now) }
    }

    // MARK: Uploads

    /// Begins a body for an id: in `state.db` when that is to have it, else nil.
    func beginUpload(
        _ scope: ScopeKey,
        _ id: EntryID,
        isPinning: Bool
    ) async throws(StoreError) -> UploadID? {
        guard isPinning || shared.kept.covers(scope, id) else { return nil }
        return try await file.queue.submit { writer throws(StoreError) in
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
}
