import LarderModel

extension ConfigurationReader {
    /// Reads the value of an origin's `normalize`; nil for null.
    mutating func normalizeRules(_ part: Item) -> NormalizeRules? {
        guard !isNull(part) else { return nil }
        let count = findings.count
        var rules = NormalizeRules()
        read(
            part,
            into: &rules,
            [
                "by_type": { $1.byType = $0.typeMembers($2) },
                "types": { reader, rules, item in
                    for element in reader.elements(item, Limits.typeRulesMax) {
                        if let rule = reader.typeRule(element) { rules.types.append(rule) }
                    }
                },
                "paths": { reader, rules, item in
                    for element in reader.elements(item, Limits.pathRulesMax) {
                        if let rule = reader.pathRule(element) { rules.paths.append(rule) }
                    }
                },
            ]
        )
        // The reader leaves out invalid rules, so places match the nodes only without findings.
        guard findings.count == count else { return rules }
        do throws(ModelError) {
            try rules.validate()
        } catch {
            guard case .badRule(let place, let reason) = error else {
                preconditionFailure("\(error)")
            }
            let node = part.value.descendant(at: place)
            report(self.place(of: node), "\(part.path).\(place): \(reason)")
        }
        return rules
    }

    private mutating func typeMembers(_ part: Item) -> NormalizeRules.TypeMembers? {
        if case .scalar(let scalar) = part.value.kind {
            let setting = Setting(scalar, place: place(of: part.value))
            return !setting.isNull && collect(setting.truth) == true ? .standard : nil
        }
        var members = NormalizeRules.TypeMembers.standard
        read(
            part,
            into: &members,
            ["type": { $1.type = $0.names($2) }, "id": { $1.id = $0.names($2) }]
        )
        return members
    }

    private mutating func names(_ part: Item) -> [String] {
        values(part, Limits.ruleNamesMax, Setting.string)
    }

    private mutating func typeRule(_ part: Item) -> TypeRule? {
        let count = findings.count
        var rule = TypeRule(type: "")
        var hasType = false
        read(
            part,
            into: &rule,
            [
                "type": { reader, rule, item in
                    hasType = true
                    if let type = reader.value(item, Setting.string) { rule.type = type }
                },
                "key": { $1.key = $0.keyRule($2) },
                "url": Self.member(\.url, mayBeNull: true, Setting.string),
                "version": Self.member(\.version, mayBeNull: true, Setting.memberPath),
                "lists": { $1.lists = $0.listRules($2) },
                "embed": Self.member(\.isEmbedded, Setting.truth),
                "on_deleted": Self.member(\.onDeleted, mayBeNull: true, Setting.choice),
            ]
        )
        if !hasType, findings.count == count { report(part.place, "\(part.path) needs a type") }
        return hasType ? rule : nil
    }

    private mutating func listRules(_ part: Item) -> [MemberPath: ListRule] {
        var rules: [MemberPath: ListRule] = [:]
        for item in items(of: part) {
            let place = collect(Setting(text: item.name, place: item.place).memberPath)
            guard let rule = listRule(item), let place else { continue }
            rules[place] = rule
        }
        return rules
    }

    private mutating func listRule(_ item: Item) -> ListRule? {
        guard case .mapping = item.value.kind else {
            let word: ListRuleWord? = value(item, Setting.choice)
            return word.map { $0 == .replace ? .replace : .append }
        }
        let count = findings.count
        var rule: ListRule?
        func named(_ make: @escaping (String) -> ListRule) -> MemberReader<ListRule?> {
            { reader, rule, inner in
                let name = reader.value(inner, Setting.string)
                guard rule == nil else {
                    return reader.report(inner.place, "\(item.path) has one of by and append")
                }
                rule = name.map(make)
            }
        }
        read(item, into: &rule, ["by": named(ListRule.by), "append": named(ListRule.pages)])
        if rule == nil, findings.count == count {
            report(
                place(of: item.value),
                "\(item.path) is replace, append, {append: PARAMETER} or {by: NAME}"
            )
        }
        return rule
    }

    private mutating func pathRule(_ part: Item) -> PathRule? {
        let count = findings.count
        var rule = PathRule(url: "", at: MemberPath(tokens: []), type: "")
        var missing: Set = ["url", "at", "type"]
        func needed<Value>(
            _ path: WritableKeyPath<PathRule, Value>,
            _ read: @escaping (Setting) -> () throws(ConfigurationFinding) -> Value
        ) -> MemberReader<PathRule> {
            { reader, rule, item in
                guard let value = reader.value(item, read) else { return }
                rule[keyPath: path] = value
                missing.remove(item.name)
            }
        }
        read(
            part,
            into: &rule,
            [
                "url": needed(\.url, Setting.string),
                "at": needed(\.at, Setting.memberPath),
                "type": needed(\.type, Setting.string),
                "key": { $1.key = $0.keyRule($2) },
            ]
        )
        guard !missing.isEmpty else { return rule }
        if findings.count == count {
            report(part.place, "\(part.path) needs a url, an at and a type")
        }
        return nil
    }
}

extension ConfigurationReader {
    /// Reads the members of a key; null is none.
    private mutating func keyRule(_ part: Item) -> EntityKeyRule? {
        guard !isNull(part) else { return nil }
        var count = 0
        return EntityKeyRule(keyFields(part, depth: 1, &count))
    }

    /// Stops where there are too many, so that what refers to itself by YAML's anchors ends.
    private mutating func keyFields(
        _ part: Item,
        depth: Int,
        _ count: inout Int
    ) -> [EntityKeyRule.Field] {
        guard depth <= Limits.keyDepthMax else {
            report(part.place, "\(part.path): it is nested more than \(Limits.keyDepthMax) deep")
            return []
        }
        var fields: [EntityKeyRule.Field] = []
        for element in elements(part, Limits.keyFieldsMax) {
            guard count < Limits.keyFieldsMax else {
                report(
                    element.place,
                    "\(part.path): at most \(Limits.keyFieldsMax) fields are taken"
                )
                break
            }
            count += 1
            guard case .mapping(let mapping) = element.value.kind else {
                if let name = value(element, Setting.string) { fields.append(.member(name)) }
                continue
            }
            guard let inner = items(of: element).first, mapping.count == 1 else {
                report(element.place, "\(element.path): a field is NAME or {NAME: [FIELD, ...]}")
                continue
            }
            fields.append(.within(inner.name, keyFields(inner, depth: depth + 1, &count)))
        }
        return fields
    }
}

/// The rules of a list that are one word.
private enum ListRuleWord: String, CaseIterable {
    case replace
    case append
}

extension YAMLNode {
    /// Node at the place of a rule, such as `types[2].key`, or the last node on the way there.
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
