import Synchronization

/// Closed until somebody opens it, then open for good: how a test holds something up.
package final class Gate: Sendable {
    private let passes = Recorder<Bool>()

    package init() {}

    package func open() {
        passes.record(true)
    }

    /// Returns when the gate is open, and throws only when the calling task is cancelled.
    package func wait() async throws(CancellationError) {
        _ = try await passes.element(0)
    }
}
