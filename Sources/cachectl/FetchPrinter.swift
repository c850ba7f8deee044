import LarderClient

/// Prints a fetch as its plan says: one body in a pipe, two in one place on a terminal, or every
/// frame as JSON.
struct FetchPrinter {
    private let console: Console
    private var plan: GetPlan
    private var view: SnapshotView
    /// Whether the view shows what the plan holds.
    private var showsHeld = false

    init(console: Console, plan: GetPlan) {
        self.console = console
        self.plan = plan
        view = SnapshotView(console: console)
    }

    /// Prints the body that is wanted; the stream is hung up as soon as it is known which.
    mutating func print(_ frames: FetchFrames) async throws {
        let ticker = Ticker("asking for \(plan.name)", on: console)
        let result: GetPlan.FinalResult
        do {
            result = try await finalResult(frames, ticker)
            await ticker.stop()
        } catch {
            await ticker.stop()
            throw error
        }
        switch result {
        case .print(let snapshot, let word):
            try await finish(snapshot, word)
        case .fail(let failure):
            try view.clear()
            throw failure
        }
    }

    private mutating func finalResult(
        _ frames: FetchFrames,
        _ ticker: Ticker
    ) async throws -> GetPlan.FinalResult {
        do {
            for try await update in frames {
                switch plan.updateArrived(update) {
                case .wait: continue
                case .show(let snapshot):
                    await ticker.stop()
                    try await show(snapshot, ", asking the network")
                case .last(let result): return result
                }
            }
            return plan.streamFailed(CommandFailure(LarderError.cutOff))
        } catch let error as LarderError {
            return plan.streamFailed(CommandFailure(error))
        }
    }

    private mutating func finish(_ snapshot: Snapshot, _ word: String) async throws {
        if !console.isTerminalOut {
            console.note(Self.describe(snapshot) + word)
            try await console.copy(try await snapshot.bodyChunks())
        } else if showsHeld, snapshot.source != .network {
            try view.show(message: Self.describe(snapshot) + word)
        } else {
            try await show(snapshot, word)
        }
    }

    private mutating func show(_ snapshot: Snapshot, _ word: String) async throws {
        let body = try await snapshot.exactBody()
        try view.show(
            body,
            mediaType: snapshot.mediaType,
            message: Self.describe(snapshot) + word
        )
        showsHeld = snapshot.source != .network
    }

    private static func describe(_ snapshot: Snapshot) -> String {
        switch snapshot.source {
        case .network: "from the network"
        case .modifier: "from a write that waits to be sent"
        default:
            "from the cache, \(HumanFormat.span(snapshot.age)) old\(snapshot.stale ? ", stale" : "")"
        }
    }
}

extension FetchPrinter {
    /// Prints every line as it comes, to the last; fails as if one body had been wanted.
    func copy(_ lines: FrameLines, of client: LarderClient) async throws {
        var plan = plan
        var decided: GetPlan.FinalResult?
        do {
            for try await line in lines {
                try console.write(line.bytes + [UInt8(ascii: "\n")])
                guard decided == nil, let update = FetchUpdate(line.frame, client: client) else {
                    continue
                }
                if case .last(let result) = plan.updateArrived(update) { decided = result }
            }
        } catch let error as LarderError {
            let failure = CommandFailure(error)
            if decided != nil { throw failure }
            decided = plan.streamFailed(failure)
        }
        if case .fail(let failure) = decided { throw failure }
    }
}

/// Shows snapshots on a terminal, the later in place of the earlier where that is still on the
/// screen.
struct SnapshotView {
    private let console: Console
    /// The rows above the cursor that what is shown fills, the message below it included.
    private var bodyRows = 0
    private var messageRows = 0

    init(console: Console) { self.console = console }

    mutating func show(_ body: [UInt8], mediaType: String?, message: String) throws(CommandFailure)
    {
        try clear()
        let text = Self.text(of: body, mediaType: mediaType)
        try console.write(Array(text.utf8))
        bodyRows = TerminalText.rows(text, columns: console.size.columns)
        say(message)
    }

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

    /// The body as a terminal may have it: one with control characters, which a terminal obeys, is
    /// only described.
    static func text(of body: [UInt8], mediaType: String?) -> String {
        guard TerminalText.isShowable(body) else {
            let type = TerminalText.escaped(mediaType ?? "bytes")
            return "(\(HumanFormat.size(Int64(body.count))) of \(type), not shown on a "
                + "terminal; pipe it)\n"
        }
        let text = String(decoding: body, as: UTF8.self)
        return text.isEmpty || text.hasSuffix("\n") ? text : text + "\n"
    }
}
