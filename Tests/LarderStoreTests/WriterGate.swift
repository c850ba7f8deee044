import Dispatch
import LarderTestSupport

/// Holds a writer up inside a transaction until it is let go.
final class WriterGate: Sendable {
    private let held = Recorder<Bool>()
    private let release = DispatchSemaphore(value: 0)

    /// To be called by the writer.
    func hold() {
        held.record(true)
        release.wait()
    }

    func waitUntilHeld() async throws {
        _ = try await held.element(0)
    }

    func letGo() { release.signal() }
}
