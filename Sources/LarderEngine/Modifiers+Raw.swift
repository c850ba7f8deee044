package import LarderModel
package import LarderStore
package import LarderWire

/// Writes on the raw routes.
extension Modifiers {
    /// Where a write goes to, and the name under which it gives its key; refused where it is to be a
    /// modifier neither by its client's wish nor by its origin's rule.
    ///
    /// One that was accepted before goes where it went, whatever has become of its origin.
    package func destination(
        of write: RawWriteCommand,
        _ scope: ScopeKey
    ) async throws(Problem) -> (url: WebURL, keyHeader: String) {
        let named = context.origins.origin(named: write.place.origin, for: scope.scope.uid)
            .settings
        let keyHeader = (named?.modifiers ?? ModifierRules()).idempotency.header
        if let url = try await destination(ofRepeated: write, keyHeader, scope) {
            return (url, keyHeader)
        }
        let (url, origin) = try write.place.place(context, scope)
        guard write.prefersAsync || origin.modifiers.respondsAsync else {
            throw Problem(
                .methodNotAllowed,
                "a \(write.method) is not passed on to the origin, but sent when it can be",
                hint: "Send it with Prefer: respond-async, or send it to the origin itself."
            )
        }
        return (url, origin.modifiers.idempotency.header)
    }
}

extension RawCommand {
    /// The name says where the URL begins; whose rules count for it is said by the URL, so that it
    /// is the same by whichever route it is asked for.
    func place(
        _ context: EngineContext,
        _ scope: ScopeKey
    ) throws(Problem) -> (WebURL, OriginSettings) {
        guard
            let named = context.origins.origin(named: origin, for: scope.scope.uid)
                .settings
        else {
            throw Problem(
                .unknownOrigin,
                "no origin has the name '\(origin)'",
                status: 404,
                hint: "GET /v1/origins names the origins that there are."
            )
        }
        let url = try url(under: named.baseURL)
        return (url, try context.origin(of: url, in: scope))
    }
}
