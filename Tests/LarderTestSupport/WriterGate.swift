import Dispatch

/// Holds a writer up inside a transaction until it is let go.
package final class WriterGate: Sendable {
    private let held = Recorder<Bool>()
    private let release = DispatchSemaphore(value: 0)

    package init() {}

    /// To be called by the writer.
    package func hold() {
        held.record(true)
        release.wait()
    }

    package func waitUntilHeld() async throws {
        _ = try await held.element(0)
    }

    package func letGo() { release.signal() }
}
