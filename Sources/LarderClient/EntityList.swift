import LarderModel

/// All rows of a list of entities, asked for page by page while they are iterated.
public struct EntityList: AsyncSequence, Sendable {
    let client: LarderClient
    let origin: String?
    let type: String?
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

        private let list: EntityList
        private var page: ArraySlice<EntityItem> = []
        private var next = Position.page(cursor: nil)

        init(list: EntityList) {
            self.list = list
        }

        /// The next row; nil after the last.
        public mutating func next() async throws(LarderError) -> EntityItem? {
            while page.isEmpty, case .page(let cursor) = next {
                let answer = try await list.client.entities(
                    origin: list.origin,
                    type: list.type,
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
        ) async throws(LarderError) -> EntityItem? {
            try await next()
        }
    }
}
