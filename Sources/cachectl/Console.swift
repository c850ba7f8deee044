import FoundationEssentials
import Glibc
import LarderAPI
import LarderClient
import LarderConfiguration
import LarderModel

/// Stdout for data, stderr for messages, and whether a person looks at them.
struct Console: Sendable {
    private let descriptor: Int32
    /// Name of what is written to, for messages.
    private let name: String
    /// Whether nothing is said but why a command fails.
    let isQuiet: Bool
    let isTerminalOut: Bool
    let isTerminalErr = isatty(STDERR_FILENO) == 1

    init(
        descriptor: Int32 = STDOUT_FILENO,
        name: String = "stdout",
        isQuiet: Bool = false
    ) {
        self.descriptor = descriptor
        self.name = name
        self.isQuiet = isQuiet
        isTerminalOut = isatty(descriptor) == 1
    }

    /// Writes data; fails when the reader is gone or the disk is full.
    func write(_ bytes: some Collection<UInt8>) throws(CommandFailure) {
        guard writeAll(Array(bytes), to: descriptor) else {
            throw errno == EPIPE ? CommandFailure.stdoutClosed : .lastError(of: name)
        }
    }

    func write(line json: RawJSON) throws(CommandFailure) {
        try write(json.bytes + [UInt8(ascii: "\n")])
    }

    func write(json value: some Encodable) throws(CommandFailure) {
        try write(APIEncoder().encode(value) + [UInt8(ascii: "\n")])
    }

    func line(_ text: TerminalText) throws(CommandFailure) {
        try write(Array((text.text + "\n").utf8))
    }

    func columns(_ fields: [String]) throws(CommandFailure) {
        let text = fields.map(TerminalText.escaped).joined(separator: "\t")
        try write(Array((text + "\n").utf8))
    }

    /// Says something to the person or the log: `cachectl: text`.
    func note(_ text: String) {
        if !isQuiet { note(line: "cachectl: \(text)") }
    }

    /// Writes a line to stderr.
    func note(line text: String) { writeError(TerminalText.escaped(text) + "\n") }

    /// Asks for a line on the terminal, which follows on the same one.
    func prompt(_ text: String) { writeError(TerminalText.escaped(text)) }

    /// Says what is worth a person's attention, not a log's.
    func remark(_ text: String) {
        if isTerminalErr { note(text) }
    }

    /// A line on stderr in the place of the one that was drawn before; an empty one takes it away.
    func draw(_ text: String) {
        let line = text.isEmpty ? "" : "cachectl: \(TerminalText.escaped(text))"
        writeError("\r\u{1B}[K\(line)")
    }

    /// Ignores a failure, as no other place is left to report it.
    private func writeError(_ text: String) {
        _ = writeAll(Array(text.utf8), to: STDERR_FILENO)
    }

    /// Asks a person, and throws `refusal` if the answer is not yes.
    func confirm(_ question: String, else refusal: String) throws(CommandFailure) {
        note(line: "\(question) Type y to do it.")
        let answer = readLine()?.lowercased()
        guard answer == "y" || answer == "yes" else { throw CommandFailure(.failed, refusal) }
    }

    /// Lines above a question, as many as leave it on the screen.
    static let linesAboveQuestionMax = 15

    var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isTerminalErr }
}

extension Console {
    enum Colour: String {
        case good = "32"
        case warning = "33"
        case bad = "31"
        case quiet = "2"
    }

    /// The text in a colour, on a terminal whose owner did not set NO_COLOR (no-color.org).
    func coloured(_ text: TerminalText, _ colour: Colour) -> TerminalText {
        let refused = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
        return isTerminalOut && !refused ? text.coloured(colour.rawValue) : text
    }

    /// Columns and rows of the terminal; what it usually has where it does not say.
    var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
        else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

/// A line for a person: our own words and colours, and others' texts with ``escaped(_:)``.
struct TerminalText: ExpressibleByStringInterpolation {
    private(set) var text: String

    init(_ text: String) { self.text = Self.escaped(text) }

    init(stringLiteral text: String) { self.text = text }

    init(stringInterpolation interpolation: StringInterpolation) { text = interpolation.text }

    /// The text in a colour (ECMA-48 SGR).
    func coloured(_ code: String) -> TerminalText {
        var coloured = self
        coloured.text = "\u{1B}[\(code)m\(text)\u{1B}[0m"
        return coloured
    }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: String) { text += literal }

        mutating func appendInterpolation(_ part: TerminalText) { text += part.text }

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
            $0.properties.generalCategory != .control || "\t\r\n".unicodeScalars.contains($0)
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
}

extension String.StringInterpolation {
    @available(*, unavailable, message: "Make it a TerminalText, so that its colours stay.")
    mutating func appendInterpolation(_ part: TerminalText) {}
}

