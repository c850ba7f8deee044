import LarderAPI
import LarderModel
import LarderStore
import LarderWire
import NIOHTTP1

extension Exchange {
    /// The parameters of the query; any other is refused.
    func parameters<Query: Decodable>(hint: String? = nil) throws(Problem) -> Query {
        try Self.parameters(query, hint: hint)
    }

    /// `hint` is for a query that has other parameters than it needs.
    static func parameters<Query: Decodable>(
        _ query: Substring,
        hint: String? = nil
    ) throws(Problem) -> Query {
        do throws(APIDecodingError) {
            return try APIDecoder(.strict).decode(query: query)
        } catch {
            var problem = Problem(error)
            switch error {
            case .badEncoding(let name):
                problem.hint = "Encode it: curl -G --data-urlencode \(name)=…"
            case .unknownMember, .repeatedMember, .missingMember:
                problem.hint = hint ?? problem.hint
            case .notJSON, .wrongType, .outOfRange, .unknownValue, .invalid: break
            }
            throw problem
        }
    }

    /// Refuses every parameter.
    func refuseParameters() throws(Problem) {
        guard !query.isEmpty else { return }
        let _: NoParameters = try parameters()
    }

    private struct NoParameters: Decodable {}

    /// The scope of a route that takes no parameter but `account`.
    func scope() throws(Problem) -> ScopeKey {
        let query: AccountQuery = try parameters()
        return try scope(of: query.account)
    }
}

extension Exchange {
    /// The account that a request names: the parameter or member `account`, or `Larder-Account`.
    func account(_ given: String?) throws(Problem) -> String? { try head.account(given) }

    /// The scope of an account of the client.
    func scope(of account: String?) throws(Problem) -> ScopeKey {
        scope(try AccountName(command: self.account(account)))
    }

    /// Whose rows a request is about.
    func selection(_ rows: ScopeQuery) throws(Problem) -> ScopeSelection {
        var rows = rows
        rows.account = try account(rows.account)
        return try ScopeSelection(rows)
    }
}

extension HTTPRequestHead {
    /// The account that a request names; the two ways must not differ.
    func account(_ given: String?) throws(Problem) -> String? {
        guard let field = headers.first(name: "Larder-Account") else { return given }
        guard given == nil || given == field else {
            throw Problem(
                .badRequest,
                "account: it is '\(given ?? "")', and Larder-Account is '\(field)'",
                hint: "Give one of the two."
            )
        }
        return field
    }
}
