/// What a file of a library declares for everybody, as DocC spells it: `Pin`, `Pin/State/held`,
/// `LarderClient/pin(_:waitingFor:)`.
///
/// It goes by the lines of formatted code, on which a declaration begins a line.
func publicSymbols(in file: SourceFile) -> [String] {
    var reading = SymbolReading()
    for index in file.code.indices { reading.take(file.code[index...]) }
    return reading.symbols
}

private struct SymbolReading {
    private struct Place {
        let path: String
        /// How many braces are open between its own.
        let depth: Int
        let isPublicEnum: Bool
    }

    private(set) var symbols: [String] = []
    private var places: [Place] = []
    private var depth = 0
    /// The type or extension whose brace is still to come.
    private var next: Place?

    /// Takes the first of these lines; what it declares may go on in those after it.
    mutating func take(_ lines: ArraySlice<String>) {
        guard let line = lines.first else { return }
        let words = line.split(separator: " ")
        let declared = words.drop { modifiers.contains($0) || $0.hasPrefix("@") }
        let isPublic = words.prefix(words.count - declared.count).contains("public")
        if let keyword = declared.first {
            declaration(keyword, declared.dropFirst().first ?? "", isPublic, lines)
        }
        for sign in line.utf8 {
            if sign == UInt8(ascii: "{") {
                depth += 1
                if let next { places.append(next) }
                next = nil
            } else if sign == UInt8(ascii: "}") {
                depth -= 1
                if let place = places.last, place.depth > depth { places.removeLast() }
            }
        }
    }

    private mutating func declaration(
        _ keyword: Substring,
        _ word: Substring,
        _ isPublic: Bool,
        _ lines: ArraySlice<String>
    ) {
        let name = word.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        let isCase =
            keyword == "case" && places.last.map { $0.isPublicEnum && $0.depth == depth } == true
        switch keyword.prefix(while: { $0.isLetter }) {
        case "struct", "enum", "class", "actor", "protocol", "extension":
            let path = path(to: name.replacing(".", with: "/"))
            let isExtension = keyword == "extension"
            next = Place(path: path, depth: depth + 1, isPublicEnum: keyword == "enum" && isPublic)
            if isPublic, !isExtension { symbols.append(path) }
        case "let" where isPublic, "var" where isPublic:
            symbols.append(path(to: name))
        case "func" where isPublic, "case" where isCase:
            symbols.append(path(to: name + labels(in: lines, after: name, isCase: isCase)))
        case "init" where isPublic:
            symbols.append(path(to: "init" + labels(in: lines, after: "init", isCase: false)))
        default:
            break
        }
    }

    private func path(to name: some StringProtocol) -> String {
        places.last.map { "\($0.path)/\(name)" } ?? String(name)
    }

    /// `(_:options:)` of a declaration that begins in the first line; nothing for a plain case.
    private func labels(
        in lines: ArraySlice<String>,
        after name: Substring,
        isCase: Bool
    ) -> String {
        let text = lines.joined(separator: " ").replacing("->", with: "")
        guard let start = text.firstRange(of: name)?.upperBound else { return "" }
        var parameters: [String] = []
        var open = 0
        for sign in text[start...] {
            if "([<".contains(sign) {
                open += 1
                if open == 1, sign == "(" {
                    parameters = [""]
                    continue
                }
            } else if ")]>".contains(sign) {
                open -= 1
                if open == 0, sign == ")" { break }
            } else if open == 0, isCase {
                return ""
            } else if open == 1, sign == "," {
                parameters.append("")
                continue
            }
            if !parameters.isEmpty { parameters[parameters.count - 1].append(sign) }
        }
        return "(" + parameters.compactMap(label).joined() + ")"
    }

    /// The label of one parameter, with its colon; `_:` where it has none.
    private func label(_ parameter: String) -> String? {
        guard let first = parameter.split(separator: " ").first else { return nil }
        let isNamed = parameter.contains(":") && !first.hasPrefix("[") && !first.hasPrefix("(")
        return isNamed ? first.prefix { $0 != ":" } + ":" : "_:"
    }
}

private let modifiers: Set<Substring> = [
    "public", "package", "internal", "fileprivate", "private", "static", "final", "convenience",
    "mutating", "nonmutating", "indirect",
]
