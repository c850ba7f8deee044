import LarderModel

/// Turns what was written into a configuration and collects all that is wrong with it.
///
/// What is wrong leaves the value that was there before, so that reading goes on.
struct ConfigurationReader {
    var configuration: Configuration
    private(set) var findings: [ConfigurationFinding] = []
    /// The origins that were read, right or not, and where they stand.
    var originPlaces: [String: ConfigurationPlace] = [:]
    /// Which origin has an address.
    var addresses: [String: (name: OriginName, place: ConfigurationPlace)] = [:]
    let checkTLS: TLSCheck
    /// The file that is read; empty for what a client says.
    var file = ""

    init(_ configuration: Configuration, checkTLS: @escaping TLSCheck = { _ in nil }) {
        self.configuration = configuration
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
        report(ConfigurationFinding(place, message, suggestion: suggestion))
    }

    mutating func report(_ finding: ConfigurationFinding) {
        findings.append(finding)
    }
}

extension ConfigurationReader {
    mutating func read(_ document: ConfigurationDocument) {
        guard let root = document.root else { return }
        file = document.file
        for (section, item) in keyed(root, at: "", by: ConfigurationSection.self) {
            switch section {
            case .origins: readOrigins(item)
            case .sockets, .storage, .cache, .pins, .queue, .access, .log:
                read(section, item)
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
            for section in ConfigurationSection.allCases
            where variable.hasPrefix("LARDER_\(section.rawValue.uppercased())_") {
                guard section != .origins else {
                    report(place, "origins come from files only")
                    continue
                }
                let names = ConfigurationKey.keys(of: section).map(\.variable)
                report(
                    place,
                    "there is no such key",
                    suggestion: nearestName(to: variable, among: names)
                )
            }
        }
    }

    mutating func read(flags: [ConfigurationKey: String]) {
        for key in ConfigurationKey.allCases {
            guard let text = flags[key] else { continue }
            take(Setting(text: text, place: .flag(key)), as: key)
        }
    }

    private mutating func read(_ section: ConfigurationSection, _ part: Item) {
        for item in items(of: part.value, at: section.rawValue) {
            guard let key = ConfigurationKey(rawValue: "\(section.rawValue).\(item.name)") else {
                let names = ConfigurationKey.keys(of: section).map(\.name)
                reportUnknown(item, at: section.rawValue, among: names)
                continue
            }
            guard let setting = setting(item, at: key.rawValue) else { continue }
            take(setting, as: key)
        }
    }

    private mutating func take(_ setting: Setting, as key: ConfigurationKey) {
        var new = configuration
        let taken: Void? = collect { () throws(ConfigurationFinding) in
            try new.set(key, to: setting)
        }
        if taken != nil { configuration = new }
    }
}

extension ConfigurationReader {
    /// One pair of a mapping.
    struct Item {
        let name: String
        let place: ConfigurationPlace
        let value: YAMLNode
    }

    /// The pairs of a mapping; nothing at all stands for an empty one, as when every line under a
    /// section is a comment.
    mutating func items(of node: YAMLNode, at path: String) -> [Item] {
        let place = place(of: node)
        let subject = path.isEmpty ? "the file" : path
        switch node.kind {
        case .scalar(let scalar):
            if !Setting(scalar, place: place).isNull {
                report(place, "\(subject) is a mapping of keys to values, not a single value")
            }
            return []
        case .sequence:
            report(place, "\(subject) is a mapping of keys to values, not a list")
            return []
        case .mapping(let mapping):
            return items(of: mapping)
        }
    }

    private mutating func items(of mapping: [YAMLNode.Pair]) -> [Item] {
        var items: [Item] = []
        var seen: Set<String> = []
        for (key, value) in mapping {
            let place = place(of: key)
            guard let name = key.text else {
                report(place, "a key is a text, not a list or a mapping")
                continue
            }
            guard seen.insert(name).inserted else {
                report(place, "'\(name)' stands here a second time")
                continue
            }
            items.append(Item(name: name, place: place, value: value))
        }
        return items
    }

    /// The pairs of a mapping whose names are keys; the others are reported.
    mutating func keyed<Key: RawRepresentable<String> & CaseIterable>(
        _ node: YAMLNode,
        at path: String,
        by type: Key.Type
    ) -> [(key: Key, item: Item)] {
        items(of: node, at: path).compactMap { item in
            if let key = Key(rawValue: item.name) { return (key, item) }
            reportUnknown(item, at: path, among: Key.allCases.map(\.rawValue))
            return nil
        }
    }

    /// Where a node begins.
    func place(of node: YAMLNode) -> ConfigurationPlace {
        .file(file, line: node.line, column: node.column)
    }

    /// The single value of a key that cannot be without one.
    mutating func setting(_ item: Item, at path: String) -> Setting? {
        let setting = settingOrNull(item, at: path)
        guard let setting, setting.isNull else { return setting }
        report(setting.place, "\(path) has no value")
        return nil
    }

    mutating func settingOrNull(_ item: Item, at path: String) -> Setting? {
        let place = place(of: item.value)
        switch item.value.kind {
        case .scalar(let scalar):
            return Setting(scalar, place: place)
        case .sequence:
            report(place, "\(path) is a single value, not a list")
        case .mapping:
            report(place, "\(path) is a single value, not a mapping")
        }
        return nil
    }

    /// The values of a list; a single one is no list.
    mutating func list(_ item: Item, at path: String) -> [Setting] {
        switch item.value.kind {
        case .sequence(let sequence):
            return sequence.compactMap { node in
                let place = place(of: node)
                guard case .scalar(let scalar) = node.kind else {
                    report(place, "\(path) is a list of single values")
                    return nil
                }
                return Setting(scalar, place: place)
            }
        case .scalar, .mapping:
            report(place(of: item.value), "\(path) is a list, such as [a, b]")
            return []
        }
    }

    /// Looks for the key that was meant among those that may stand here, then everywhere.
    mutating func reportUnknown(_ item: Item, at path: String, among names: [String]) {
        let subject = path.isEmpty ? item.name : "\(path).\(item.name)"
        let elsewhere = ConfigurationKey.allCases.first {
            $0.name == item.name || $0.rawValue == item.name
        }
        report(
            ConfigurationFinding(
                item.place,
                "there is no key '\(subject)'",
                suggestion: nearestName(to: item.name, among: names) ?? elsewhere?.rawValue,
                isUnknownKey: true
            )
        )
    }
}
