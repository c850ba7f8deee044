package import LarderModel
package import LarderStore
package import LarderWire

/// Where the raw routes lead to.
extension Engine {
    /// Where a write goes to, and the name under which it gives its key; refused where it is to be a
    /// modifier neither by its client's wish nor by its origin's rule.
    ///
    /// One that was accepted before goes where it went, whatever has become of its origin.
    package func destination(
        of write: RawWriteCommand,
        _ scope: ScopeKey
    ) async throws(Problem) -> (url: WebURL, keyHeader: String) {
        let named = origin(named: write.place.origin, for: scope)
        let keyHeader = (named?.modifiers ?? ModifierRules()).idempotency.header
        if let url = try await destination(ofRepeated: write, keyHeader, scope) {
            return (url, keyHeader)
        }
        let (url, origin) = try place(write.place, scope)
        guard write.prefersAsync || origin.modifiers.respondsAsync else {
            throw Problem(
                .methodNotAllowed,
                "a \(write.method) is not passed on to the origin, but sent when it can be",
                hint: "Send it with Prefer: respond-async, or send it to the origin itself."
            )
        }
        return (url, origin.modifiers.idempotency.header)
    }

    /// The name says where the URL begins; whose rules count for it is said by the URL, so that it
    /// is the same by whichever route it is asked for.
    func place(
        _ command: RawCommand,
        _ scope: ScopeKey
    ) throws(Problem) -> (WebURL, OriginSettings) {
        guard let named = origin(named: command.origin, for: scope) else {
            throw Problem(
                .unknownOrigin,
                "no origin has the name '\(command.origin)'",
                status: 404,
                hint: "GET /v1/origins names the origins that there are."
            )
        }
        let url = try command.url(under: named.baseURL)
        return (url, try context.origin(of: url, in: scope))
    }

    private func origin(named name: OriginName, for scope: ScopeKey) -> OriginSettings? {
        switch context.origins.origin(named: name, for: scope.scope.uid) {
        case .known(let origin), .implicit(let origin): origin
        case .unknown: nil
        }
    }
}
