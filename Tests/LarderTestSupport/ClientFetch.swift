import LarderEngine
package import LarderModel
import LarderStore
package import LarderWire

/// A fetch under way, as its client sees it.
package final class ClientFetch: Sendable {
    /// The frames but for heartbeats, as they come.
    package let frames = Recorder<FetchFrame>()
    /// How far the heartbeats say that it is.
    package let beats = Recorder<Revision>()
    private let cancellation = ClientCancellation()
    private let refusals = Recorder<Problem?>()
    private let read: @Sendable (FetchFrame) async -> Bool

    /// `read` is what the client does with a frame: it may take its time, and says whether it goes
    /// on reading.
    init(_ read: @escaping @Sendable (FetchFrame) async -> Bool) {
        self.read = read
    }

    /// Runs it to its end, with a reader of the calling task's own.
    func run(_ command: FetchOrder, as scope: Scope, at engine: Engine) async {
        do {
            let reader = try engine.store.makeReader()
            let refusal = await engine.fetch(
                command,
                scope: engine.store.key(for: scope),
                reader: reader,
                cancellation: cancellation,
                emit: { frame in
                    reader.endTransaction()
                    if case .heartbeat(let beat) = frame {
                        self.beats.record(beat.revision)
                        return true
                    }
                    self.frames.record(frame)
                    return await self.read(frame)
                }
            )
            reader.endTransaction()
            refusals.record(refusal)
        } catch {
            refusals.record(Problem(error))
        }
    }

    package func hangUp() {
        cancellation.giveUp()
    }

    /// Everything that it got, once it is over.
    package func result() async throws(CancellationError) -> FetchResult {
        let refusal = try await refusals.element(0)
        return FetchResult(frames.all, refusal: refusal)
    }
}
