package import LarderModel

/// The two clocks of the engine and its timer: the system's, or a test's.
package protocol EngineClock: Sendable {
    /// Wall time, which labels rows and decides freshness.
    func now() -> Timestamp
    /// Time since an arbitrary moment, which never jumps; for deadlines and durations.
    func monotonic() -> Duration
    /// Returns after `duration`; throws only when the calling task is cancelled.
    func sleep(for duration: Duration) async throws(CancellationError)
}
