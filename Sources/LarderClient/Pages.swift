/// All items of a list, asked for page by page while they are iterated.
public struct Pages<Item: Sendable>: AsyncSequence, Sendable {
    /// Asks for the page at a cursor; nil is the first.
    package typealias Load =
        @Sendable (
            _ cursor: String?
        ) async throws(LarderError) -> (items: [Item], next: String?)

    let load: Load

    package init(_ load: @escaping Load) {
        self.load = load
    }

    /// Asks for the first page at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(load: load)
    }

    /// Iterator over the items of all pages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let load: Load
        private var page: ArraySlice<Item> = []
        private var cursor: String?
        private var isLast = false

        init(load: @escaping Load) {
            self.load = load
        }

        /// The next item; nil after the last.
        public mutating func next() async throws(LarderError) -> Item? {
            while page.isEmpty, !isLast {
                let answer = try await load(cursor)
                page = answer.items[...]
                cursor = answer.next
                isLast = cursor == nil
            }
            return page.popFirst()
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> Item? {
            try await next()
        }
    }
}
