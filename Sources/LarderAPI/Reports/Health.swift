/// The answer of a daemon that serves.
public struct Health: Codable, Equatable, Sendable {
    /// Always `ok`: a daemon that does not serve answers with a ``Problem``.
    public var status: HealthStatus

    /// A report with this status.
    public init(status: HealthStatus = .ok) {
        self.status = status
    }
}

/// Whether the daemon serves.
public struct HealthStatus: WireEnum {
    /// The daemon reads its store.
    public static let ok = HealthStatus(rawValue: "ok")
    /// Every value that this version knows.
    public static let known: [HealthStatus] = [.ok]
    /// The value as it travels.
    public let rawValue: String

    /// A value, known or not.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
