package import LarderModel

/// What `GET /v1/pins` asks for.
package struct PinListCommand: Equatable, Sendable {
    /// Pins in one page: 1 to ``Limits/pageRowsMax``.
    package var limit = Limits.pageRowsDefault
    /// The `next` of the page before.
    package var cursor: String?
    package var account = AccountName.default

    package init() {}

    /// Reads the parameters, and refuses every other.
    package init(query: Substring) throws(Problem) {
        var parameters = try QueryParameters(query)
        limit =
            try parameters.take("limit").map { text throws(Problem) in
                try EntryListCommand.limit(text)
            } ?? Limits.pageRowsDefault
        cursor = parameters.take("cursor")
        account = try parameters.takeAccount()
        try parameters.refuseRest()
    }

    /// The query that ``init(query:)`` reads back; empty when all is as by default.
    package var query: String {
        var parameters: [(name: String, value: String)] = []
        if limit != Limits.pageRowsDefault { parameters.append(("limit", String(limit))) }
        if let cursor { parameters.append(("cursor", cursor)) }
        if account != .default { parameters.append(("account", account.text)) }
        return parameters.map { "\($0.name)=\(PercentCoding.encode($0.value))" }
            .joined(separator: "&")
    }
}
