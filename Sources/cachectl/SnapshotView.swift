import LarderClient

/// Shows snapshots on a terminal, the later in place of the earlier where that is still on the
/// screen.
struct SnapshotView {
    private let console: Console
    /// The rows above the cursor that what is shown fills, the message below it included.
    private var bodyRows = 0
    private var messageRows = 0

    init(console: Console) {
        self.console = console
    }

    /// Shows a body and what is to be said of it.
    mutating func show(_ body: [UInt8], mediaType: String?, message: String) throws(CommandFailure)
    {
        try clear()
        let text = text(of: body, mediaType: mediaType)
        try console.write(Array(text.utf8))
        bodyRows = TerminalText.rows(text, columns: console.size.columns)
        say(message)
    }

    /// Says something else of the body that is shown.
    mutating func show(message: String) throws(CommandFailure) {
        if messageRows > 0 { try erase(messageRows) }
        messageRows = 0
        say(message)
    }

    /// Takes back what is shown, as far as it can be.
    mutating func clear() throws(CommandFailure) {
        let rows = bodyRows + messageRows
        if rows > 0, rows < console.size.rows {
            try erase(rows)
        } else if rows > 0 {
            console.note("the network has another answer:")
        }
        bodyRows = 0
        messageRows = 0
    }

    private mutating func say(_ message: String) {
        console.note(message)
        guard console.isTerminalErr else { return }
        messageRows = TerminalText.rows("cachectl: \(message)\n", columns: console.size.columns)
    }

    /// Moves the cursor up and clears from there on (ECMA-48 CUU, ED).
    private func erase(_ rows: Int) throws(CommandFailure) {
        try console.write(Array("\u{1B}[\(rows)A\r\u{1B}[J".utf8))
    }

    private func text(of body: [UInt8], mediaType: String?) -> String {
        guard TerminalText.isShowable(body) else {
            let type = TerminalText.escaped(mediaType ?? "bytes")
            return "(\(Words.size(Int64(body.count))) of \(type), not shown on a "
                + "terminal; pipe it)\n"
        }
        let text = String(decoding: body, as: UTF8.self)
        return text.isEmpty || text.hasSuffix("\n") ? text : text + "\n"
    }
}
