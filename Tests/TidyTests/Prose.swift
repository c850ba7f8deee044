/// Swift source in which comments and literals of text are spaces; lines stay where they are.
///
/// What stands in an interpolation is blank too, and regular expressions are taken for code.
func blankingProse(in text: String) -> String {
    var prose = Prose(text: Array(text.utf8))
    prose.blank()
    return String(decoding: prose.text, as: UTF8.self)
}

private struct Prose {
    var text: [UInt8]
    private var position = 0

    init(text: [UInt8]) {
        self.text = text
    }

    mutating func blank() {
        while position < text.count {
            if starts(with: "//") {
                while position < text.count, text[position] != newline { skip() }
            } else if starts(with: "/*") {
                blankComment()
            } else if let hashes = literalHashes() {
                blankLiteral(hashes: hashes)
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

    private mutating func blankLiteral(hashes: Int) {
        let sign = String(repeating: "#", count: hashes)
        skip(hashes)
        let quotes = starts(with: "\"\"\"") ? "\"\"\"" : "\""
        skip(quotes.utf8.count)
        while position < text.count, !starts(with: quotes + sign) {
            if starts(with: "\\\(sign)(") {
                skip(hashes + 2)
                blankInterpolation()
            } else if starts(with: "\\\(sign)") {
                skip(hashes + 2)
            } else {
                skip()
            }
        }
        skip(quotes.utf8.count + hashes)
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