/// Numbers as people say them.
enum HumanFormat {
    /// `512 MiB`, `1.5 GiB`, `17 B`.
    static func size(_ bytes: Int64) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var value = Double(bytes)
        var unit = 0
        while value >= 1_024, unit < units.count - 1 {
            value /= 1_024
            unit += 1
        }
        let tenths = (value * 10).rounded() / 10
        let isWhole = tenths == tenths.rounded() || tenths >= 100
        return "\(isWhole ? String(Int64(tenths.rounded())) : String(tenths)) \(units[unit])"
    }

    /// `45 s`, `12 min`, `3 h`, `5 d`: the largest unit that fits.
    static func span(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        return switch seconds {
        case 0..<120: "\(seconds) s"
        case 120..<7_200: "\(seconds / 60) min"
        case 7_200..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// The span from a moment until now.
    static func age(_ moment: LarderAPI.Timestamp) -> String {
        span(.milliseconds(now - moment.milliseconds))
    }

    /// The span from now until a moment.
    static func wait(until moment: LarderAPI.Timestamp) -> String {
        span(.milliseconds(moment.milliseconds - now))
    }

    /// The time of day, in milliseconds since 1970.
    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970 * 1_000) }

    /// `5.8 µs`, `183 ms`, `1.2 s`, or a dash for none.
    static func time(milliseconds: Double?) -> String {
        guard let milliseconds else { return "-" }
        let microseconds = max(0, milliseconds * 1_000)
        let (value, unit): (Double, String) =
            switch microseconds {
            case ..<1_000: (microseconds, "µs")
            case ..<1_000_000: (microseconds / 1_000, "ms")
            default: (min(microseconds, 1e15) / 1_000_000, "s")
            }
        let tenths = (value * 10).rounded() / 10
        return "\(tenths >= 10 ? String(Int64(tenths.rounded())) : String(tenths)) \(unit)"
    }

    /// `1 entry`, `12 entries`.
    static func entries(_ count: Int) -> String { count == 1 ? "1 entry" : "\(count) entries" }

    /// `97 %`, or a dash for none.
    static func percent(_ share: Double?) -> String {
        share.map { "\(Int(($0 * 100).rounded())) %" } ?? "-"
    }
}

struct Table {
    /// Whether a column's texts end below each other, as numbers do.
    let alignsRight: [Bool]
    private var rows: [[TerminalText]] = []

    init(alignsRight: [Bool]) { self.alignsRight = alignsRight }

    mutating func add(_ row: String...) { add(row) }

    mutating func add(_ row: [String]) {
        rows.append(row.map { TerminalText($0) })
    }

    mutating func add(_ name: TerminalText, shown text: TerminalText) { rows.append([name, text]) }

    /// The lines, with two spaces between columns; the last column is not filled up.
    var lines: [TerminalText] {
        let widths = alignsRight.indices.map { column in
            rows.map { $0[column].text.count }.max() ?? 0
        }
        return rows.map { row in
            var line: TerminalText = ""
            for (column, cell) in row.enumerated() {
                let gap = String(repeating: " ", count: widths[column] - cell.text.count)
                if column > 0 { line = "\(line)  " }
                if alignsRight[column] {
                    line = "\(line)\(gap)\(cell)"
                } else {
                    line = column == row.count - 1 ? "\(line)\(cell)" : "\(line)\(cell)\(gap)"
                }
            }
            return line
        }
    }
}

struct Column<Item> {
    let name: String
    let alignsRight: Bool
    let text: (Item) -> String

    init(_ name: String, alignsRight: Bool = false, _ text: @escaping (Item) -> String) {
        self.name = name
        self.alignsRight = alignsRight
        self.text = text
    }
}

extension Console {
    /// Prints a list while its items come, and returns their number.
    ///
    /// With `asJSON`, the items are as the daemon sent them. In a pipe, tabs separate their fields.
    /// On a terminal, each page is a table.
    func list<Item>(
        _ items: Pages<Item>,
        upTo most: Int? = nil,
        asJSON: Bool,
        fields: (Item) -> [String],
        columns: [Column<Item>],
        where isShown: (Item) -> Bool = { _ in true }
    ) async throws -> Int {
        var count = 0
        var page: [Item] = []
        let sent = SentReports()
        var rest = items.makeAsyncIterator()
        while let item = try await sent.noting({ try await rest.next() }) {
            let json = asJSON ? try sent.nextItem() : nil
            guard isShown(item) else { continue }
            count += 1
            if let json {
                try write(line: json)
            } else if isTerminalOut {
                page.append(item)
                if page.count == Limits.pageRowsMax {
                    try table(page, columns)
                    page = []
                }
            } else {
                try self.columns(fields(item))
            }
            if count == most { break }
        }
        try table(page, columns)
        return count
    }

    /// Prints a table with a line of names above it; nothing where there are no items.
    func table<Item>(_ items: [Item], _ columns: [Column<Item>]) throws(CommandFailure) {
        guard !items.isEmpty else { return }
        var table = Table(alignsRight: columns.map(\.alignsRight))
        table.add(columns.map(\.name))
        for item in items { table.add(columns.map { $0.text(item) }) }
        try lines(table.lines)
    }

    func lines(_ lines: [TerminalText]) throws(CommandFailure) {
        for line in lines { try self.line(line) }
    }
}
