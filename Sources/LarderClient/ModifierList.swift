import LarderModel
import LarderWire

/// Which modifiers a list is of.
public enum ModifierSelection: Equatable, Sendable {
    /// Those that are to be sent or answered, and those that failed for good.
    case open
    /// Those that are to be sent or answered.
    case unsettled
    /// The history, the latest first.
    case settled
    /// Those in one state.
    case state(ModifierStatus.State)
}

extension ModifierSelection {
    /// As it travels.
    var wire: ModifierListCommand.Selection? {
        switch self {
        case .open: nil
        case .unsettled: .unsettled
        case .settled: .settled
        case .state(let state): .one(state.wire)
        }
    }
}

/// All modifiers of a list, asked for page by page while they are iterated.
public struct ModifierList: AsyncSequence, Sendable {
    let client: LarderClient
    let selection: ModifierSelection
    let lane: Modifier.Lane?
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

        private let list: ModifierList
        private var page: ArraySlice<ModifierStatus> = []
        private var next = Position.page(cursor: nil)

        init(list: ModifierList) {
            self.list = list
        }

        /// The next modifier; nil after the last.
        public mutating func next() async throws(LarderError) -> ModifierStatus? {
            while page.isEmpty, case .page(let cursor) = next {
                let answer = try await list.client.modifiers(
                    list.selection,
                    lane: list.lane,
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
        ) async throws(LarderError) -> ModifierStatus? {
            try await next()
        }
    }
}
