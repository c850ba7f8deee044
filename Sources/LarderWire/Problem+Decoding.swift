package import LarderAPI

extension Problem {
    /// A body or a query that is not what its route takes.
    package init(_ error: APIDecodingError) {
        let kind: ProblemKind =
            switch error {
            case .unknownMember(_, in: _, known: _, .json): .unknownMember
            case .unknownMember(_, in: _, known: _, .query): .unknownParameter
            case _: .badRequest
            }
        self.init(kind, error.message)
    }
}
