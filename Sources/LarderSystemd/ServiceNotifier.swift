import Glibc

/// Sends notices to the service manager: one datagram each to `$NOTIFY_SOCKET`.
package struct ServiceNotifier: Equatable, Sendable {
    /// A path, or `@` and the name of an abstract address.
    package let address: String
    private let bytes: [UInt8]

    /// How long a full queue of the manager is waited for.
    private static let patience = timeval(tv_sec: 5, tv_usec: 0)

    /// Takes `/path` and `@name` (unix(7)).
    init(address: String) throws(SystemdError) {
        let room = MemoryLayout<sockaddr_un>.size - MemoryLayout<sa_family_t>.size
        guard address.hasPrefix("/") || address.hasPrefix("@"),
            (2...room).contains(address.utf8.count)
        else { throw .badVariable(name: "NOTIFY_SOCKET", value: address) }
        self.address = address
        var bytes = Array(address.utf8)
        // The kernel's spelling of an abstract address begins with a zero.
        if address.hasPrefix("@") { bytes[0] = 0 }
        self.bytes = bytes
    }

    /// Returns when the manager's queue has the notice.
    package func send(_ notice: ServiceNotice) throws(SystemdError) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw failed() }
        defer { close(descriptor) }
        var patience = Self.patience
        let length = socklen_t(MemoryLayout<timeval>.size)
        guard setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, length) == 0 else {
            throw failed()
        }
        let text = Array(notice.text.utf8)
        let sent = withAddress {
            sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), $0, $1)
        }
        guard sent == text.count else { throw failed() }
    }

    private func failed() -> SystemdError { .cannotNotify(address: address, reason: errorText()) }

    private func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int) -> Int {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // An abstract address ends where its length says.
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                body(generic, socklen_t(start + bytes.count))
            }
        }
    }
}

/// Notice from a service to the service manager (sd_notify(3)).
package enum ServiceNotice: Equatable, Sendable {
    /// The service accepts clients.
    case ready(status: String)
    /// The service rereads its configuration since a moment of CLOCK_MONOTONIC; `ready` follows.
    case reloading(microseconds: Int64)
    /// The service is about to end.
    case stopping(status: String)
    /// A sentence for `systemctl status`.
    case status(String)
    /// The service works.
    case watchdog

    /// The lines of the datagram.
    var text: String {
        switch self {
        case .ready(let status): "READY=1\n" + Self.line(status)
        case .reloading(let microseconds):
            "RELOADING=1\nMONOTONIC_USEC=\(microseconds)\n"
        case .stopping(let status): "STOPPING=1\n" + Self.line(status)
        case .status(let status): Self.line(status)
        case .watchdog: "WATCHDOG=1\n"
        }
    }

    /// A line feed in a status would begin another assignment.
    private static func line(_ status: String) -> String {
        "STATUS=\(String(status.map { $0.isNewline ? " " : $0 }))\n"
    }
}

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
