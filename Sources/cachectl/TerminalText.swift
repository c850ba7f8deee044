/// Text as a terminal shows it.
enum TerminalText {
    /// The text without control characters, which could move the cursor or worse.
    static func harmless(_ text: String) -> String {
        var view = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            view.append(isControl(scalar) ? "\u{FFFD}" : scalar)
        }
        return String(view)
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
        // What ends with a line feed has filled one row less.
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

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
    }
}
