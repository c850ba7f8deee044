import LarderModel

/// All rows of a list, asked for page by page while they are iterated.
public struct EntryList: AsyncSequence, Sendable {
    let client: LarderClient
    let prefix: String?
    let origin: String?
    let sort: EntryOrder
    let scope: EntryScope

    /// Asks for the first page at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(list: self)
    }

    /// One way through the pages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private enum Position {
            case page(cursor: String?)
            case end
        }

        private let list: EntryList
        private var page: ArraySlice<EntryItem> = []
        private var next = Position.page(cursor: nil)

        init(list: EntryList) {
            self.list = list
        }

        /// The next row; nil after the last.
        public mutating func next() async throws(LarderError) -> EntryItem? {
            while page.isEmpty, case .page(let cursor) = next {
                let answer = try await list.client.entries(
                    prefix: list.prefix,
                    origin: list.origin,
                    sort: list.sort,
                    limit: Limits.pageRowsMax,
                    cursor: cursor,
                    scope: list.scope
                )
                page = answer.items[...]
                next = answer.next.map { .page(cursor: $0) } ?? .end
            }
            return page.popFirst()
        }

        /// The same, called by `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(LarderError) -> EntryItem? {
            try await next()
        }
    }
}
