/// How often systemd wants to hear that the service works (sd_watchdog_enabled(3)).
package struct Watchdog: Equatable, Sendable {
    /// After this long without a word the service is killed and started anew.
    package let time: Duration

    /// Nil where systemd watches nothing, or another process.
    init?(_ variables: [String: String], pid: Int32) throws(SystemdError) {
        guard let microseconds = try variables.number("WATCHDOG_USEC"), microseconds > 0,
            try variables.names("WATCHDOG_PID", pid) ?? true
        else { return nil }
        time = .microseconds(microseconds)
    }

    /// Half of the time, so that one late word does no harm.
    package var interval: Duration { time / 2 }

    /// Calls `tell` at once and in each interval, but only after `isWell` said so; returns when
    /// `sleep` is cancelled.
    ///
    /// A check that never ends is one that did not succeed.
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
