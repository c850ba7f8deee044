import LarderAPI
import LarderJSON
import LarderModel

extension JSONValue {
    /// The value as YAML, a line for each member and element; what has no objects is on one line.
    var yamlLines: [String] {
        if isOneLine { return [yamlLine] }
        if let elements {
            return elements.flatMap { element in
                element.yamlLines.enumerated()
                    .map { ($0.offset == 0 ? "- " : "  ") + $0.element }
            }
        }
        return (members ?? []).flatMap { member in
            let (name, value) = (yamlText(member.name), member.value)
            if value.isOneLine { return ["\(name): \(value.yamlLine)"] }
            return ["\(name):"] + value.yamlLines.map { "  " + $0 }
        }
    }

    private var isOneLine: Bool {
        if let elements { return elements.allSatisfy { $0.members == nil && $0.elements == nil } }
        guard let members else { return true }
        return members.isEmpty || members.contains { $0.name.isLongKey }
    }

    private var yamlLine: String {
        switch self {
        case .null: return "null"
        case .bool(let bool): return "\(bool)"
        case .number(let number): return number.text
        case .string(let text): return Double(text) == nil ? yamlText(text) : quoted(text)
        case .array(let elements):
            return "[\(elements.map(\.yamlInBrackets).joined(separator: ", "))]"
        case .object(let members):
            let pairs = members.map { member in
                let name = quoted(member.name)
                let key = member.name.isLongKey ? "? \(name) " : name
                return "\(key): \(member.value.yamlInBrackets)"
            }
            return "{\(pairs.joined(separator: ", "))}"
        }
    }

    /// A text within brackets is better in quotes if it has a colon.
    private var yamlInBrackets: String {
        guard let text = string, text.contains(":") else { return yamlLine }
        return quoted(text)
    }
}

extension String {
    /// Whether it has to be announced as a key: of more than 1,024 characters (YAML 1.1, 7.4.2).
    fileprivate var isLongKey: Bool { quoted(self).unicodeScalars.count > 1_000 }
}

/// The text as a YAML scalar, in quotes unless it is plainly a text.
func yamlText(_ text: String) -> String {
    isPlainText(text) ? text : quoted(text)
}

func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": quoted += "\\\(scalar)"
        // Characters that YAML refuses unescaped, or reads as a line's end (YAML 1.1, 4.1 and 4.2).
        case "\u{00}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}", "\u{FEFF}",
            "\u{FFFE}", "\u{FFFF}":
            let digits = String(scalar.value + 0x1_0000, radix: 16).dropFirst()
            quoted += "\\u" + digits
        default: quoted.unicodeScalars.append(scalar)
        }
    }
    return quoted + "\""
}

/// Sizes, URLs, paths and words; no number, and none of YAML's words for something else.
private func isPlainText(_ text: String) -> Bool {
    let isSafe = text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: ":"):
            true
        default: false
        }
    }
    guard isSafe, let first = text.first, text.last != ":" else { return false }
    if first.isNumber {
        // A size, a count or a watermark: `512MiB`, `0.9`. A mode looks like one and is none.
        return !text.hasPrefix("0") || text.contains(".") || text == "0B" || text == "0"
    }
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
    return (first.isLetter || first == "/") && !words.contains(text.lowercased())
}

extension Configuration {
    /// The whole configuration as YAML that reads back to the same value, except for secrets.
    ///
    /// The values of origins' headers and the user of a proxy may be secrets and are printed as
    /// `***`.
    package func printed() -> String {
        var lines: [String] = []
        for section in ConfigurationSection.allCases where section != .origins {
            lines.append("\(section.rawValue):")
            for key in ConfigurationKey.keys(of: section) {
                let text = text(of: key)
                lines.append("  \(key.name): \(key.isTruth ? text : yamlText(text))")
            }
        }
        lines.append(origins.isEmpty ? "origins: {}" : "origins:")
        for origin in origins {
            lines.append("  \(yamlText(origin.name.text)):")
            lines += origin.yamlLines(coversSecrets: true).map { "    " + $0 }
        }
        return lines.map { $0 + "\n" }.joined()
    }
}

extension OriginSettings {
    /// The origin's settings as YAML that reads back to the same value unless secrets are covered.
    package func yamlLines(coversSecrets: Bool) -> [String] {
        let keys = APIEncoder().encode(OriginDefinition(self, coversSecrets: coversSecrets))
        // Our own encoder's.
        return (try? JSONValue(parsing: keys))?.yamlLines ?? []
    }
}
