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
        var configuration = try load(
            text: text ?? "",
            file: path,
            environment: environment,
            places: places,
            readsFolders: true,
            checkTLS: checkTLS
        )
        if text != nil { configuration.file = path }
        return configuration
    }

    /// The same, of a file's text, and of the folders of origins only if they are to be read.
    package static func load(
        text: String,
        file: String,
        environment: [String: String],
        places: DefaultPaths,
        readsFolders: Bool = false,
        checkTLS: @escaping TLSCheck = { _ in nil }
    ) throws(ConfigurationError) -> Configuration {
        var reader = ConfigurationReader(Configuration(places: places), checkTLS: checkTLS)
        if let root = reader.parse(text, of: file) { reader.read(root) }
        reader.read(environment: environment)
        reader.checkPaths()
        if readsFolders {
            let folder = file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "."
            reader.readOrigins(inFolder: "\(folder)/\(Self.originsFolder)")
            let state = reader.configuration.storage.stateDirectory
            reader.readKeptOrigins(inFolder: "\(state)/\(Self.originsFolder)")
        }
        return try reader.result()
    }

    package static let originsFolder = "origins.d"
}

extension ConfigurationReader {
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
    fileprivate mutating func checkPaths() {
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
