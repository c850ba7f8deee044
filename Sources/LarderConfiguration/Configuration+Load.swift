extension Configuration {
    /// Reads the configuration of a process.
    ///
    /// A flag counts more than the environment, that more than the file, that more than a default.
    /// Origins come from the file alone.
    ///
    /// - Parameters:
    ///   - file: What `--config` names; it must be there. Nil takes the file at the standard
    ///     place, where none is no error.
    ///   - environment: All variables of the process; those that are not Larder's are passed over.
    ///   - uid: The effective user.
    ///   - home: That user's home, an absolute path.
    ///   - flags: Values from the command line.
    /// - Returns: What counts in the end.
    /// - Throws: Everything that is wrong, not only the first.
    package static func load(
        file: String?,
        environment: [String: String],
        uid: UInt32,
        home: String,
        flags: [ConfigurationKey: String] = [:]
    ) throws(ConfigurationError) -> Configuration {
        let places = StandardPlaces(environment: environment, uid: uid, home: home)
        let text = try configurationText(of: file ?? places.configurationFile)
        if text == nil, let file {
            throw .unreadable(file: file, reason: "there is no such file")
        }
        return try load(
            text: text ?? "",
            file: file ?? places.configurationFile,
            environment: environment,
            places: places,
            flags: flags
        )
    }

    /// The same, of a file's text.
    package static func load(
        text: String,
        file: String,
        environment: [String: String],
        places: StandardPlaces,
        flags: [ConfigurationKey: String] = [:]
    ) throws(ConfigurationError) -> Configuration {
        var reader = ConfigurationReader(Configuration(places: places))
        let document = reader.collect { () throws(ConfigurationFinding) in
            try ConfigurationDocument(text: text, file: file)
        }
        if let document { reader.read(document) }
        reader.read(environment: environment)
        reader.read(flags: flags)
        reader.checkPaths()
        guard reader.findings.isEmpty else {
            let sorted = reader.findings.enumerated().sorted { left, right in
                left.element.place.precedes(right.element.place)
                    || (!right.element.place.precedes(left.element.place)
                        && left.offset < right.offset)
            }
            throw .invalid(sorted.map(\.element))
        }
        return reader.configuration
    }
}

extension ConfigurationReader {
    /// Looks at the paths that nobody set; what was set was looked at when it was read.
    fileprivate mutating func checkPaths() {
        for key in [ConfigurationKey.socketsAPI, .storageCacheDirectory, .storageStateDirectory] {
            let setting = Setting(text: configuration.text(of: key), place: .standard(key))
            var copy = configuration
            _ = collect { () throws(ConfigurationFinding) in try copy.set(key, to: setting) }
        }
    }
}
