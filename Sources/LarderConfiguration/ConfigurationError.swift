/// Why there is no configuration.
package enum ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// A file that is there, or was asked for by name, cannot be read.
    case unreadable(file: String, reason: String)
    /// Everything that is wrong, in the file's order; never empty.
    ///
    /// `log` is what was read of it all the same.
    case invalid([ConfigurationFinding], log: Configuration.Log)

    /// One line for each thing that is wrong.
    package var description: String {
        switch self {
        case .unreadable(let file, let reason):
            "\(file): the configuration cannot be read: \(reason)"
        case .invalid(let findings, _):
            findings.map(\.description).joined(separator: "\n")
        }
    }
}
