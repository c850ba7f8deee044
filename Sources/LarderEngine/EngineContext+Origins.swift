import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire
import Synchronization

extension EngineContext {
    func origin(of url: WebURL, in scope: ScopeKey) throws(Problem) -> OriginSettings {
        guard let origin = admitted(origins.decide(url, for: scope.scope.uid)) else {
            throw Problem(unknownOriginOf: url)
        }
        return origin
    }

    /// The origin with a name; a public host's to the daemon's owner only.
    func origin(named name: OriginName, for uid: UInt32?) throws(Problem) -> OriginSettings {
        guard let origin = admitted(origins.origin(named: name, for: uid)) else {
            throw Problem(.noSuchOrigin, "there is no origin '\(name)'")
        }
        return origin
    }

    /// What a decision comes to; a public host that is asked for is remembered.
    private func admitted(_ decision: OriginTable.Decision) -> OriginSettings? {
        if case .implicit(let origin) = decision,
            let forgotten = health.admit(origin, now: clock.now())
        {
            forget(forgotten)
        }
        return decision.settings
    }

    func forget(_ name: OriginName) {
        watch.forget(name)
        watchers.originForgotten(name)
    }

    /// The origin has said what an entry is now; nil: that it is not there.
    func noteRead(of id: EntryID, in scope: ScopeKey, _ body: BodySummary?) {
        guard (store.modifiers.totals.byState[.accepted] ?? 0) > 0 else { return }
        if store.modifiers.isTarget(scope, id) { modifiers.post(.targetRead(id, scope, body)) }
    }
}

extension OriginSettings {
    /// Refuses a client's credential in a field that the origin's configuration sets: only one of
    /// the two can be sent.
    func refuseConfigured(_ headers: HeaderFields) throws(Problem) {
        let field = headers.fields.first { field in
            HeaderFields.holdsSecret(field.name) && self.headers[field.name] != nil
        }
        guard let field else { return }
        throw Problem(
            .badRequest,
            "headers: the origin '\(name)' is configured with a '\(field.name)' of its own",
            hint: "Leave the header out, or use an origin without it."
        )
    }
}

extension EngineContext {
    /// Asks the upstream, and notes it when the origin has said nothing for ``Limits/silenceTime``
    /// since the request left; the request goes on.
    ///
    /// The time for which it waits for one of our own connections is not the origin's.
    func ask(
        _ request: UpstreamRequest,
        onSent: @escaping @Sendable () -> Void = {}
    ) async throws(UpstreamError) -> UpstreamReply {
        let (departures, departure) = AsyncStream<Void>.makeStream()
        // Cancelled as this returns.
        async let _: Void = noteSilence(of: request.origin.name, after: departures)
        return try await upstream.ask(request) {
            onSent()
            departure.finish()
        }
    }

    private func noteSilence(of name: OriginName, after departures: AsyncStream<Void>) async {
        for await _ in departures { break }
        guard (try? await clock.sleep(for: Limits.silenceTime)) != nil else { return }
        originStates.noteSilence(name)
    }
}
