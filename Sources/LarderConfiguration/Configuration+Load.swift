package import LarderModel

/// Looks into the files of an origin's `tls`, which takes what this module does not have.
package typealias TLSCheck = @Sendable (TLSSettings) -> TLSFault?

extension Configuration {
    /// Reads the configuration of a process.
    ///
    /// A flag counts more than the environment, that more than the file, that more than a default.
    /// Origins come from the file, from `origins.d` beside it, and from `origins.d` in the state
    /// directory, where the daemon keeps those that were added while it ran.
    ///
    /// - Parameters:
    ///   - file: What `--config` names; it must be there. Nil takes the file at the standard
    ///     place, where none is no error.
    ///   - environment: All variables of the process; those that are not Larder's are passed over.
    ///   - uid: The effective user.
    ///   - home: That user's home, an absolute path.
    ///   - flags: Values from the command line.
    ///   - checkTLS: What looks into certificates and keys.
    /// - Returns: What counts in the end.
    /// - Throws: Everything that is wrong, not only the first. What is wrong in the state
    ///   directory is none of it: it is left out and told in ``warnings``.
    package static func load(
        file: String?,
        environment: [String: String],
        uid: UInt32,
        home: String,
        flags: [ConfigurationKey: String] = [:],
        checkTLS: @escaping TLSCheck = { _ in nil }
    ) throws(ConfigurationError) -> Configuration {
        let places = StandardPlaces(environment: environment, uid: uid, home: home)
        let path = file ?? places.configurationFile
        let text = try configurationText(of: path, isNeeded: file != nil)
        var configuration = try load(
            text: text ?? "",
            file: path,
            environment: environment,
            places: places,
            flags: flags,
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
        places: StandardPlaces,
        flags: [ConfigurationKey: String] = [:],
        readsFolders: Bool = false,
        checkTLS: @escaping TLSCheck = { _ in nil }
    ) throws(ConfigurationError) -> Configuration {
        var reader = ConfigurationReader(Configuration(places: places), checkTLS: checkTLS)
        let document = reader.collect { () throws(ConfigurationFinding) in
            try ConfigurationDocument(text: text, file: file)
        }
        if let document { reader.read(document) }
        reader.read(environment: environment)
        reader.read(flags: flags)
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
    /// What was read, unless something was wrong with it.
    ///
    /// What is wrong is told in the order in which a person reads: file by file from its top,
    /// then the rest as it came.
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

    /// Looks at the paths that nobody set; what was set was looked at when it was read.
    fileprivate mutating func checkPaths() {
        for key in [ConfigurationKey.socketsAPI, .storageCacheDirectory, .storageStateDirectory] {
            let setting = Setting(text: configuration.text(of: key), place: .standard(key))
            var copy = configuration
            _ = collect { () throws(ConfigurationFinding) in try copy.set(key, to: setting) }
        }
    }
}

extension ConfigurationPlace {
    fileprivate func rank(among files: [String: Int]) -> (Int, Int, Int) {
        switch self {
        case .file(let path, let line, let column): (files[path] ?? .max, line, column)
        case .environment, .flag, .standard: (.max, 0, 0)
        }
    }
}

extension NormalizeRules {
    /// Reads a file that holds what stands under an origin's `normalize`.
    ///
    /// - Throws: Everything that is wrong with it, not only the first.
    package static func load(file: String) throws(ConfigurationError) -> NormalizeRules {
        let text = try configurationText(of: file, isNeeded: true) ?? ""
        var reader = ConfigurationReader()
        let document = reader.collect { () throws(ConfigurationFinding) in
            try ConfigurationDocument(text: text, file: file)
        }
        var rules: NormalizeRules?
        if let document, let root = document.root {
            reader.file = file
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
