package enum ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// A file that is there, or was asked for by name, cannot be read.
    case unreadable(file: String, reason: String)
    /// Everything that is wrong, in the file's order; never empty.
    ///
    /// `log` is what was read of it all the same.
    case invalid([ConfigurationFinding], log: Configuration.Log)

    package var description: String {
        switch self {
        case .unreadable(let file, let reason):
            "\(file): the configuration cannot be read: \(reason)"
        case .invalid(let findings, _):
            findings.map(\.description).joined(separator: "\n")
        }
    }
}

package struct ConfigurationFinding: Error, Equatable, CustomStringConvertible {
    package let place: ConfigurationPlace
    package let message: String
    /// The name that was probably meant.
    package let suggestion: String?
    /// Whether a key is named that there is not.
    package let isUnknownKey: Bool

    init(
        _ place: ConfigurationPlace,
        _ message: String,
        suggestion: String? = nil,
        isUnknownKey: Bool = false
    ) {
        self.place = place
        self.message = message
        self.suggestion = suggestion
        self.isUnknownKey = isUnknownKey
    }

    /// Example: `/etc/larder/larder.yaml:3:5: there is no key 'cahce' (did you mean 'cache'?)`.
    package var description: String { "\(place): \(words)" }

    package var words: String {
        message + (suggestion.map { " (did you mean '\($0)'?)" } ?? "")
    }
}

package enum ConfigurationPlace: Hashable, Sendable, CustomStringConvertible {
    /// Line and column count from 1; the column counts Unicode scalars.
    case file(String, line: Int, column: Int)
    case environment(variable: String)
    case flag(ConfigurationKey)
    /// Default path, made from the user's directories.
    case standard(ConfigurationKey)

    package var description: String {
        switch self {
        case .file(let path, let line, let column): "\(path):\(line):\(column)"
        case .environment(let variable): "environment: \(variable)"
        case .flag(let key): "flag: \(key.rawValue)"
        case .standard(let key): "default of \(key.rawValue)"
        }
    }
}
