import LarderJSON
package import LarderModel

/// The parameters of a query, each of which must be taken by name.
///
/// They are read as a form is (`application/x-www-form-urlencoded`), `+` as a space, so that what
/// `curl --data-urlencode` writes comes out again. A route takes what it knows, then calls
/// ``refuseRest(hint:)``.
package struct QueryParameters: Sendable {
    private var parameters: [(name: String, value: String)] = []
    private var taken: [String] = []

    /// Reads what stands after the `?`; it refuses bad encoding.
    package init(_ query: Substring) throws(Problem) {
        for piece in query.split(separator: "&") {
            let name = piece.prefix { $0 != "=" }
            guard let decoded = Self.decoded(name),
                let value = Self.decoded(piece.dropFirst(name.count + 1))
            else {
                throw Problem(
                    .badRequest,
                    "the query parameter '\(name)' is not percent-encoded UTF-8",
                    hint: "Encode it: curl -G --data-urlencode \(name)=…"
                )
            }
            parameters.append((decoded, value))
        }
    }

    private static func decoded(_ text: Substring) -> String? {
        PercentCoding.decoded(text.utf8.lazy.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 })
    }

    /// The value of a parameter, which counts as known from now on; nil where it is not given.
    package mutating func take(_ name: String) -> String? {
        taken.append(name)
        guard let index = parameters.firstIndex(where: { $0.name.hasSameBytes(as: name) }) else {
            return nil
        }
        return parameters.remove(at: index).value
    }

    /// Every value of a parameter that may be repeated.
    mutating func takeAll(_ name: String) -> [String] {
        taken.append(name)
        let values = parameters.filter { $0.name.hasSameBytes(as: name) }.map(\.value)
        parameters.removeAll { $0.name.hasSameBytes(as: name) }
        return values
    }

    /// A duration of at most ``Limits/fetchTimeMax``, as a client is willing to wait.
    package mutating func takeWait(_ name: String) throws(Problem) -> Duration? {
        guard let text = take(name) else { return nil }
        do throws(ModelError) {
            let wait = try Duration(unit: text)
            guard wait <= Limits.fetchTimeMax else { throw .badDuration(text) }
            return wait
        } catch {
            throw Problem(
                .badRequest,
                "\(name): '\(text)' is no duration of at most \(Limits.fetchTimeMax.unitText)"
            )
        }
    }

    /// Refuses the first parameter that nobody took, or that came a second time.
    package func refuseRest(hint: String? = nil) throws(Problem) {
        guard let first = parameters.first else { return }
        guard !taken.contains(where: { $0.hasSameBytes(as: first.name) }) else {
            throw Problem(
                .badRequest,
                "the query parameter '\(first.name)' is given twice",
                hint: hint
            )
        }
        let advice = nearestNameAdvice(on: first.name, among: taken.sorted())
        throw Problem(
            .unknownParameter,
            "unknown query parameter '\(first.name)', \(advice)",
            hint: hint
        )
    }

    /// `true` or `false`; nil where it is not given.
    package mutating func takeBool(_ name: String) throws(Problem) -> Bool? {
        guard let text = take(name) else { return nil }
        guard let bool = Bool(text) else {
            throw Problem(.badRequest, "\(name): '\(text)' is neither true nor false")
        }
        return bool
    }

    /// `account=`, which every route that touches rows takes.
    package mutating func takeAccount() throws(Problem) -> AccountName {
        try takeAccountIfGiven() ?? .default
    }

    mutating func takeAccountIfGiven() throws(Problem) -> AccountName? {
        guard let text = take("account") else { return nil }
        do throws(ModelError) {
            return try AccountName(text)
        } catch {
            throw Problem(.badRequest, "account: \(error.message)")
        }
    }
}
