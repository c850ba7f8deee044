package import LarderModel

extension NormalizeRules {
    /// Reads a file that holds what stands under an origin's `normalize`.
    ///
    /// - Throws: Everything that is wrong with it, not only the first.
    package static func load(file: String) throws(ConfigurationError) -> NormalizeRules {
        guard let text = try configurationText(of: file) else {
            throw .unreadable(file: file, reason: "there is no such file")
        }
        let places = StandardPlaces(environment: [:], uid: 0, home: "/")
        var reader = ConfigurationReader(Configuration(places: places))
        let document = reader.collect { () throws(ConfigurationFinding) in
            try ConfigurationDocument(text: text, file: file)
        }
        var rules: NormalizeRules?
        if let document, let root = document.root {
            reader.file = file
            let place = reader.place(of: root)
            let item = ConfigurationReader.Item(name: "normalize", place: place, value: root)
            rules = reader.normalizeRules(item, at: item.name)
        }
        _ = try reader.result()
        guard let rules else { throw .unreadable(file: file, reason: "it holds no rules") }
        return rules
    }
}
