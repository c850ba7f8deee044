package import LarderAPI
package import LarderModel

// Values that a command gives as texts, refused by a problem that names the member.

extension Problem {
    package static func checking<Value>(
        _ name: String? = nil,
        _ kind: ProblemKind = .badRequest,
        _ make: () throws(ModelError) -> Value
    ) throws(Problem) -> Value {
        do throws(ModelError) {
            return try make()
        } catch {
            throw Problem(kind, name.map { "\($0): \(error.message)" } ?? error.message)
        }
    }
}

extension EntryID {
    /// The id in a path or a command.
    package init(command text: String, of name: String? = nil) throws(Problem) {
        self = try Problem.checking(name, .badID) { () throws(ModelError) in
            try EntryID(given: text)
        }
    }

    /// The beginning of stored ids.
    package static func prefix(command text: String) throws(Problem) -> String {
        try Problem.checking("prefix") { () throws(ModelError) in
            try EntryID.prefix(given: text)
        }
    }
}

extension OriginName {
    /// The name in a command.
    package init(command text: String) throws(Problem) {
        self = try Problem.checking("origin") { () throws(ModelError) in try OriginName(text) }
    }
}

extension OriginName? {
    /// The name in a command, if it gives one.
    package init(command text: String?) throws(Problem) {
        self = try text.map { text throws(Problem) in try OriginName(command: text) }
    }
}

extension AccountName {
    /// The name in a command; without one the default account.
    package init(command text: String?) throws(Problem) {
        self = try Problem.checking("account") { () throws(ModelError) in
            try text.map { text throws(ModelError) in try AccountName(text) } ?? .default
        }
    }
}

extension Duration {
    /// The duration, if it is within bounds.
    package func checked(
        _ name: String,
        in range: ClosedRange<Duration> = .zero...Limits.fetchTimeMax
    ) throws(Problem) -> Duration {
        guard range.contains(self) else {
            let (least, most) = (range.lowerBound.unitText, range.upperBound.unitText)
            throw Problem(.badRequest, "\(name): '\(unitText)' is not within \(least) to \(most)")
        }
        return self
    }
}

extension PageQuery {
    /// Number of rows in the page.
    package func checkedLimit() throws(Problem) -> Int {
        let rows = limit ?? Limits.pageRowsDefault
        guard (1...Limits.pageRowsMax).contains(rows) else {
            throw Problem(
                .badRequest,
                "limit: '\(rows)' is not a number from 1 to \(Limits.pageRowsMax)"
            )
        }
        return rows
    }
}
