import Glibc
package import LarderModel

/// The system's clocks.
package struct SystemClock: EngineClock {
    package init() {}

    package func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(
            milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
        )
    }

    package func monotonic() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    package func sleep(for duration: Duration) async throws(CancellationError) {
        do {
            try await Task.sleep(for: duration, clock: .continuous)
        } catch {
            throw CancellationError()
        }
    }
}
