import LarderAPI

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Stdout for data, stderr for messages, and whether a person looks at them.
struct Console: Sendable {
    private let descriptor: Int32
    /// Whether nothing is said but why a command fails.
    let isQuiet: Bool
    let isInteractiveIn = isatty(STDIN_FILENO) == 1
    let isTerminalOut: Bool
    let isTerminalErr = isatty(STDERR_FILENO) == 1

    init(descriptor: Int32 = STDOUT_FILENO, isQuiet: Bool = false) {
        self.descriptor = descriptor
        self.isQuiet = isQuiet
        isTerminalOut = isatty(descriptor) == 1
    }

    /// Writes data; fails when the reader is gone or the disk is full.
    func write(_ bytes: some Collection<UInt8>) throws(CommandFailure) {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { writeSome($0, to: descriptor) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                throw .stdoutClosed
            } else if errno != EINTR {
                throw CommandFailure(.failed, "stdout: \(String(cString: strerror(errno)))")
            }
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

    /// Writes a line to stderr; ignores a failure, as no other place is left to report it.
    func note(line text: String) {
        let bytes = Array((TerminalText.escaped(text) + "\n").utf8)
        _ = bytes.withUnsafeBytes { writeSome($0, to: STDERR_FILENO) }
    }

    /// Asks for a line on the terminal, which follows on the same one.
    func prompt(_ text: String) {
        let bytes = Array(TerminalText.escaped(text).utf8)
        _ = bytes.withUnsafeBytes { writeSome($0, to: STDERR_FILENO) }
    }

    /// Says what is worth a person's attention, not a log's.
    func remark(_ text: String) {
        if isTerminalErr { note(text) }
    }

    /// A line on stderr in the place of the one that was drawn before; an empty one takes it away.
    func draw(_ text: String) {
        let line = text.isEmpty ? "" : "cachectl: \(TerminalText.escaped(text))"
        let bytes = Array("\r\u{1B}[K\(line)".utf8)
        _ = bytes.withUnsafeBytes { writeSome($0, to: STDERR_FILENO) }
    }

    func confirms(_ question: String) -> Bool {
        note(line: "\(question) Type y to do it.")
        let answer = readLine()?.lowercased() ?? ""
        return answer == "y" || answer == "yes"
    }

    var canAsk: Bool { isInteractiveIn && isTerminalErr }
}

/// Outside of the type, whose own methods would hide write(2).
private func writeSome(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
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
