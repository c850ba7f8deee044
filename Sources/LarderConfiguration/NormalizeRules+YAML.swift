import LarderJSON
import LarderModel

extension NormalizeRules {
    /// What stands under `normalize`, as YAML that reads back to the same value.
    var yamlLines: [String] {
        NormalizeKey.allCases.flatMap { key in
            switch key {
            case .byType: ["by_type: \(byType?.yaml ?? "null")"]
            case .types: Self.list("types", types.map(\.yamlLines))
            case .paths: Self.list("paths", paths.map(\.yamlLines))
            }
        }
    }

    private static func list(_ name: String, _ elements: [[String]]) -> [String] {
        guard !elements.isEmpty else { return ["\(name): []"] }
        return ["\(name):"]
            + elements.flatMap { lines in
                lines.enumerated().map { ($0.offset == 0 ? "  - " : "    ") + $0.element }
            }
    }
}

extension NormalizeRules.TypeMembers {
    fileprivate var yaml: String {
        let members = TypeMembersKey.allCases.map { key in
            switch key {
            case .type: "type: \(flowList(type.map(flowText)))"
            case .id: "id: \(flowList(id.map(flowText)))"
            }
        }
        return flowMapping(members)
    }
}

extension TypeRule {
    fileprivate var yamlLines: [String] {
        TypeRuleKey.allCases.map { ruleKey in
            switch ruleKey {
            case .type: "type: \(flowText(type))"
            case .key: "key: \(key?.yaml ?? "null")"
            case .url: "url: \(url.map(flowText) ?? "null")"
            case .version: "version: \(version.map { flowText($0.text) } ?? "null")"
            case .lists: "lists: \(yamlOfLists)"
            case .embed: "embed: \(isEmbedded)"
            case .onDeleted: "on_deleted: \(onDeleted.rawValue)"
            }
        }
    }

    private var yamlOfLists: String {
        let sorted = lists.map { ($0.key.text, $0.value) }.sorted { $0.0 < $1.0 }
        return flowMapping(sorted.map { path, rule in "\(flowKey(path)): \(rule.yaml)" })
    }
}

extension ListRule {
    fileprivate var yaml: String {
        switch self {
        case .replace: ListRuleWord.replace.rawValue
        case .append: ListRuleWord.append.rawValue
        case .pages(let name): flowMapping(["\(ListRuleKey.append.rawValue): \(flowText(name))"])
        case .by(let name): flowMapping(["\(ListRuleKey.by.rawValue): \(flowText(name))"])
        }
    }
}

extension PathRule {
    fileprivate var yamlLines: [String] {
        PathRuleKey.allCases.map { ruleKey in
            switch ruleKey {
            case .url: "url: \(flowText(url))"
            case .at: "at: \(flowText(at.text))"
            case .type: "type: \(flowText(type))"
            case .key: "key: \(key?.yaml ?? "null")"
            }
        }
    }
}

extension EntityKeyRule {
    fileprivate var yaml: String { flowList(fields.map(\.yaml)) }
}

extension EntityKeyRule.Field {
    fileprivate var yaml: String {
        switch self {
        case .member(let name): flowText(name)
        case .within(let name, let fields):
            flowMapping(["\(flowKey(name)): \(flowList(fields.map(\.yaml)))"])
        }
    }
}

extension MemberPath {
    fileprivate var text: String { JSONPointer(tokens: tokens).text }
}

private func flowList(_ elements: [String]) -> String {
    "[\(elements.joined(separator: ", "))]"
}

private func flowMapping(_ members: [String]) -> String {
    "{\(members.joined(separator: ", "))}"
}

/// A scalar within brackets, where a colon or a number is better in quotes.
private func flowText(_ text: String) -> String {
    text.contains(":") || text.first?.isNumber == true ? quoted(text) : yamlText(text)
}

/// The same before a colon; a key of more than 1,024 characters has to be announced (YAML 1.1,
/// 7.4.2).
private func flowKey(_ text: String) -> String {
    let key = flowText(text)
    return key.unicodeScalars.count > 1_000 ? "? \(key) " : key
}
