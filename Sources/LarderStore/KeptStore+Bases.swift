import LarderModel

/// What stands under an id, read in its turn.
extension KeptStore {
    /// What is stored of an answer; nil for nothing, and then its body is given up.
    func fenced(
        _ new: NewEntry,
        by fence: AnswerFence?,
        _ now: Timestamp
    ) async throws(StoreError) -> NewEntry? {
        guard let fence, fence.covers(new.scope, new.entry.id) else { return new }
        var bytes: [UInt8]?
        if new.entry.body.isJSON {
            switch new.body {
            case .inline(let inline): bytes = inline
            case .uploaded(let upload):
                let body = ChunkedBody(
                    number: upload.body,
                    byteCount: new.entry.body.byteCount,
                    file: upload.file
                )
                bytes = try await carrier.bytes(of: body)
            }
        }
        let base = try await base(new.scope, new.entry.id, now)
        guard var adjusted = fence.adjust(new, bytes, base) else {
            carrier.abandon(new.body)
            return nil
        }
        guard adjusted.body.upload != new.body.upload || new.body.upload == nil else {
            return adjusted
        }
        adjusted.body = try await inChunks(adjusted, as: .answer, now)
        carrier.abandon(new.body)
        return adjusted
    }

    /// Has inline bytes that are too many for a row uploaded; an entity's stand in its row, however
    /// many they are, as they do in the cache.
    func inChunks(
        _ new: NewEntry,
        as keeping: Keeping,
        _ now: Timestamp
    ) async throws(StoreError) -> NewBody {
        guard !new.entry.id.isEntity, case .inline(let bytes) = new.body else { return new.body }
        return try await carrier.upload(
            bytes,
            to: .state,
            as: keeping,
            for: new.entry,
            in: new.scope,
            now: now
        )
    }

    /// A row of the cache as it can be put into `state.db`; whoever got it gives the row back.
    func taken(
        _ row: CacheWriter.Takeable,
        _ scope: ScopeKey,
        as keeping: Keeping,
        _ now: Timestamp
    ) async throws(StoreError) -> NewEntry {
        switch row.body {
        case .inline(let bytes):
            var new = NewEntry(scope: scope, entry: row.entry, body: .inline(bytes))
            if bytes.count > Limits.inlineBodyBytesMax {
                new.body = try await inChunks(new, as: keeping, now)
            }
            return new
        case .chunked(let body):
            let upload = try await carrier.copy(
                body,
                to: .state,
                as: keeping,
                for: row.entry,
                in: scope,
                now: now
            )
            return NewEntry(scope: scope, entry: row.entry, body: .uploaded(upload))
        }
    }

    /// What an id is now, in whichever file it stands.
    func base(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ now: Timestamp
    ) async throws(StoreError) -> KeptBase {
        if shared.kept.covers(scope, id) {
            let kept = try await state.submit { writer throws(StoreError) in
                try writer.entry(scope, id)
            }
            if let kept, kept.entry != nil || kept.isTargeted { return try await base(kept) }
        }
        let found = try await withCache { writer, isGone throws(StoreError) in
            isGone ? nil : try writer.cache.base(scope, id, now: now)
        }
        guard let row = found else { return .unknown }
        defer { row.giveBack(to: shared, cache) }
        switch row.body {
        case .inline(let bytes): return try await base(row.entry, bytes, nil)
        case .chunked(let body): return try await base(row.entry, [], body)
        }
    }

    /// Carries out a command that reads what is to be a base; where the file that had it is gone for
    /// good, once more without it.
    ///
    /// One that only cannot be read now has the row still, which nobody may take for unknown: it would
    /// be swept as soon as it can be read again.
    func withCache<Value: Sendable>(
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
            // What it may show when it is back goes then.
            shared.kept.hasShadows = true
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

    /// Whether it is `cache.db` that has failed.
    func isOfCache(_ error: StoreError) -> Bool {
        switch error {
        case .noFile, .noRoom, .tooLarge, .uploadLost: true
        case _: error.file == cachePath
        }
    }

    /// What a kept row says that its id is: of a pin whose origin has deleted it, that.
    func base(_ kept: StateWriter.KeptEntry) async throws(StoreError) -> KeptBase {
        guard let entry = kept.entry else { return .unknown }
        if let status = kept.goneStatus { return .deleted(entry.tombstone(status)) }
        return try await base(entry, kept.inline, kept.chunked)
    }

    private func base(
        _ entry: Entry,
        _ inline: [UInt8],
        _ chunked: ChunkedBody?
    ) async throws(StoreError) -> KeptBase {
        guard let chunked else { return KeptBase(entry, inline) }
        guard entry.body.isJSON else { return KeptBase(entry, nil) }
        return KeptBase(entry, try await carrier.bytes(of: chunked))
    }
}
