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
    ) async throws(StoreError) -> ShownAnswer? {
        try await store.read(on: loop) { reader throws(StoreError) in
            try ShownAnswer(self, reader, sight, id, now: now, isPartial: isPartial)
        }
    }
}
