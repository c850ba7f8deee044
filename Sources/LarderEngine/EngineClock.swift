import Glibc
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
    package func sleep(for duration: Duration) async throws(CancellationError) {
        try await sleep(until: monotonic() + duration)
    }
}

package struct SystemClock: EngineClock {
    private static let timers = TimerQueue(SystemClock())

    package init() {}

    package func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    package func monotonic() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Milliseconds since the machine started, sleep included (clock_gettime(2), CLOCK_BOOTTIME).
    @Sendable
    package static func uptime() -> Int64? {
        var time = timespec()
        guard clock_gettime(CLOCK_BOOTTIME, &time) == 0 else { return nil }
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    package func sleep(until due: Duration) async throws(CancellationError) {
        try await Self.timers.wait(until: due)
    }
}
