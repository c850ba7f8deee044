import LarderModel
import LarderStore
import LarderWire
import Logging

extension EngineContext {
    /// Tries again and again, as what is to be written down must not be lost.
    func untilDone(_ trouble: Logger.Message, _ work: () async throws(StoreError) -> Void) async {
        var pause = Limits.modifierRetryBase
        while !Task.isCancelled {
            do throws(StoreError) {
                return try await work()
            } catch {
                note(trouble, error)
                guard await self.pause(after: error, pause) else { return }
            }
            pause = min(pause * 2, Limits.modifierRetryMax)
        }
    }

    /// Sleeps before another try; false when there is to be none.
    func pause(after error: StoreError, _ time: Duration = Limits.modifierRetryBase) async -> Bool {
        if case .closed = error { return false }
        return (try? await clock.sleep(for: time)) != nil
    }

    func note(_ trouble: Logger.Message, _ error: StoreError, of id: EntryID? = nil) {
        var fields: [LogKey: Logger.MetadataValue] = [.reason: "\(error.message)"]
        fields[.statement] = error.statement.map { "\($0)" }
        fields[.id] = id.map { "\($0)" }
        logger.warning(trouble, metadata: .larder(fields))
    }
}

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

func storingAll<Value>(
    _ work: () async throws(StoreError) -> Value
) async throws(Problem) -> Value {
    do throws(StoreError) {
        return try await work()
    } catch {
        throw Problem(error)
    }
}
