package import LarderModel
package import LarderStore
import LarderStrategy
package import LarderWire

/// The raw routes: an origin's answer as one body.
extension Engine {
    /// Answers one request; nil when its client has hung up, which `interest` tells.
    package func raw(
        _ command: RawCommand,
        scope: ScopeKey,
        reader: StoreReader,
        interest: Interest
    ) async throws(Problem) -> RawReply? {
        let request = try fetchRequest(command, scope)
        let rules = RawRules(request.origin.fetch.policy, control: command.cacheControl)
        let conditions = RawConditions(
            ifNoneMatch: command.ifNoneMatch,
            ifModifiedSince: command.ifModifiedSince
        )
        let mailbox = Mailbox<RawSession.Event>()
        guard let seat = sessions.add({ mailbox.post(.drainBegan) }) else {
            throw .daemonEnds
        }
        defer { sessions.remove(seat) }
        interest.whenGivenUp { mailbox.post(.hungUp) }
        var session = RawSession(context, board, scope, request, rules, conditions, mailbox)
        return await session.run(reader)
    }

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

    private func fetchRequest(
        _ command: RawCommand,
        _ scope: ScopeKey
    ) throws(Problem) -> FetchRequest {
        let (url, origin) = try place(command, scope)
        var fetch = FetchCommand(url: url)
        fetch.account = command.account
        fetch.headers = command.headers
        return FetchRequest(fetch, origin: origin)
    }

    /// The name says where the URL begins; whose rules count for it is said by the URL, so that it
    /// is the same by whichever route it is asked for.
    private func place(
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
