package import LarderModel

/// What `GET /v1/entries` asks for.
package struct EntryListCommand: Equatable, Sendable {
    /// Only ids that begin with it.
    package var prefix: String?
    package var origin: OriginName?
    package var sort = EntrySort.id
    /// Rows in one page: 1 to ``Limits/pageRowsMax``.
    package var limit = Limits.pageRowsDefault
    /// The `next` of the page before.
    package var cursor: String?
    package var scope = ScopeSelection.own(.default)

    package init() {}

    /// Reads the parameters, and refuses every other.
    package init(query: Substring) throws(Problem) {
        var parameters = try QueryParameters(query)
        prefix = try parameters.take("prefix").flatMap { text throws(Problem) in
            text.isEmpty ? nil : try IDPrefix.checked(text)
        }
        origin = try parameters.takeOrigin()
        sort =
            try parameters.take("sort").map { text throws(Problem) in
                try Self.sort(text)
            } ?? .id
        limit =
            try parameters.take("limit").map { text throws(Problem) in
                try Self.limit(text)
            } ?? Limits.pageRowsDefault
        cursor = parameters.take("cursor")
        scope = try parameters.takeScope()
        try parameters.refuseRest()
    }

    /// The query that ``init(query:)`` reads back; empty when all is as by default.
    package var query: String {
        var parameters: [(name: String, value: String)] = []
        if let prefix { parameters.append(("prefix", prefix)) }
        if let origin { parameters.append(("origin", origin.text)) }
        if sort != .id { parameters.append(("sort", sort.rawValue)) }
        if limit != Limits.pageRowsDefault { parameters.append(("limit", String(limit))) }
        if let cursor { parameters.append(("cursor", cursor)) }
        return PercentCoding.query(parameters + scope.parameters)
    }

    private static func sort(_ text: String) throws(Problem) -> EntrySort {
        guard let sort = EntrySort(rawValue: text) else {
            throw Problem("sort", text, isNoneOf: EntrySort.allCases.map(\.rawValue))
        }
        return sort
    }

    static func limit(_ text: String) throws(Problem) -> Int {
        guard let limit = Int(text), (1...Limits.pageRowsMax).contains(limit) else {
            throw Problem(
                .badRequest,
                "limit: '\(text)' is not a number from 1 to \(Limits.pageRowsMax)"
            )
        }
        return limit
    }
}

/// The order of a list.
package enum EntrySort: String, Sendable, CaseIterable {
    /// By id, bytewise.
    case id
    /// The largest first.
    case size
    /// The longest stored first.
    case age
    /// The least recently used first: the order of eviction.
    case used
}
