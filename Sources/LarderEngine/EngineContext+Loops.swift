import LarderModel
import LarderStore
import LarderWire

extension EngineContext {
    /// Reads off the event loops, for a client.
    func read<Value: Sendable>(
        _ look: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(Problem) -> Value {
        try await storing(await store.read(look))
    }
}

/// Does something with the store for a client, who is told what the store throws.
func storing<Value>(
    _ work: @autoclosure () async throws(StoreError) -> Value
) async throws(Problem) -> Value {
    try await storingAll(work)
}

/// Does several things with the store for a client.
func storingAll<Value>(
    _ work: () async throws(StoreError) -> Value
) async throws(Problem) -> Value {
    do throws(StoreError) {
        return try await work()
    } catch {
        throw Problem(error)
    }
}
