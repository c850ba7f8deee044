import LarderModel

extension ConfigurationReader {
    /// Reads one of the `types` of an origin's `normalize`, which is named by its path.
    mutating func typeRule(
        _ part: Item,
        in document: ConfigurationDocument
    ) -> TypeRule? {
        let count = findings.count
        var rule = TypeRule(type: "")
        var hasType = false
        for item in items(of: part.value, at: part.name, in: document) {
            guard let key = TypeRuleKey(rawValue: item.name) else {
                reportUnknown(item, at: part.name, among: TypeRuleKey.allCases.map(\.rawValue))
                continue
            }
            if key == .type { hasType = true }
            read(key, item, at: part.name, into: &rule, in: document)
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
        into rule: inout TypeRule,
        in document: ConfigurationDocument
    ) {
        switch key {
        case .type:
            _ = value(item, at: path, in: document) { (setting) throws(ConfigurationFinding) in
                rule.type = setting.text
            }
        case .key: rule.key = keyRule(item, at: "\(path).key", in: document)
        case .url:
            rule.url = valueOrNull(item, at: path, in: document) {
                (setting) throws(ConfigurationFinding) in setting.text
            }
        case .version:
            rule.version = valueOrNull(item, at: path, in: document) {
                (setting) throws(ConfigurationFinding) in try setting.memberPath()
            }
        case .lists: rule.lists = listRules(item, at: "\(path).lists", in: document)
        case .embed:
            _ = value(item, at: path, in: document) { (setting) throws(ConfigurationFinding) in
                rule.isEmbedded = try setting.truth()
            }
        case .onDeleted:
            let found = valueOrNull(item, at: path, in: document) {
                (setting) throws(ConfigurationFinding) in
                try setting.choice(of: DeletionRule.self)
            }
            rule.onDeleted = found ?? .null
        }
    }

    private mutating func listRules(
        _ part: Item,
        at path: String,
        in document: ConfigurationDocument
    ) -> [MemberPath: ListRule] {
        var rules: [MemberPath: ListRule] = [:]
        for item in items(of: part.value, at: path, in: document) {
            let place = collect { () throws(ConfigurationFinding) in
                try Setting(text: item.name, place: item.place).memberPath()
            }
            guard let rule = listRule(item, at: path, in: document), let place else { continue }
            guard rules.count < Limits.listRulesMax else {
                report(item.place, "\(path): at most \(Limits.listRulesMax) are taken")
                break
            }
            rules[place] = rule
        }
        return rules
    }

    private mutating func listRule(
        _ item: Item,
        at path: String,
        in document: ConfigurationDocument
    ) -> ListRule? {
        guard case .mapping = item.value.kind else {
            let word = value(item, at: path, in: document) {
                (setting) throws(ConfigurationFinding) in
                try setting.choice(of: ListRuleWord.self)
            }
            switch word {
            case nil: return nil
            case .replace: return .replace
            case .append: return .append
            }
        }
        let path = "\(path).\(item.name)"
        let count = findings.count
        var rule: ListRule?
        for inner in items(of: item.value, at: path, in: document) {
            guard let key = ListRuleKey(rawValue: inner.name) else {
                reportUnknown(inner, at: path, among: ListRuleKey.allCases.map(\.rawValue))
                continue
            }
            let name = value(inner, at: path, in: document) {
                (setting) throws(ConfigurationFinding) in setting.text
            }
            guard rule == nil else {
                report(inner.place, "\(path) has one of by and append")
                continue
            }
            rule = name.map { key == .by ? .by($0) : .pages($0) }
        }
        if rule == nil, findings.count == count {
            report(
                document.place(of: item.value),
                "\(path) is replace, append, {append: PARAMETER} or {by: NAME}"
            )
        }
        return rule
    }
}
