import LarderModel

/// Turns settings into a configuration and collects all problems with them.
///
/// An invalid setting leaves the previous value, so that reading goes on.
struct ConfigurationReader {
    var configuration: Configuration
    private(set) var findings: [ConfigurationFinding] = []
    /// Origins that were read, valid or not, with their places.
    var originPlaces: [String: ConfigurationPlace] = [:]
    /// Which origin has an address.
    var addresses: [String: (name: OriginName, place: ConfigurationPlace)] = [:]
    let checkTLS: TLSCheck
    /// The file that is read; empty for what a client says.
    var file = ""

    /// Without a configuration it reads parts of one, to which no place matters.
    init(_ configuration: Configuration? = nil, checkTLS: @escaping TLSCheck = { _ in nil }) {
        let places = DefaultPaths(environment: [:], uid: 0, home: "/")
        self.configuration = configuration ?? Configuration(places: places)
        self.checkTLS = checkTLS
    }

    /// Runs `read` and keeps what it finds wrong.
    mutating func collect<Value>(
        _ read: () throws(ConfigurationFinding) -> Value
    ) -> Value? {
        do {
            return try read()
        } catch {
            findings.append(error)
            return nil
        }
    }

    mutating func report(
        _ place: ConfigurationPlace,
        _ message: String,
        suggestion: String? = nil
    ) {
        findings.append(ConfigurationFinding(place, message, suggestion: suggestion))
    }
}

extension ConfigurationReader {
    /// Parses the text of a file, which is then the file that is read.
    mutating func parse(_ text: String, of file: String) -> YAMLNode? {
        self.file = file
        return collect { () throws(ConfigurationFinding) in try YAMLParser.read(text, of: file) }
    }

    mutating func read(_ root: YAMLNode) {
        for item in items(of: Item(name: "", path: "", place: place(of: root), value: root)) {
            if item.name == "origins" {
                readOrigins(item)
            } else if ConfigurationKey.sections.contains(item.name) {
                readSection(item)
            } else {
                reportUnknown(item, among: ConfigurationKey.sections + ["origins"])
            }
        }
    }

    /// The variables that begin with `LARDER_` and a section; others are not ours to judge.
    mutating func read(environment: [String: String]) {
        let keys = Dictionary(
            uniqueKeysWithValues: ConfigurationKey.allCases.map { ($0.variable, $0) }
        )
        for (variable, text) in environment.sorted(by: { $0.key < $1.key }) {
            let place = ConfigurationPlace.environment(variable: variable)
            if let key = keys[variable] {
                take(Setting(text: text, place: place), as: key)
                continue
            }
            if variable.hasPrefix("LARDER_ORIGINS_") {
                report(place, "origins come from files only")
            }
            for section in ConfigurationKey.sections
            where variable.hasPrefix("LARDER_\(section.uppercased())_") {
                let names = ConfigurationKey.keys(of: section).map(\.variable)
                report(
                    place,
                    "there is no such key",
                    suggestion: nearestName(to: variable, among: names)
                )
            }
        }
    }

    private mutating func readSection(_ part: Item) {
        for item in items(of: part) {
            guard let key = ConfigurationKey(rawValue: item.path) else {
                reportUnknown(item, among: ConfigurationKey.keys(of: part.name).map(\.name))
                continue
            }
            guard let setting = setting(item) else { continue }
            take(setting, as: key)
        }
    }

    mutating func take(_ setting: Setting, as key: ConfigurationKey) {
        var new = configuration
        let taken: Void? = collect { () throws(ConfigurationFinding) in
            try new.set(key, to: setting)
        }
        if taken != nil { configuration = new }
    }
}

extension ConfigurationReader {
    /// A pair of a mapping, or an element of a list.
    struct Item {
        let name: String
        /// The place in messages: `origins.api.fetch.ttl`, `types[2]`; empty for the file.
        let path: String
        /// Position of the name.
        let place: ConfigurationPlace
        let value: YAMLNode
    }

