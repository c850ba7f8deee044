/// One file of the tree as text.
struct SourceFile: Sendable {
    /// From the tree's top: `Sources/LarderModel/Entry.swift`.
    let path: String
    let lines: [String]
    /// The lines of a Swift file with everything in comments and literals of text left blank; of
    /// another file its lines.
    let code: [String]
    /// The literals of text of a Swift file.
    let literals: [Paragraph]

    init(path: String, text: String) {
        self.path = path
        lines = Self.split(text)
        guard path.hasSuffix(".swift") else {
            (code, literals) = (lines, [])
            return
        }
        let prose = Prose(reading: text)
        (code, literals) = (Self.split(prose.code), prose.literals)
    }

    var isSwift: Bool { path.hasSuffix(".swift") }
    var isSource: Bool { isSwift && path.hasPrefix("Sources/") }
    var isTest: Bool { isSwift && path.hasPrefix("Tests/") }

    /// The folder below `Sources` or `Tests`.
    var target: String {
        let parts = path.split(separator: "/")
        return parts.count > 2 ? String(parts[1]) : ""
    }

    /// `Entry` of `Sources/LarderModel/Entry.swift`.
    var name: String {
        let last = path.split(separator: "/").last ?? ""
        return String(last.prefix(while: { $0 != "." }))
    }

    /// The modules that it imports, with the number of the line.
    var imports: [(module: String, line: Int)] {
        code.enumerated().compactMap { index, line in
            let words = line.split(separator: " ")
            guard let keyword = words.firstIndex(of: "import"), keyword + 1 < words.count,
                words[..<keyword].allSatisfy({ importModifiers.contains($0) })
            else { return nil }
            return (String(words[keyword + 1].prefix(while: { $0 != "." })), index + 1)
        }
    }

    private static func split(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}

private let importModifiers: Set<Substring> = [
    "public", "package", "internal", "fileprivate", "private", "@preconcurrency", "@testable",
    "@_exported",
]
