/// How often systemd wants to hear that the service works (sd_watchdog_enabled(3)).
package struct Watchdog: Equatable, Sendable {
    /// Time without a notice after which systemd kills and restarts the service.
    package let time: Duration

    /// Nil where systemd watches nothing, or another process.
    init?(_ variables: [String: String], pid: Int32) throws(SystemdError) {
        guard let microseconds = try variables.number("WATCHDOG_USEC"), microseconds > 0,
            try variables.names("WATCHDOG_PID", pid) ?? true
        else { return nil }
        time = .microseconds(microseconds)
    }

    /// Half of the time, so that one late notice does no harm.
    package var interval: Duration { time / 2 }

    /// Calls `tell` immediately and in each interval, but only after `isWell` returned true.
    ///
    /// The function returns when `sleep` is cancelled. A check that never ends counts as failed.
    package func feed(
        sleep: (Duration) async throws -> Void,
        isWell: () async -> Bool,
        tell: () -> Void
    ) async {
        repeat {
            if await isWell() { tell() }
        } while (try? await sleep(interval)) != nil
    }
}
