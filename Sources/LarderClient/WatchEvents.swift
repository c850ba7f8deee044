/// What changes, for as long as it is iterated; see ``LarderClient/LarderClient/watch(_:)``.
public struct WatchEvents: AsyncSequence, Sendable {
    let lines: WatchLines

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(lines: lines.makeAsyncIterator())
    }

    /// One watcher.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var lines: WatchLines.Iterator

        /// The next event; it waits until there is one.
        public mutating func next() async throws(LarderError) -> WatchEvent? {
            try await lines.next()?.event
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> WatchEvent? {
            try await next()
        }
    }
}
