import LarderModel

extension ConfigurationReader {
    mutating func readOrigins(_ part: Item) {
        for item in items(of: part) {
            take(item, from: .file(file))
        }
    }

    /// Takes one origin in, unless its name or its address is another's.
    private mutating func take(_ item: Item, from source: OriginSource) {
        let name = collect { () throws(ConfigurationFinding) in
            try Setting(text: item.name, place: item.place).originName()
        }
        let read = origin(item, named: name)
        if let other = originPlaces[item.name] {
            report(item.place, "origins.\(item.name) is already defined in \(other)")
            return
        }
        originPlaces[item.name] = item.place
        guard let (origin, place) = read else { return }
        if let other = addresses[origin.baseURL.baseAddress] {
            report(
                place,
                "origins.\(origin.name) has the base_url of origins.\(other.name) in "
                    + "\(other.place); an address belongs to one origin"
            )
            return
        }
        addresses[origin.baseURL.baseAddress] = (origin.name, place)
        configuration.origins.append(origin)
        configuration.origins.sort { $0.name < $1.name }
        configuration.originSources[origin.name] = source
    }

    // MARK: Folders

    /// Reads the folder of origins next to the configuration file.
    mutating func readOrigins(inFolder folder: String) {
        for (name, file) in originFiles(in: folder) {
            readOrigin(name, of: file, from: .file(file))
        }
    }

    /// Reads the folder in the state directory, without what is invalid in it.
    ///
    /// The daemon must be able to start with files that it has written itself.
    mutating func readKeptOrigins(inFolder folder: String) {
        var before = self
        let files = originFiles(in: folder)
        leaveOut(since: &before)
        for (name, file) in files {
            readOrigin(name, of: file, from: .api)
            leaveOut(since: &before)
        }
    }

    /// Goes back to `before` if something was found to be wrong since, which becomes a warning.
    private mutating func leaveOut(since before: inout ConfigurationReader) {
        let new = findings.dropFirst(before.findings.count)
        guard !new.isEmpty else {
            before = self
            return
        }
        let warnings = new.map { "an origin is left out: \($0)" }
        self = before
        configuration.warnings += warnings
        before = self
    }

    /// The files of a folder with the names of their origins.
    private mutating func originFiles(in folder: String) -> [(name: String, file: String)] {
        let found: [String]
        do throws(FileFault) {
            found = try names(inFolder: folder)
        } catch {
            report(folder, error)
            return []
        }
        for name in found where name.hasSuffix(".yml") {
            report(.file("\(folder)/\(name)", line: 1, column: 1), "its name must end in .yaml")
        }
        let suffix = ".yaml"
        let files = found.filter { $0.hasSuffix(suffix) }
        if files.count > Limits.originFilesMax {
            report(
                .file(folder, line: 1, column: 1),
                "there are more than \(Limits.originFilesMax) origins in it"
            )
        }
        return files.prefix(Limits.originFilesMax).map {
            (String($0.dropLast(suffix.count)), "\(folder)/\($0)")
        }
    }

    private mutating func readOrigin(_ name: String, of file: String, from source: OriginSource) {
        do throws(FileFault) {
            // The file may have been removed since the folder was read.
            guard let text = try configurationText(of: file) else { return }
            readOrigin(name, text: text, file: file, from: source)
        } catch {
            report(file, error)
        }
    }

    /// Reads a text that holds the settings of one origin.
    mutating func readOrigin(
        _ name: String,
        text: String,
        file: String,
        from source: OriginSource
    ) {
        let document = collect { () throws(ConfigurationFinding) in
            try ConfigurationDocument(text: text, file: file)
        }
        guard let document else { return }
        readOrigin(name, document, from: source)
    }

    mutating func readOrigin(
        _ name: String,
        _ document: ConfigurationDocument,
        from source: OriginSource
    ) {
        file = document.file
        let place = ConfigurationPlace.file(file, line: 1, column: 1)
        let node = document.root ?? .empty
        take(
            Item(name: name, path: "origins.\(name)", place: place, value: node),
            from: source
        )
    }

    private mutating func report(_ file: String, _ fault: FileFault) {
        report(.file(file, line: 1, column: 1), "it cannot be read: \(fault.reason)")
    }
}
