import Glibc

/// Settings from systemd in the environment of a service (sd_listen_fds(3), sd_notify(3),
/// sd_watchdog_enabled(3)).
///
/// Without systemd all of them are empty, and the daemon does everything by itself.
package struct ServiceEnvironment: Equatable, Sendable {
    /// Where the service manager listens for notices.
    package let notifier: ServiceNotifier?
    /// The socket that was opened before the daemon started.
    package let socket: InheritedSocket?
    /// How often systemd wants to hear that the service works.
    package let watchdog: Watchdog?

    /// Reads the variables as process `pid` has them; what is for another process counts as absent.
    package init(_ variables: [String: String], pid: Int32) throws(SystemdError) {
        notifier = try variables["NOTIFY_SOCKET"].map { text throws(SystemdError) in
            try ServiceNotifier(address: text)
        }
        socket = try InheritedSocket(variables, pid: pid)
        watchdog = try Watchdog(variables, pid: pid)
    }

    /// The variables, which are for this process only.
    private static let names = [
        "NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_USEC",
        "WATCHDOG_PID",
    ]

    /// Takes the variables out of the environment, so that no process started later takes them for
    /// its own.
    ///
    /// Called while nothing else reads the environment.
    package static func clear() {
        for name in names { unsetenv(name) }
    }
}

extension [String: String] {
    /// A variable that is a whole number of at least 0; nil where it is not set.
    func number(_ name: String) throws(SystemdError) -> Int64? {
        guard let text = self[name] else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw .badVariable(name: name, value: text)
        }
        return number
    }

    /// Whether a variable that names a process names `pid`; nil where it is not set.
    func names(_ name: String, _ pid: Int32) throws(SystemdError) -> Bool? {
        try number(name).map { $0 == Int64(pid) }
    }
}
