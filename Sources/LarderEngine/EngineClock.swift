package import LarderModel

/// The two clocks of the engine and its timer: the system's, or a test's.
package protocol EngineClock: Sendable {
    /// Wall time, which labels rows and decides freshness.
    func now() -> Timestamp
    /// Time since an arbitrary moment, which never jumps; for deadlines and durations.
    func monotonic() -> Duration
    /// Returns at a moment of the monotonic clock, or at once after it; throws only when the calling
    /// task is cancelled.
    func sleep(until due: Duration) async throws(CancellationError)
}

extension EngineClock {
    /// Returns after `duration`, which runs from the call on; throws as ``sleep(until:)``.
    package func sleep(for duration: Duration) async throws(CancellationError) {
        try await sleep(until: monotonic() + duration)
    }
}
