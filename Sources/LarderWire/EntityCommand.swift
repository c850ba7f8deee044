package import LarderModel

/// Which form of something is asked for: `show=`.
package enum ShownForm: String, Sendable {
    /// The last thing that the origin said.
    case base
    /// What the client's modifiers make of it.
    case view
}

extension QueryParameters {
    /// `show=`, without which it is the view.
    package mutating func takeForm() throws(Problem) -> ShownForm {
        guard let text = take("show") else { return .view }
        guard let form = ShownForm(rawValue: text) else {
            throw Problem(.badRequest, "show: '\(text)' is neither base nor view")
        }
        return form
    }
}

/// What `GET /v1/entities/{key}` asks for beside the key.
package struct EntityCommand: Equatable, Sendable {
    /// Whose entity it is; nil where only one origin has rules.
    package var origin: OriginName?
    package var form = ShownForm.view
    /// How many references deep the entities in it are shown too, of the others the key stands
    /// there: 0 to ``Limits/entityExpansionMax``.
    package var expansion = 0
    package var account = AccountName.default

    package init() {}

    /// Reads the parameters, and refuses every other.
    package init(query: Substring) throws(Problem) {
        var parameters = try QueryParameters(query)
        origin = try parameters.takeOrigin()
        form = try parameters.takeForm()
        expansion =
            try parameters.take("expand").map { text throws(Problem) in
                try Self.expansion(text)
            } ?? 0
        account = try parameters.takeAccount()
        try parameters.refuseRest()
    }

    /// The query that ``init(query:)`` reads back; empty when all is as by default.
    package var query: String {
        var parameters: [(name: String, value: String)] = []
        if let origin { parameters.append(("origin", origin.text)) }
        if form != .view { parameters.append(("show", form.rawValue)) }
        if expansion != 0 { parameters.append(("expand", String(expansion))) }
        if account != .default { parameters.append(("account", account.text)) }
        return PercentCoding.query(parameters)
    }

    private static func expansion(_ text: String) throws(Problem) -> Int {
        guard let depth = Int(text), (0...Limits.entityExpansionMax).contains(depth) else {
            throw Problem(
                .badRequest,
                "expand: '\(text)' is not a number from 0 to \(Limits.entityExpansionMax)"
            )
        }
        return depth
    }
}
