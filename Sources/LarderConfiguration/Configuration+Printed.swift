import LarderModel

extension Configuration {
    /// The whole configuration as YAML that reads back to the same value, but for the values of
    /// origins' headers: they may be secrets and are printed as `***`.
    package func printed() -> String {
        var lines: [String] = []
        for section in ConfigurationSection.allCases where section != .origins {
            lines.append("\(section.rawValue):")
            for key in ConfigurationKey.keys(of: section) {
                lines.append("  \(key.name): \(yamlText(text(of: key)))")
            }
        }
        lines.append(origins.isEmpty ? "origins: {}" : "origins:")
        for origin in origins { lines += origin.printedLines }
        return lines.map { $0 + "\n" }.joined()
    }
}

extension OriginSettings {
    fileprivate var printedLines: [String] {
        var lines = ["  \(yamlText(name.text)):"]
        for key in OriginKey.allCases {
            switch key {
            case .baseURL: lines.append("    base_url: \(yamlText(baseURL.text))")
            case .allowPrivate: lines.append("    allow_private: \(allowPrivate)")
            case .headers:
                lines.append(headers.fields.isEmpty ? "    headers: {}" : "    headers:")
                lines += headers.fields.map { "      \(yamlText($0.name)): \"***\"" }
            case .fetch:
                lines.append("    fetch:")
                for key in FetchKey.allCases {
                    lines.append("      \(key.rawValue): \(fetch.text(of: key))")
                }
            }
        }
        return lines
    }
}

/// The text as a YAML scalar, in quotes unless it is plainly a text.
private func yamlText(_ text: String) -> String {
    if isPlainText(text) { return text }
    var quoted = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": quoted += "\\\(scalar)"
        case "\u{00}"..."\u{1F}", "\u{7F}"..."\u{9F}":
            let digits = String(scalar.value, radix: 16)
            quoted += "\\x" + (digits.count == 1 ? "0" : "") + digits
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
        // A size or a watermark: `512MiB`, `0.9`. A mode looks like a number and is none.
        return !text.hasPrefix("0") || text.contains(".") || text == "0B"
    }
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
    return (first.isLetter || first == "/") && !words.contains(text.lowercased())
}
