/// The version of the daemon.
public struct VersionReport: Codable, Equatable, Sendable {
    /// Version of the daemon: `MAJOR.MINOR.PATCH`.
    public var version: String

    /// A report with this version.
    public init(version: String) {
        self.version = version
    }
}
