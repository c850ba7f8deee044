/// What changes, for as long as it is iterated; see ``LarderClient/LarderClient/watch(_:)``.
public struct WatchEvents: AsyncSequence, Sendable {
    let client: LarderClient
    let options: WatchOptions

    /// Asks the daemon at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(client, options)
    }

    /// One watcher.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let client: LarderClient
        private let options: WatchOptions
        private var lines: WatchLines.Iterator?

        init(_ client: LarderClient, _ options: WatchOptions) {
            self.client = client
            self.options = options
        }

        /// The next event; it waits until there is one.
        public mutating func next() async throws(LarderError) -> WatchEvent? {
            if lines == nil { lines = try client.watchLines(options).makeAsyncIterator() }
            while let element = try await lines?.next() {
                if let event = WatchEvent(element) { return event }
            }
            return nil
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> WatchEvent? {
            try await next()
        }
    }
}
