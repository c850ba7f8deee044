import LarderJSON
import LarderModel

extension ConfigurationReader {
    /// Reads what stands under an origin's `modifiers`.
    mutating func modifierRules(_ part: Item, at path: String) -> ModifierRules {
        var rules = ModifierRules()
        for (key, item) in keyed(part.value, at: path, by: ModifierRuleKey.self) {
            read(key, item, at: path, into: &rules)
        }
        return rules
    }

    private mutating func read(
        _ key: ModifierRuleKey,
        _ item: Item,
        at path: String,
        into rules: inout ModifierRules
    ) {
        switch key {
        case .respondAsync:
            set(&rules.respondsAsync, item, at: path, Setting.truth)
        case .idempotency:
            rules.idempotency = idempotencyRule(item, at: "\(path).idempotency")
        case .answer:
            set(&rules.answer, item, at: path, Setting.choice)
        case .afterUnknown:
            set(&rules.afterUnknown, item, at: path, Setting.choice)
        case .acceptedLimit:
            set(&rules.acceptedLimit, item, at: path, Setting.duration(in: Limits.acceptedTime))
        case .stalledAfter:
            set(&rules.stalledAfter, item, at: path, Setting.wholeNumber(in: Limits.stalledAnswers))
        case .refusedIf:
            rules.refusedIf = refusalRules(item, at: "\(path).refused_if")
        }
    }

    /// One rule, or a list of them.
    private mutating func refusalRules(_ part: Item, at path: String) -> [RefusalRule] {
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
        return nodes.compactMap { refusalRule($0, at: path) }
    }

    private mutating func refusalRule(_ node: YAMLNode, at path: String) -> RefusalRule? {
        var (pointer, equals): (String?, String?)
        var isGiven = false
        for (key, item) in keyed(node, at: path, by: RefusalRuleKey.self) {
            guard let setting = setting(item, at: "\(path).\(item.name)") else {
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
                report(place(of: node), "\(path) needs a pointer, such as /errors")
            }
            return nil
        }
        return RefusalRule(pointer: pointer, equals: equals)
    }

    private mutating func idempotencyRule(_ part: Item, at path: String) -> IdempotencyRule {
        var rule = IdempotencyRule()
        for (key, item) in keyed(part.value, at: path, by: IdempotencyRuleKey.self) {
            switch key {
            case .header: set(&rule.header, item, at: path, Setting.idempotencyHeaderName)
            case .honoured: set(&rule.isHonoured, item, at: path, Setting.truth)
            }
        }
        return rule
    }
}
