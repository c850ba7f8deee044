import LarderJSON
import LarderModel

extension ConfigurationReader {
    /// Reads what stands under an origin's `modifiers`.
    mutating func modifierRules(
        _ part: Item,
        at path: String,
        in document: ConfigurationDocument
    ) -> ModifierRules {
        var rules = ModifierRules()
        for item in items(of: part.value, at: path, in: document) {
            guard let key = ModifierRuleKey(rawValue: item.name) else {
                reportUnknown(item, at: path, among: ModifierRuleKey.allCases.map(\.rawValue))
                continue
            }
            read(key, item, at: path, into: &rules, in: document)
        }
        return rules
    }

    private mutating func read(
        _ key: ModifierRuleKey,
        _ item: Item,
        at path: String,
        into rules: inout ModifierRules,
        in document: ConfigurationDocument
    ) {
        switch key {
        case .respondAsync:
            _ = value(item, at: path, in: document) { (setting) throws(ConfigurationFinding) in
                rules.respondsAsync = try setting.truth()
            }
        case .idempotency:
            rules.idempotency = idempotencyRule(item, at: "\(path).idempotency", in: document)
        case .answer:
            _ = value(item, at: path, in: document) { (setting) throws(ConfigurationFinding) in
                rules.answer = try setting.choice(of: ModifierRules.AnswerRule.self)
            }
        case .afterUnknown:
            _ = value(item, at: path, in: document) { (setting) throws(ConfigurationFinding) in
                rules.afterUnknown = try setting.choice(of: ModifierRules.UnknownRule.self)
            }
        case .acceptedLimit:
            _ = value(item, at: path, in: document) { (setting) throws(ConfigurationFinding) in
                rules.acceptedLimit = try setting.duration(Limits.acceptedTime)
            }
        case .stalledAfter:
            _ = value(item, at: path, in: document) { (setting) throws(ConfigurationFinding) in
                rules.stalledAfter = try setting.wholeNumber(Limits.stalledAnswers)
            }
        case .refusedIf:
            rules.refusedIf = refusalRules(item, at: "\(path).refused_if", in: document)
        }
    }

    /// One rule, or a list of them.
    private mutating func refusalRules(
        _ part: Item,
        at path: String,
        in document: ConfigurationDocument
    ) -> [RefusalRule] {
        let nodes: [YAMLNode]
        if case .sequence(let sequence) = part.value.kind {
            nodes = sequence
        } else {
            nodes = [part.value]
        }
        guard nodes.count <= Limits.refusalRulesMax else {
            report(part.place, "at most \(Limits.refusalRulesMax) rules are taken")
            return []
        }
        return nodes.compactMap { refusalRule($0, at: path, in: document) }
    }

    private mutating func refusalRule(
        _ node: YAMLNode,
        at path: String,
        in document: ConfigurationDocument
    ) -> RefusalRule? {
        var (pointer, equals): (String?, String?)
        var isGiven = false
        for item in items(of: node, at: path, in: document) {
            guard let key = RefusalRuleKey(rawValue: item.name) else {
                reportUnknown(item, at: path, among: RefusalRuleKey.allCases.map(\.rawValue))
                continue
            }
            guard let setting = setting(item, at: "\(path).\(item.name)", in: document) else {
                continue
            }
            switch key {
            case .equals: equals = setting.text
            case .pointer:
                isGiven = true
                do throws(JSONPointerError) {
                    pointer = try JSONPointer(setting.text).text
                } catch {
                    report(setting.place, "\(path).pointer: \(error.message)")
                }
            }
        }
        guard let pointer else {
            if !isGiven {
                report(document.place(of: node), "\(path) needs a pointer, such as /errors")
            }
            return nil
        }
        return RefusalRule(pointer: pointer, equals: equals)
    }

    private mutating func idempotencyRule(
        _ part: Item,
        at path: String,
        in document: ConfigurationDocument
    ) -> IdempotencyRule {
        var rule = IdempotencyRule()
        for item in items(of: part.value, at: path, in: document) {
            guard let key = IdempotencyRuleKey(rawValue: item.name) else {
                reportUnknown(item, at: path, among: IdempotencyRuleKey.allCases.map(\.rawValue))
                continue
            }
            _ = value(item, at: path, in: document) { (setting) throws(ConfigurationFinding) in
                switch key {
                case .header: rule.header = try setting.idempotencyHeaderName()
                case .honoured: rule.isHonoured = try setting.truth()
                }
            }
        }
        return rule
    }
}
