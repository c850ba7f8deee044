import LarderAPI
package import LarderModel

/// The query of `GET /v1/modifiers`.
package struct ModifierListCommand: Equatable, Sendable {
    /// Which modifiers: `state=`.
    package enum Selection: Equatable, Sendable {
        case one(ModifierState)
        /// Settled modifiers.
        case settled
        case unsettled

        package init?(text: String) {
            guard let selection = Self.all.first(where: { $0.text == text }) else { return nil }
            self = selection
        }

        private static let all = ModifierState.allCases.map(Self.one) + [.settled, .unsettled]
        /// All texts that ``init(text:)`` takes.
        package static let texts = all.map(\.text)

        package var text: String {
            switch self {
            case .one(let state): state.rawValue
            case .settled: "settled"
            case .unsettled: "unsettled"
            }
        }
    }

    /// Nil: unsettled and failed modifiers.
    package var selection: Selection?
    package var lane: Lane?
    /// Modifiers in one page: 1 to ``Limits/pageRowsMax``.
    package var limit = Limits.pageRowsDefault
    /// The `next` of the page before.
    package var cursor: String?
    /// How long to wait for nothing to be left; with `state=unsettled` only.
    package var wait: Duration?
    package var scope = ScopeSelection.own(.default)

    package init() {}

    /// Reads the parameters, and refuses unknown ones.
    package init(
        query: Substring,
        account: (String?) throws(Problem) -> String? = { $0 }
    ) throws(Problem) {
        var given: ModifierListQuery = try Problem.decoding { () throws(APIDecodingError) in
            try APIDecoder(.strict).decode(query: query)
        }
        if let text = given.state {
            guard let selection = Selection(text: text) else {
                throw Problem(.unknownValue(at: "state", text: text, known: Selection.texts))
            }
            self.selection = selection
        }
        if let text = given.lane { lane = try Lane(command: text) }
        limit = try given.page.checkedLimit()
        cursor = given.page.cursor
        wait = try given.wait?.checked("wait")
        guard wait == nil || selection == .unsettled else {
            throw Problem(.badRequest, "wait: it goes with state=unsettled")
        }
        given.rows.account = try account(given.rows.account)
        scope = try ScopeSelection(given.rows)
    }
}

extension Lane {
    package init(command text: String) throws(Problem) {
        self = try Problem.checking("lane") { () throws(ModelError) in try Lane(given: text) }
    }
}
