import LarderModel
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
            throw Problem(.shuttingDown, "the daemon is ending")
        }
        defer { sessions.remove(seat) }
        interest.whenGivenUp { mailbox.post(.hungUp) }
        var session = RawSession(context, board, scope, request, rules, conditions, mailbox)
        return await session.run(reader)
    }

    /// The name says where the URL begins; whose rules count for it is said by the URL, so that it
    /// is the same by whichever route it is asked for.
    private func fetchRequest(
        _ command: RawCommand,
        _ scope: ScopeKey
    ) throws(Problem) -> FetchRequest {
        let named: OriginSettings
        switch context.origins.origin(named: command.origin, for: scope.scope.uid) {
        case .known(let origin), .implicit(let origin): named = origin
        case .unknown:
            throw Problem(
                .unknownOrigin,
                "no origin has the name '\(command.origin)'",
                status: 404,
                hint: "GET /v1/origins names the origins that there are."
            )
        }
        let url = try command.url(under: named.baseURL)
        var fetch = FetchCommand(url: url)
        fetch.account = command.account
        fetch.headers = command.headers
        return FetchRequest(fetch, origin: try context.origin(of: url, in: scope))
    }
}
