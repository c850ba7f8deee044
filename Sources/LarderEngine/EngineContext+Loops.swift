import LarderModel
import LarderStore

/// What sessions read on their event loop, and off it where it is long; see ``CacheStore/read(on:_:)``.
extension EngineContext {
    /// What a client sees under an id; nil for a miss.
    func answer(
        _ sight: Sight,
        _ id: EntryID,
        on loop: StoreReader,
        now: Timestamp,
        isPartial: Bool = false
    ) async throws(StoreError) -> CachedAnswer? {
        try await store.read(on: loop) { reader throws(StoreError) in
            try CachedAnswer(self, reader, sight, id, now: now, isPartial: isPartial)
        }
    }

    /// What a client's modifiers make of an answer that is not kept.
    func seen(
        _ answer: Landing.Answer,
        in scope: ScopeKey,
        on loop: StoreReader
    ) async throws(StoreError) -> Landing {
        try await store.read(on: loop) { reader throws(StoreError) in
            try answer.seen(in: scope, reader)
        }
    }
}

extension FetchRequest {
    /// What is shown for it.
    func lookUp(
        on loop: StoreReader,
        _ sight: Sight,
        in context: EngineContext
    ) async throws(StoreError) -> CachedAnswer? {
        try await context.store.read(on: loop) { reader throws(StoreError) in
            try lookUp(reader, sight, in: context)
        }
    }
}
