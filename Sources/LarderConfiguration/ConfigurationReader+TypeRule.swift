import LarderModel

extension ConfigurationReader {
    /// Reads one of the `types` of an origin's `normalize`, which is named by its path.
    mutating func typeRule(_ part: Item) -> TypeRule? {
        let count = findings.count
        var rule = TypeRule(type: "")
        var hasType = false
        for (key, item) in keyed(part.value, at: part.name, by: TypeRuleKey.self) {
            if key == .type { hasType = true }
            read(key, item, at: part.name, into: &rule)
        }
        guard hasType else {
            if findings.count == count { report(part.place, "\(part.name) needs a type") }
            return nil
        }
        return rule
    }

    private mutating func read(
        _ key: TypeRuleKey,
        _ item: Item,
        at path: String,
        into rule: inout TypeRule
    ) {
        switch key {
        case .type:
            set(&rule.type, item, at: path, Setting.string)
        case .key: rule.key = keyRule(item, at: "\(path).key")
        case .url:
            rule.url = valueOrNull(item, at: path, Setting.string)
        case .version:
            rule.version = valueOrNull(item, at: path, Setting.memberPath)
        case .lists: rule.lists = listRules(item, at: "\(path).lists")
        case .embed:
            set(&rule.isEmbedded, item, at: path, Setting.truth)
        case .onDeleted:
            let found: DeletionRule? = valueOrNull(item, at: path, Setting.choice)
            rule.onDeleted = found ?? .null
        }
    }

    private mutating func listRules(_ part: Item, at path: String) -> [MemberPath: ListRule] {
        var rules: [MemberPath: ListRule] = [:]
        for item in items(of: part.value, at: path) {
            let place = collect { () throws(ConfigurationFinding) in
                try Setting(text: item.name, place: item.place).memberPath()
            }
            guard let rule = listRule(item, at: path), let place else { continue }
            guard rules.count < Limits.listRulesMax else {
                report(item.place, "\(path): at most \(Limits.listRulesMax) are taken")
                break
            }
            rules[place] = rule
        }
        return rules
    }

    private mutating func listRule(_ item: Item, at path: String) -> ListRule? {
        guard case .mapping = item.value.kind else {
            let word: ListRuleWord? = value(item, at: path, Setting.choice)
            switch word {
            case nil: return nil
            case .replace: return .replace
            case .append: return .append
            }
        }
        let path = "\(path).\(item.name)"
        let count = findings.count
        var rule: ListRule?
        for inner in items(of: item.value, at: path) {
            guard let key = ListRuleKey(rawValue: inner.name) else {
                reportUnknown(inner, at: path, among: ListRuleKey.allCases.map(\.rawValue))
                continue
            }
            let name = value(inner, at: path, Setting.string)
            guard rule == nil else {
                report(inner.place, "\(path) has one of by and append")
                continue
            }
            rule = name.map { key == .by ? .by($0) : .pages($0) }
        }
        if rule == nil, findings.count == count {
            report(
                place(of: item.value),
                "\(path) is replace, append, {append: PARAMETER} or {by: NAME}"
            )
        }
        return rule
    }
}
