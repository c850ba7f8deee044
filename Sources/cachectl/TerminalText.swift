/// A line for a person: our own words and colours, and others' texts with ``escaped(_:)``.
struct TerminalText: ExpressibleByStringInterpolation {
    private(set) var text: String

    init(_ text: String) {
        self.text = Self.escaped(text)
    }

    init(stringLiteral text: String) {
        self.text = text
    }

    init(stringInterpolation interpolation: StringInterpolation) {
        text = interpolation.text
    }

    /// The text in a colour (ECMA-48 SGR).
    func coloured(_ code: String) -> TerminalText {
        var coloured = self
        coloured.text = "\u{1B}[\(code)m\(text)\u{1B}[0m"
        return coloured
    }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        mutating func appendInterpolation(_ part: TerminalText) {
            text += part.text
        }

        mutating func appendInterpolation(_ part: some CustomStringConvertible) {
            text += TerminalText.escaped(part.description)
        }
    }
}

extension TerminalText {
    /// The text with hidden characters escaped, as in `\u{202E}`.
    ///
    /// Hidden are control characters, which a terminal obeys, format characters (bidirectional and
    /// others), and characters without width.
    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isHidden) else { return text }
        return text.unicodeScalars.reduce(into: "") { escaped, scalar in
            guard isHidden(scalar) else { return escaped.unicodeScalars.append(scalar) }
            escaped += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
        }
    }

    /// Whether bytes are text that a terminal can be given as it is.
    static func isShowable(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.allSatisfy {
            !isControl($0) || "\t\r\n".unicodeScalars.contains($0)
        }
    }

    /// How many rows of `columns` the text fills.
    static func rows(_ text: String, columns: Int) -> Int {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let rows = lines.map { max(1, (width($0) + columns - 1) / columns) }
        // The empty part after a final line feed fills no row.
        return rows.reduce(0, +) - (text.hasSuffix("\n") ? 1 : 0)
    }

    private static func width(_ line: Substring) -> Int {
        line.unicodeScalars.reduce(0) { column, scalar in
            scalar == "\t" ? (column / 8 + 1) * 8 : column + width(scalar)
        }
    }

    /// Roughly as wcwidth(3): combining marks take no column, East Asian ones two.
    private static func width(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF,
            0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0x7F else { return scalar.value < 0x20 }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
    }
}

extension String.StringInterpolation {
    @available(*, unavailable, message: "Make it a TerminalText, so that its colours stay.")
    mutating func appendInterpolation(_ part: TerminalText) {}
}
