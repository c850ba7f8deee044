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
