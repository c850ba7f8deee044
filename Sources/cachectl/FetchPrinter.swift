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
        switch try await lastWord(frames) {
        case .print(let snapshot, let word):
            try await finish(snapshot, word)
        case .fail(let failure):
            try view.clear()
            throw failure
        case .wait, .show:
            preconditionFailure("neither is a last word")
        }
    }

    private mutating func lastWord(_ frames: FetchFrames) async throws -> GetPlan.Step {
        do {
            for try await update in frames {
                let step = plan.updateArrived(update)
                switch step {
                case .wait: continue
                case .show(let snapshot): try await show(snapshot, ", asking the network")
                case .print, .fail: return step
                }
            }
            return plan.broke(CommandFailure(gettingFailedWith: .cutOff))
        } catch let error as LarderError {
            return plan.broke(CommandFailure(gettingFailedWith: error))
        }
    }

    private mutating func finish(_ snapshot: Snapshot, _ word: GetPlan.Word) async throws {
        if !console.isTerminalOut {
            console.note(Self.describe(snapshot) + Self.describe(word))
            for try await chunk in try await snapshot.bodyChunks() { try console.write(chunk) }
        } else if showsHeld, snapshot.source != .network {
            try view.show(message: Self.describe(snapshot) + Self.describe(word))
        } else {
            try await show(snapshot, Self.describe(word))
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
        case .cache:
            "from the cache, \(Words.span(snapshot.age)) old\(snapshot.isStale ? ", stale" : "")"
        }
    }

    private static func describe(_ word: GetPlan.Word) -> String {
        switch word {
        case .given: ""
        case .confirmed: ", confirmed by the network"
        case .networkFailed(let message): "; \(message)"
        }
    }
}

extension FetchPrinter {
    /// Prints every line as it comes, to the last; fails as if one body had been wanted.
    func copy(_ lines: FrameLines, of client: LarderClient) async throws {
        var plan = plan
        var decided: GetPlan.Step?
        do {
            for try await line in lines {
                try console.write(line.bytes + [UInt8(ascii: "\n")])
                guard decided == nil, let update = FetchUpdate(line.frame, client: client) else {
                    continue
                }
                let step = plan.updateArrived(update)
                switch step {
                case .wait, .show: continue
                case .print, .fail: decided = step
                }
            }
        } catch let error as LarderError {
            let failure = CommandFailure(gettingFailedWith: error)
            if decided != nil { throw failure }
            decided = plan.broke(failure)
        }
        if case .fail(let failure) = decided { throw failure }
    }
}
