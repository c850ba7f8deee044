import Foundation
import Testing

/// Texts of the tree that people read.
enum TextKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case comments
    case pages
    case testNames = "test names"
    case messages

    var testDescription: String { rawValue }

    /// The texts of a file: of each block the first sentence is its first.
    func blocks(of file: SourceFile) -> [[Paragraph]] {
        switch self {
        case .comments: file.isSource ? file.comments : []
        case .messages: file.isSource ? file.messages.map { [$0] } : []
        case .testNames: file.isTest ? file.testNames.map { [$0] } : []
        case .pages: Self.isPage(file.path) ? file.paragraphs.map { [$0] } : []
        }
    }

    private static let topPages: Set = [
        "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
    ]

    static func isPage(_ path: String) -> Bool {
        topPages.contains(path) || path.hasPrefix("docs/") && path.hasSuffix(".md")
    }
}

/// Wording that makes a sentence hard to read, found by a regular expression.
struct WordCheck: Sendable {
    enum Scope: Sendable {
        case sentences
        /// Only the first sentence of a comment, a paragraph, a name or a message.
        case openings
        /// Sentences without their links: a link names its document.
        case references
    }

    let name: String
    let scope: Scope
    let pattern: String

    static let all = [
        WordCheck(
            name: "headless opener",
            scope: .sentences,
            pattern: #"^(?:[^:]{0,30}: )?(?:What|Who|Whoever|Whatever|Whose)\b(?!.*\?$)"#
        ),
        WordCheck(
            name: "ghost actor",
            scope: .sentences,
            pattern: #"(?i)\b(?:nobody|somebody|anybody|everybody|whoever|whomever|someone|anyone"#
                + #"|everyone|no one)(?:'s)?\b|\ba hand\b|\bone's own\b"#
        ),
        WordCheck(
            name: "pronoun opener",
            scope: .openings,
            pattern: #"^(?:It|Its|They|Them|Their|One|Those|Such|Some|Others?|He|His)\b"#
        ),
        WordCheck(
            name: "word list",
            scope: .sentences,
            pattern: #"\b(?:anew|in vain|seldom|heed(?:s|ed)?|for good|by hand|hangs? on"#
                + #"|held against|stand(?:s|ing)?(?! for)|stood|at once"#
                + #"|behind (?:it|them|that|the|its|this|which|what|a)|but for"#
                + #"|c(?:omes?|ame) (?:of|about)|bec(?:omes?|ame) of|goes by|as (?:it|they) lies?"#
                + #"|ever more|beside|sets? out|puts? right)\b"#
        ),
        WordCheck(
            name: "reference to another document",
            scope: .references,
            pattern: #"\bP-\d\d\b|\b[Cc]ases? \d+\b|\b[Rr]ules? \d+\b|^\d+(?:, \d+)*: "#
                + #"|\bfetch\.md\b|\b(?:the|of the) design\b|\bfrom the contract\b|\bare promised\b"#
        ),
    ]
}

/// Counts sentences that a check finds.
struct WordCount {
    struct Finding: CustomStringConvertible {
        let path: String
        let line: Int
        let check: String
        let sentence: String

        var description: String { "\(path):\(line): \(check): \(sentence)" }
    }

    private let expressions: [(check: WordCheck, expression: NSRegularExpression)]
    /// Numbers of guarantees and cases that `docs/guarantees.md` has: citing them is right.
    private let published: Set<String>

    init(_ tree: Tree) throws {
        expressions = try WordCheck.all.map {
            ($0, try NSRegularExpression(pattern: $0.pattern))
        }
        let number = try NSRegularExpression(
            pattern: #"\bP-\d\d\b|\b[Cc]ases? \d+\b|\b[Rr]ules? \d+\b"#
        )
        let page = tree.files.first { $0.path == "docs/guarantees.md" }
        published = Set(
            (page?.lines ?? []).flatMap { Self.matches(number, in: $0).map(Self.spelled) }
        )
    }

    func findings(_ kind: TextKind, in tree: Tree) -> [Finding] {
        tree.files.flatMap { file in
            kind.blocks(of: file).flatMap { findings(in: $0, file.path) }
        }
    }

    /// How many findings each check has.
    func counts(_ findings: [Finding]) -> [Int] {
        WordCheck.all.map { check in findings.count { $0.check == check.name } }
    }

    private func findings(in block: [Paragraph], _ path: String) -> [Finding] {
        block.enumerated().flatMap { place, paragraph in
            let text = paragraph.text.withoutCodeSpans
            let shown = text.replacingLinks { String($0) }.sentences
            let unlinked = text.replacingLinks { _ in "`" }.sentences
            return expressions.flatMap { check, expression in
                let sentences =
                    switch check.scope {
                    case .sentences: shown[...]
                    case .openings: place == 0 ? shown.prefix(1) : []
                    case .references: unlinked[...]
                    }
                return sentences.compactMap { sentence -> Finding? in
                    guard isFound(expression, check.scope, in: String(sentence)) else {
                        return nil
                    }
                    return Finding(
                        path: path,
                        line: paragraph.line,
                        check: check.name,
                        sentence: String(sentence)
                    )
                }
            }
        }
    }

    private func isFound(
        _ expression: NSRegularExpression,
        _ scope: WordCheck.Scope,
        in sentence: String
    ) -> Bool {
        Self.matches(expression, in: sentence).contains { match in
            guard scope == .references else { return true }
            return !published.contains(Self.spelled(match))
        }
    }

    /// `case 6` of `Cases 6`, as pages and names write it.
    private static func spelled(_ number: String) -> String {
        number.lowercased().replacing("cases ", with: "case ").replacing("rules ", with: "rule ")
    }

    private static func matches(_ expression: NSRegularExpression, in text: String) -> [String] {
        let range = NSRange(text.startIndex..., in: text)
        return expression.matches(in: text, range: range).compactMap { match in
            Range(match.range, in: text).map { String(text[$0]) }
        }
    }
}
