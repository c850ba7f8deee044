import Foundation
import Testing

/// The counts of sentences that the checks may find, in the order of ``WordCheck/all``.
///
/// Counts only fall: a clean-up lowers its number here. Pages for readers have none.
enum PlainWordsBaseline {
    static func counts(_ kind: TextKind) -> [Int] {
        switch kind {
        case .comments: [0, 0, 0, 0, 5]
        case .pages: [0, 0, 0, 0, 0]
        case .testNames: [0, 0, 0, 0, 0]
        case .messages: [0, 0, 0, 0, 0]
        }
    }
}

@Suite("Plain words")
struct PlainWordsTests {
    /// A folder or a file, every finding of which a failed check prints.
    private static let shown = ProcessInfo.processInfo.environment["LARDER_WORDS_IN"]

    @Test("No check finds more sentences than its baseline", arguments: TextKind.allCases)
    func counts(kind: TextKind) throws {
        let count = try WordCount(.own)
        let findings = count.findings(kind, in: .own)
        let counts = count.counts(findings)
        for (place, check) in WordCheck.all.enumerated() {
            let most = PlainWordsBaseline.counts(kind)[place]
            guard counts[place] > most else { continue }
            let lines = findings.filter { finding in
                finding.check == check.name && (Self.shown.map(finding.path.hasPrefix) ?? true)
            }
            Issue.record(
                """
                \(kind.rawValue), \(check.name): \(counts[place]) sentences, at most \(most). \
                LARDER_WORDS_IN=PATH shows those below a path.
                \(lines.prefix(most == 0 ? .max : 40).map(\.description).joined(separator: "\n"))
                """
            )
        }
    }

    @Test(
        "A check finds its sentence and passes over the plain one",
        arguments: [
            ("headless opener", "Who waits is told.", "Who waits?"),
            ("headless opener", "a: What is there.", "The row that is there."),
            ("ghost actor", "Somebody's row.", "The row of a user."),
            ("pronoun opener", "It reads.", "The reader reads. It stops."),
            ("word list", "It is told at once.", "It stands for a row."),
            ("reference to another document", "See case 6.", "See [case 6](docs/cases.md)."),
            ("reference to another document", "The row of P-06.", "The row of P-07, case 1."),
        ]
    )
    func examples(check: String, bad: String, good: String) throws {
        func found(_ text: String) throws -> [String] {
            let tree = Tree(files: [
                SourceFile(path: "README.md", text: text),
                SourceFile(path: "docs/guarantees.md", text: "### P-07\n\n#### Case 1\n"),
            ])
            return try WordCount(tree).findings(.pages, in: tree).map(\.check)
        }
        #expect(try found(bad).contains(check))
        #expect(try !found(good).contains(check))
    }

    @Test("Sentences are read from comments, names, messages and pages, without code")
    func reading() throws {
        let source = """
            /// Reads `a. B` first.
            /// Then it ends. It
            /// waits.
            ///
            /// - Next: c
            let a = "two words"  // No block.
            let b = "three \\("x" + y) words\\n"
            """
        let file = SourceFile(path: "Sources/A/B.swift", text: source)
        let comment = try #require(file.comments.first)
        #expect(comment.map(\.line) == [1, 5])
        #expect(
            comment[0].text.withoutCodeSpans.sentences == [
                "Reads ` first.", "Then it ends.", "It waits.",
            ]
        )
        #expect(comment[1].text == "Next: c")
        #expect(file.messages == [Paragraph(line: 7, text: "three $ words")])
        let test = """
            @Test("A name") func a() {}
            @Suite(
                "Another \\"name\\"",
                .serialized
            )
            struct S { let a = "no name" }
            """
        let names = SourceFile(path: "Tests/A/B.swift", text: test).testNames
        #expect(names.map(\.text) == ["A name", "Another \"name\""])
        let page = """
            # Head
            | a | three words here |
            |---|---|
            1. One
               item
            ```
            code
            ```
            End.
            """
        let read = SourceFile(path: "README.md", text: page).paragraphs
        #expect(read.map(\.text) == ["Head", "three words here", "One item", "End."])
        #expect("[a](b) c".replacingLinks { String($0) } == "a c")
    }
}