    /// The pairs of a mapping; nothing at all stands for an empty one, as when every line under a
    /// section is a comment.
    mutating func items(of part: Item) -> [Item] {
        let subject = part.path.isEmpty ? "the file" : part.path
        guard case .mapping(let mapping) = part.value.kind else {
            guard !isNull(part) else { return [] }
            var found = "a single value"
            if case .sequence = part.value.kind { found = "a list" }
            let place = place(of: part.value)
            report(place, "\(subject) is a mapping of keys to values, not \(found)")
            return []
        }
        var items: [Item] = []
        var seen: Set<String> = []
        for (key, value) in mapping {
            let place = place(of: key)
            guard let name = key.text else {
                report(place, "a key is a text, not a list or a mapping")
                continue
            }
            guard seen.insert(name).inserted else {
                report(place, "duplicate key '\(name)'")
                continue
            }
            let inner = part.path.isEmpty ? name : "\(part.path).\(name)"
            items.append(Item(name: name, path: inner, place: place, value: value))
        }
        return items
    }

    /// The elements of a list, named by their paths.
    mutating func elements(_ part: Item, _ countMax: Int) -> [Item] {
        let place = place(of: part.value)
        guard case .sequence(let sequence) = part.value.kind else {
            // As where every line under the key is a comment.
            if !isNull(part) { report(place, "\(part.path) is a list, such as [a, b]") }
            return []
        }
        guard sequence.count <= countMax else {
            report(place, "\(part.path): at most \(countMax) are taken")
            return []
        }
        return sequence.enumerated().map { index, node in
            let path = "\(part.path)[\(index)]"
            return Item(name: path, path: path, place: self.place(of: node), value: node)
        }
    }

    func place(of node: YAMLNode) -> ConfigurationPlace {
        .file(file, line: node.line, column: node.column)
    }

    func isNull(_ item: Item) -> Bool {
        guard case .scalar(let scalar) = item.value.kind else { return false }
        return scalar.isNull
    }

    /// The single value of a key that cannot be without one.
    mutating func setting(_ item: Item) -> Setting? {
        let setting = settingOrNull(item)
        guard let setting, setting.isNull else { return setting }
        report(setting.place, "\(item.path) has no value")
        return nil
    }

    mutating func settingOrNull(_ item: Item) -> Setting? {
        let place = place(of: item.value)
        if case .scalar(let scalar) = item.value.kind { return Setting(scalar, place: place) }
        var found = "a mapping"
        if case .sequence = item.value.kind { found = "a list" }
        report(place, "\(item.path) is a single value, not \(found)")
        return nil
    }

    mutating func value<Value>(
        _ item: Item,
        _ read: (Setting) -> () throws(ConfigurationFinding) -> Value
    ) -> Value? {
        setting(item).flatMap { collect(read($0)) }
    }

    /// The single values of a list.
    mutating func values<Value>(
        _ part: Item,
        _ countMax: Int,
        _ read: (Setting) -> () throws(ConfigurationFinding) -> Value
    ) -> [Value] {
        elements(part, countMax).compactMap { value($0, read) }
    }

    /// Reports an unknown key and suggests a similar one: from `names`, else from all keys.
    mutating func reportUnknown(_ item: Item, among names: [String]) {
        let elsewhere = ConfigurationKey.allCases.first {
            $0.name == item.name || $0.rawValue == item.name
        }
        findings.append(
            ConfigurationFinding(
                item.place,
                "there is no key '\(item.path)'",
                suggestion: nearestName(to: item.name, among: names) ?? elsewhere?.rawValue,
                isUnknownKey: true
            )
        )
    }
}

extension ConfigurationReader {
    /// Reads a member of a mapping into what is made of the mapping.
    typealias MemberReader<Root> = (inout ConfigurationReader, inout Root, Item) -> Void

    /// Reads the members of a mapping; those that have no reader are reported.
    mutating func read<Root>(
        _ part: Item,
        into root: inout Root,
        _ members: KeyValuePairs<String, MemberReader<Root>>
    ) {
        for item in items(of: part) {
            if let member = members.first(where: { $0.key == item.name }) {
                member.value(&self, &root, item)
            } else {
                reportUnknown(item, among: members.map(\.key))
            }
        }
    }

    /// A member with a single value; one that cannot be read, or may be null and is, changes nothing.
    static func member<Root, Value>(
        _ path: WritableKeyPath<Root, Value>,
        mayBeNull: Bool = false,
        _ read: @escaping (Setting) -> () throws(ConfigurationFinding) -> Value
    ) -> MemberReader<Root> {
        { reader, root, item in
            if mayBeNull, reader.isNull(item) { return }
            if let value = reader.value(item, read) { root[keyPath: path] = value }
        }
    }
}
