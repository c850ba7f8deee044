package import LarderModel

/// What `GET /v1/entities` asks for.
package struct EntityListCommand: Equatable, Sendable {
    /// Whose entities; nil where only one origin has rules.
    package var origin: OriginName?
    /// Only those of this type.
    package var type: String?
    /// Rows in one page: 1 to ``Limits/pageRowsMax``.
    package var limit = Limits.pageRowsDefault
    /// The `next` of the page before.
    package var cursor: String?
    package var scope = ScopeSelection.own(.default)

    package init() {}

    /// Reads the parameters, and refuses every other.
    package init(query: Substring) throws(Problem) {
        var parameters = try QueryParameters(query)
        origin = try parameters.takeOrigin()
        type = try parameters.take("type").map { text throws(Problem) in try Self.type(text) }
        limit =
            try parameters.take("limit").map { text throws(Problem) in
                try EntryListCommand.limit(text)
            } ?? Limits.pageRowsDefault
        cursor = parameters.take("cursor")
        scope = try parameters.takeScope()
        try parameters.refuseRest()
    }

    /// The query that ``init(query:)`` reads back; empty when all is as by default.
    package var query: String {
        var parameters: [(name: String, value: String)] = []
        if let origin { parameters.append(("origin", origin.text)) }
        if let type { parameters.append(("type", type)) }
        if limit != Limits.pageRowsDefault { parameters.append(("limit", String(limit))) }
        if let cursor { parameters.append(("cursor", cursor)) }
        return PercentCoding.query(parameters + scope.parameters)
    }

    /// A text that keys can begin with.
    private static func type(_ text: String) throws(Problem) -> String {
        guard EntityKey(type: text, id: "1") != nil else {
            throw Problem(
                .badRequest,
                "type: it is empty, or longer than \(Limits.entityKeyBytesMax) bytes"
            )
        }
        return text
    }
}
