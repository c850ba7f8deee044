/// The version of the daemon.
public struct VersionReport: Codable, Equatable, Sendable {
    /// Version of the daemon: `0.1.0`.
    public var version: String

    /// A report with this version.
    public init(version: String) {
        self.version = version
    }
}
