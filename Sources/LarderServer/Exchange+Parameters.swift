import LarderAPI
import LarderModel
import LarderStore
import LarderWire

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
        return scope(try AccountName(command: query.account))
    }
}
