/// The updates of one fetch.
///
///     for try await update in larder.fetch("https://api.example.com/42") { … }
///
/// Each iteration is a request of its own. Leaving the loop hangs up; the daemon may finish what
/// the fetch began, for its cache. A stream that ends without ``FetchUpdate/end(_:)`` throws
/// ``LarderError/cutOff``.
public struct FetchFrames: AsyncSequence, Sendable {
    let lines: FrameLines

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(lines: lines.makeAsyncIterator(), client: lines.client)
    }

    /// One request's updates.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var lines: FrameLines.Iterator
        private let client: LarderClient

        init(lines: FrameLines.Iterator, client: LarderClient) {
            self.lines = lines
            self.client = client
        }

        /// The next update; nil after the end.
        public mutating func next() async throws(LarderError) -> FetchUpdate? {
            while let line = try await lines.next() {
                if let update = FetchUpdate(line.frame, client: client) { return update }
            }
            return nil
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> FetchUpdate? {
            try await next()
        }
    }
}
