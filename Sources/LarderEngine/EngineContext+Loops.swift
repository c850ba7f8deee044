import LarderModel
import LarderStore
import LarderWire

extension EngineContext {
    /// Reads off the event loops, for a client.
    func read<Value: Sendable>(
        _ look: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(Problem) -> Value {
        try await storing { () async throws(StoreError) in try await store.read(look) }
    }

    /// What a client sees under an id, read on its event loop, or off it where that is long; nil for a
    /// miss.
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

/// Does something with the store for a client, who is told what the store throws.
func storing<Value>(
    _ work: () async throws(StoreError) -> Value
) async throws(Problem) -> Value {
    do throws(StoreError) {
        return try await work()
    } catch {
        throw Problem(error)
    }
}
