import Foundation

/// A paragraph, a name or a message, with the line on which it begins.
struct Paragraph: Equatable, Sendable {
    let line: Int
    var text: String
}

/// Reads the paragraphs of Markdown, without fenced blocks.
///
/// Items of lists and headings are paragraphs, and so are cells of tables with three words or more.
struct MarkdownReader {
    private(set) var paragraphs: [Paragraph] = []
    private var open: Paragraph?
    private var isFenced = false

    init(_ lines: some Sequence<Substring>, from number: Int = 1) {
        for (offset, line) in lines.enumerated() { take(line, number + offset) }
        close()
    }

    private mutating func take(_ line: Substring, _ number: Int) {
        var text = Substring(line.trimmingCharacters(in: .whitespaces))
        if text.hasPrefix("```") {
            close()
            isFenced.toggle()
            return
        }
        guard !isFenced else { return }
        if text.isEmpty || text.hasPrefix("<!--") { return close() }
        if text.hasPrefix("#") || text.hasPrefix("|") {
            close()
            return text.hasPrefix("#") ? takeHeading(text, number) : takeCells(text, number)
        }
        if let item = Self.item(text) {
            close()
            text = item
        }
        if text.hasPrefix("> ") { text = text.dropFirst(2) }
        if open == nil {
            open = Paragraph(line: number, text: String(text))
        } else {
            open?.text += " " + text
        }
    }

    private mutating func takeHeading(_ text: Substring, _ number: Int) {
        let heading = text.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces)
        paragraphs.append(Paragraph(line: number, text: heading))
    }

    private mutating func takeCells(_ text: Substring, _ number: Int) {
        let signs = CharacterSet(charactersIn: "| ")
        for cell in String(text).components(separatedBy: " | ") {
            let cell = cell.trimmingCharacters(in: signs)
            guard cell.split(separator: " ").count >= 3 else { continue }
            paragraphs.append(Paragraph(line: number, text: cell))
        }
    }

    private mutating func close() {
        if let open { paragraphs.append(open) }
        open = nil
    }

    /// The text of an item of a list; nil for other lines.
    private static func item(_ text: Substring) -> Substring? {
        let digits = text.prefix(while: \.isNumber)
        let rest = text.dropFirst(digits.count)
        let marks: [Character] = digits.isEmpty ? ["*", "+", "-"] : [".", ")"]
        guard let mark = rest.first, marks.contains(mark), rest.dropFirst().first == " " else {
            return nil
        }
        return rest.dropFirst(2).drop { $0 == " " }
    }
}

extension SourceFile {
    /// Comments that have lines of their own, each with its paragraphs.
    var comments: [[Paragraph]] {
        var comments: [[Paragraph]] = []
        var block: [Substring] = []
        for (index, line) in (lines + [""]).enumerated() {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("//") {
                block.append(text.drop { $0 == "/" })
            } else if !block.isEmpty {
                let reader = MarkdownReader(block, from: index + 1 - block.count)
                comments.append(reader.paragraphs)
                block = []
            }
        }
        return comments
    }

    /// Paragraphs of a page of Markdown.
    var paragraphs: [Paragraph] { MarkdownReader(lines.lazy.map { $0[...] }).paragraphs }

    /// Names of tests and suites.
    var testNames: [Paragraph] {
        literals.enumerated().compactMap { place, literal in
            let isFirst = place == 0 || literals[place - 1].line < literal.line
            let line = code[literal.line - 1].drop { $0 == " " }
            let before = literal.line > 1 ? code[literal.line - 2].drop { $0 == " " } : ""
            let isName = ["@Test(", "@Suite("].contains { mark in
                line.hasPrefix(mark) || before.trimmingCharacters(in: .whitespaces) == mark
            }
            return isFirst && isName ? literal : nil
        }
    }

    /// Literals of three words or more.
    var messages: [Paragraph] {
        literals.compactMap { literal in
            let words = literal.text.split { $0.isWhitespace }
            guard words.count >= 3 else { return nil }
            return Paragraph(line: literal.line, text: words.joined(separator: " "))
        }
    }
}

extension String {
    /// A paragraph with a backtick in place of each code span, and without marks of emphasis.
    var withoutCodeSpans: String {
        let parts = replacing("``", with: "`")
            .split(separator: "`", omittingEmptySubsequences: false)
        var text = ""
        for (place, part) in parts.enumerated() {
            if place.isMultiple(of: 2) {
                text += part
            } else {
                // A last backtick without another one is text.
                text += place == parts.count - 1 ? "`" + part : "`"
            }
        }
        return text.replacing("*", with: "")
    }

    /// The text with each link replaced by what `replace` makes of its text.
    func replacingLinks(_ replace: (Substring) -> String) -> String {
        guard contains("](") else { return self }
        var text = ""
        var rest = self[...]
        while let link = rest.firstMatch(of: /\[([^\]]*)\]\([^)]*\)/) {
            text += rest[..<link.range.lowerBound] + replace(link.output.1)
            rest = rest[link.range.upperBound...]
        }
        return text + rest
    }

    /// Sentences: each ends with a mark before a space and what begins another one.
    var sentences: [Substring] {
        var sentences: [Substring] = []
        var start = startIndex
        var last: Character?
        var before: Character?
        for index in indices {
            let sign = self[index]
            if last == " ", let before, ".!?".contains(before), beginnings.contains(sign) {
                sentences.append(self[start..<self.index(before: index)])
                start = index
            }
            (before, last) = (last == " " && sign == " " ? before : last, sign)
        }
        return start < endIndex ? sentences + [self[start...]] : sentences
    }
}

private let beginnings = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZ\"'`([")
