/// Swift source in which comments and literals of text are spaces; lines stay where they are.
///
/// What stands in an interpolation is blank too, and regular expressions are taken for code.
func blankingProse(in text: String) -> String { Prose(reading: text).code }

/// The code and the literals of text of a Swift file.
struct Prose {
    private var text: [UInt8]
    /// The literals in the order of the file, with a dollar in place of each interpolation.
    private(set) var literals: [Paragraph] = []
    private var position = 0
    /// The line of the last literal, and where that begins.
    private var counted = (line: 1, position: 0)

    var code: String { String(decoding: text, as: UTF8.self) }

    init(reading text: String) {
        self.init(text: Array(text.utf8))
        blank()
    }

    private init(text: [UInt8]) {
        self.text = text
    }

    private mutating func blank() {
        while position < text.count {
            if starts(with: "//") {
                while position < text.count, text[position] != newline { skip() }
            } else if starts(with: "/*") {
                blankComment()
            } else if let hashes = literalHashes() {
                let line = line(at: position)
                literals.append(Paragraph(line: line, text: blankLiteral(hashes: hashes)))
            } else {
                position += 1
            }
        }
    }

    private mutating func blankComment() {
        var depth = 0
        repeat {
            if starts(with: "/*") {
                depth += 1
                skip(2)
            } else if starts(with: "*/") {
                depth -= 1
                skip(2)
            } else {
                skip()
            }
        } while depth > 0 && position < text.count
    }

    /// The number of `#` before the quote of a literal that begins here.
    private func literalHashes() -> Int? {
        var end = position
        while end < text.count, text[end] == UInt8(ascii: "#") { end += 1 }
        return end < text.count && text[end] == quote ? end - position : nil
    }

    private mutating func line(at position: Int) -> Int {
        let passed = text[counted.position..<position]
        counted = (counted.line + passed.count { $0 == newline }, position)
        return counted.line
    }

    /// Returns what the literal says, with line breaks as they are in the file.
    @discardableResult private mutating func blankLiteral(hashes: Int) -> String {
        let sign = String(repeating: "#", count: hashes)
        var content: [UInt8] = []
        skip(hashes)
        let quotes = starts(with: "\"\"\"") ? "\"\"\"" : "\""
        skip(quotes.utf8.count)
        while position < text.count, !starts(with: quotes + sign) {
            if starts(with: "\\\(sign)(") {
                content.append(UInt8(ascii: "$"))
                skip(hashes + 2)
                blankInterpolation()
            } else if starts(with: "\\\(sign)") {
                content += escaped(at: position + hashes + 1)
                skip(hashes + 2)
            } else {
                content.append(text[position])
                skip()
            }
        }
        skip(quotes.utf8.count + hashes)
        return String(decoding: content, as: UTF8.self)
    }

    /// What a letter behind a backslash says, as far as it matters to a reader.
    private func escaped(at place: Int) -> [UInt8] {
        guard place < text.count, text[place] != newline else { return [] }
        return "nrt".utf8.contains(text[place]) ? [UInt8(ascii: " ")] : [text[place]]
    }

    private mutating func blankInterpolation() {
        var depth = 1
        while depth > 0, position < text.count {
            if let hashes = literalHashes() {
                blankLiteral(hashes: hashes)
                continue
            }
            if text[position] == UInt8(ascii: "(") { depth += 1 }
            if text[position] == UInt8(ascii: ")") { depth -= 1 }
            skip()
        }
    }

    private func starts(with word: String) -> Bool {
        text[position...].starts(with: word.utf8)
    }

    private mutating func skip(_ count: Int = 1) {
        for _ in 0..<count where position < text.count {
            if text[position] != newline { text[position] = UInt8(ascii: " ") }
            position += 1
        }
    }
}

private let newline = UInt8(ascii: "\n")
private let quote = UInt8(ascii: "\"")
