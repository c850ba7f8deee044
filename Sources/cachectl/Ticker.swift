/// A line on stderr that says on a terminal what is waited for and for how long; gone when it is
/// stopped.
struct Ticker {
    private let task: Task<Void, Never>?

    /// Begins; where no person looks it does nothing.
    init(_ text: String, on console: Console) {
        guard console.isTerminalErr, !console.isQuiet else {
            task = nil
            return
        }
        task = Task {
            let clock = ContinuousClock()
            let began = clock.now
            var isDrawn = false
            // Work of less than a second needs no message.
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                console.draw("\(text), \(HumanFormat.span(clock.now - began))")
                isDrawn = true
            }
            if isDrawn { console.draw("") }
        }
    }

    /// Takes the line away; it is gone when this returns.
    func stop() async {
        task?.cancel()
        await task?.value
    }
}

extension Console {
    /// Writes a body as it comes; meanwhile a line says on a terminal how much it is.
    func copy<Chunks: AsyncSequence>(_ chunks: Chunks) async throws
    where Chunks.Element == [UInt8] {
        let isTold = isTerminalErr && !isTerminalOut && !isQuiet
        let clock = ContinuousClock()
        var (count, told) = (Int64(0), clock.now)
        var isDrawn = false
        defer { if isDrawn { draw("") } }
        for try await chunk in chunks {
            try write(chunk)
            count += Int64(chunk.count)
            guard isTold, clock.now - told > .milliseconds(500) else { continue }
            told = clock.now
            isDrawn = true
            draw("\(HumanFormat.size(count)) so far")
        }
    }

    /// Runs `body`; meanwhile a line says on a terminal what is waited for.
    func waiting<Value>(
        for text: String,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let ticker = Ticker(text, on: self)
        do {
            let value = try await body()
            await ticker.stop()
            return value
        } catch {
            await ticker.stop()
            throw error
        }
    }
}
