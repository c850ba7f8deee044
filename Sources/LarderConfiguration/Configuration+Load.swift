package import LarderModel

/// Looks into the files of an origin's `tls`, which takes what this module does not have.
package typealias TLSCheck = @Sendable (TLSSettings) -> TLSFault?

extension Configuration {
    /// Reads the configuration of a process.
    ///
    /// The environment overrides the file, which overrides a default.
    /// Origins come from the file, from `origins.d` in its folder, and from `origins.d` in the
    /// state directory. The daemon keeps origins in the state directory that were added while it
    /// ran.
    ///
    /// - Parameters:
    ///   - file: Path from `--config`; the file must exist. Nil means the standard path, where the
    ///     file may be missing.
    ///   - environment: All variables of the process; those that are not Larder's are passed over.
    ///   - uid: The effective user.
    ///   - home: That user's home, an absolute path.
    ///   - checkTLS: Function that checks certificates and keys.
    /// - Returns: The configuration in force.
    /// - Throws: All problems, not only the first. A problem in the state directory does not
    ///   throw: the origin is left out, and ``warnings`` reports it.
    package static func load(
        file: String?,
        environment: [String: String],
        uid: UInt32,
        home: String,
        checkTLS: @escaping TLSCheck = { _ in nil }
    ) throws(ConfigurationError) -> Configuration {
        let places = DefaultPaths(environment: environment, uid: uid, home: home)
        let path = file ?? places.configurationFile
        let text = try configurationText(of: path, isNeeded: file != nil)
        var reader = ConfigurationReader(Configuration(places: places), checkTLS: checkTLS)
        reader.read(text ?? "", of: path, environment: environment)
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        reader.readOrigins(inFolder: "\(folder)/\(Self.originsFolder)")
        let state = reader.configuration.storage.stateDirectory
        reader.readKeptOrigins(inFolder: "\(state)/\(Self.originsFolder)")
        if text != nil { reader.configuration.file = path }
        return try reader.result()
    }

    package static let originsFolder = "origins.d"
}

extension ConfigurationReader {
    /// Reads the text of the configuration's file, and the environment, which overrides it.
    mutating func read(_ text: String, of file: String, environment: [String: String]) {
        if let root = parse(text, of: file) { read(root) }
        read(environment: environment)
        checkPaths()
    }

    /// The configuration; throws if the reader found problems.
    ///
    /// The error lists problems in reading order: each file from its top, then the others as found.
    func result() throws(ConfigurationError) -> Configuration {
        guard !findings.isEmpty else { return configuration }
        var ranks: [String: Int] = [:]
        for finding in findings {
            guard case .file(let path, _, _) = finding.place else { continue }
            if ranks[path] == nil { ranks[path] = ranks.count }
        }
        let sorted = findings.enumerated().sorted { left, right in
            let (first, second) = (left.element.place, right.element.place)
            let (rank, otherRank) = (first.rank(among: ranks), second.rank(among: ranks))
            return rank == otherRank ? left.offset < right.offset : rank < otherRank
        }
        throw .invalid(sorted.map(\.element), log: configuration.log)
    }

    /// Checks the default paths; the reader has checked the paths that were set.
    private mutating func checkPaths() {
        for key in [ConfigurationKey.socketsAPI, .storageCacheDirectory, .storageStateDirectory] {
            let setting = Setting(text: configuration.text(of: key), place: .standard(key))
            take(setting, as: key)
        }
    }
}

extension ConfigurationPlace {
    fileprivate func rank(among files: [String: Int]) -> (Int, Int, Int) {
        switch self {
        case .file(let path, let line, let column): (files[path] ?? .max, line, column)
        case .environment, .standard: (.max, 0, 0)
        }
    }
}

extension NormalizeRules {
    /// Reads a file that holds the value of an origin's `normalize`.
    ///
    /// - Throws: Everything that is wrong with it, not only the first.
    package static func load(file: String) throws(ConfigurationError) -> NormalizeRules {
        let text = try configurationText(of: file, isNeeded: true) ?? ""
        var reader = ConfigurationReader()
        var rules: NormalizeRules?
        if let root = reader.parse(text, of: file) {
            rules = reader.normalizeRules(
                ConfigurationReader.Item(
                    name: "normalize",
                    path: "normalize",
                    place: reader.place(of: root),
                    value: root
                )
            )
        }
        _ = try reader.result()
        guard let rules else { throw .unreadable(file: file, reason: "it holds no rules") }
        return rules
    }
}
