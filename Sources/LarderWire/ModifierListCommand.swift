import LarderAPI
package import LarderModel

/// What `GET /v1/modifiers` asks for.
package struct ModifierListCommand: Equatable, Sendable {
    /// Which modifiers: `state=`.
    package enum Selection: Equatable, Sendable {
        case one(ModifierState)
        /// The history.
        case settled
        case unsettled

        package init?(text: String) {
            switch text {
            case "settled": self = .settled
            case "unsettled": self = .unsettled
            default:
                guard let state = ModifierState(rawValue: text) else { return nil }
                self = .one(state)
            }
        }

        /// What ``init(text:)`` takes.
        package static let texts =
            ModifierState.allCases.map(\.rawValue) + ["settled", "unsettled"]

        package var text: String {
            switch self {
            case .one(let state): state.rawValue
            case .settled: "settled"
            case .unsettled: "unsettled"
            }
        }
    }

    /// Nil: those that are unsettled, and the dead letters.
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

    /// Reads the parameters, and refuses every other.
    package init(
        query: Substring,
        account: (String?) throws(Problem) -> String? = { $0 }
    ) throws(Problem) {
        var given: ModifierListQuery
        do throws(APIDecodingError) {
            given = try APIDecoder(.strict).decode(query: query)
        } catch {
            throw Problem(error)
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
    /// A lane of a command.
    package init(command text: String) throws(Problem) {
        do throws(ModelError) {
            try self.init(given: text)
        } catch {
            throw Problem(.badRequest, "lane: \(error.message)")
        }
    }
}
