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
    package init(query: Substring) throws(Problem) {
        var parameters = try QueryParameters(query)
        if let text = parameters.take("state") {
            guard let selection = Selection(text: text) else {
                throw Problem("state", text, isNoneOf: Selection.texts)
            }
            self.selection = selection
        }
        if let text = parameters.take("lane") { lane = try Lane(command: text) }
        limit =
            try parameters.take("limit").map { text throws(Problem) in
                try EntryListCommand.limit(text)
            } ?? Limits.pageRowsDefault
        cursor = parameters.take("cursor")
        wait = try parameters.takeWait("wait")
        guard wait == nil || selection == .unsettled else {
            throw Problem(.badRequest, "wait: it goes with state=unsettled")
        }
        scope = try parameters.takeScope()
        try parameters.refuseRest()
    }

    /// The query that ``init(query:)`` reads back; empty when all is as by default.
    package var query: String {
        var parameters: [(name: String, value: String)] = []
        if let selection { parameters.append(("state", selection.text)) }
        if let lane { parameters.append(("lane", lane.text)) }
        if limit != Limits.pageRowsDefault { parameters.append(("limit", String(limit))) }
        if let cursor { parameters.append(("cursor", cursor)) }
        if let wait { parameters.append(("wait", wait.unitText)) }
        parameters += scope.parameters
        return parameters.map { "\($0.name)=\(PercentCoding.encode($0.value))" }
            .joined(separator: "&")
    }
}

extension Lane {
    /// A lane of a command.
    package init(command text: String) throws(Problem) {
        do throws(ModelError) {
            try self.init(text)
        } catch {
            throw Problem(.badRequest, "lane: \(error.message)")
        }
    }
}
