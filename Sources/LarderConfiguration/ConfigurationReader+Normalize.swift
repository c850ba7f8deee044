import LarderModel

extension ConfigurationReader {
    /// Reads what stands under an origin's `normalize`; null is none.
    mutating func normalizeRules(_ part: Item, at path: String) -> NormalizeRules? {
        guard !isNull(part) else { return nil }
        let count = findings.count
        var rules = NormalizeRules()
        for (key, item) in keyed(part.value, at: path, by: NormalizeKey.self) {
            let path = "\(path).\(item.name)"
            switch key {
            case .byType: rules.byType = typeMembers(item, at: path)
            case .types:
                for element in elements(item, at: path, Limits.typeRulesMax) {
                    guard let rule = typeRule(element) else { continue }
                    rules.types.append(rule)
                }
            case .paths:
                for element in elements(item, at: path, Limits.pathRulesMax) {
                    guard let rule = pathRule(element) else { continue }
                    rules.paths.append(rule)
                }
            }
        }
        // The places below are those of what was read as it stands there.
        guard findings.count == count else { return rules }
        do throws(ModelError) {
            try rules.validate()
        } catch {
            guard case .badRule(let place, let reason) = error else {
                preconditionFailure("\(error)")
            }
            let node = part.value.descendant(at: place)
            report(self.place(of: node), "\(path).\(place): \(reason)")
        }
        return rules
    }

    private mutating func typeMembers(
        _ part: Item,
        at path: String
    ) -> NormalizeRules.TypeMembers? {
        if case .scalar(let scalar) = part.value.kind {
            let setting = Setting(scalar, place: place(of: part.value))
            guard !setting.isNull else { return nil }
            let isOn = collect { () throws(ConfigurationFinding) in try setting.truth() }
            return isOn == true ? .standard : nil
        }
        var members = NormalizeRules.TypeMembers.standard
        for (key, item) in keyed(part.value, at: path, by: TypeMembersKey.self) {
            let path = "\(path).\(item.name)"
            var names: [String] = []
            for element in elements(item, at: path, Limits.ruleNamesMax) {
                guard let name = name(element) else { continue }
                names.append(name)
            }
            switch key {
            case .type: members.type = names
            case .id: members.id = names
            }
        }
        return members
    }

    private mutating func pathRule(_ part: Item) -> PathRule? {
        let count = findings.count
        var (url, type): (String?, String?)
        var at: MemberPath?
        var key: EntityKeyRule?
        for (ruleKey, item) in keyed(part.value, at: part.name, by: PathRuleKey.self) {
            switch ruleKey {
            case .url:
                url = value(item, at: part.name, Setting.string)
            case .at:
                at = value(item, at: part.name, Setting.memberPath)
            case .type:
                type = value(item, at: part.name, Setting.string)
            case .key: key = keyRule(item, at: "\(part.name).key")
            }
        }
        guard let url, let at, let type else {
            if findings.count == count {
                report(part.place, "\(part.name) needs a url, an at and a type")
            }
            return nil
        }
        return PathRule(url: url, at: at, type: type, key: key)
    }
}

extension ConfigurationReader {
    /// The elements of a list, named by their paths.
    mutating func elements(_ part: Item, at path: String, _ countMax: Int) -> [Item] {
        let place = place(of: part.value)
        guard case .sequence(let sequence) = part.value.kind else {
            // As where every line under the key is a comment.
            if !isNull(part) { report(place, "\(path) is a list, such as [a, b]") }
            return []
        }
        guard sequence.count <= countMax else {
            report(place, "\(path): at most \(countMax) are taken")
            return []
        }
        return sequence.enumerated().map { index, node in
            Item(name: "\(path)[\(index)]", place: self.place(of: node), value: node)
        }
    }

    /// A name that is an element of a list.
    mutating func name(_ element: Item) -> String? {
        setting(element, at: element.name)?.text
    }

    mutating func valueOrNull<Value>(
        _ item: Item,
        at path: String,
        _ read: (Setting) -> () throws(ConfigurationFinding) -> Value
    ) -> Value? {
        isNull(item) ? nil : value(item, at: path, read)
    }

    func isNull(_ item: Item) -> Bool {
        guard case .scalar(let scalar) = item.value.kind else { return false }
        return Setting(scalar, place: item.place).isNull
    }
}

extension YAMLNode {
    /// What stands at the place of a rule, such as `types[2].key`, or else the last thing on the
    /// way there.
    fileprivate func descendant(at place: String) -> YAMLNode {
        var node = self
        for part in place.split(whereSeparator: { ".[]".contains($0) }) {
            let next: YAMLNode? =
                switch node.kind {
                case .sequence(let elements):
                    Int(part).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
                case .mapping(let pairs): pairs.first { $0.key.text == String(part) }?.value
                case .scalar: nil
                }
            guard let next else { break }
            node = next
        }
        return node
    }
}
