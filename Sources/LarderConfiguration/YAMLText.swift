/// The text as a YAML scalar, in quotes unless it is plainly a text.
func yamlText(_ text: String) -> String {
    isPlainText(text) ? text : quoted(text)
}

func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": quoted += "\\\(scalar)"
        // What YAML refuses as it is, or takes for a line's end (YAML 1.1, 4.1 and 4.2).
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
