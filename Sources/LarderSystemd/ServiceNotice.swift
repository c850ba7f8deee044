/// What a service tells the service manager about itself (sd_notify(3)).
package enum ServiceNotice: Equatable, Sendable {
    /// It takes clients.
    case ready(status: String)
    /// It reads its configuration again since a moment of CLOCK_MONOTONIC; `ready` follows.
    case reloading(microseconds: Int64)
    /// It is about to end.
    case stopping(status: String)
    /// One sentence for `systemctl status`.
    case status(String)
    /// It works.
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
