import LarderModel
import LarderStore
import LarderStrategy
import LarderUpstream
import LarderWire
import Synchronization

extension EngineContext {
    /// The origin that a client's URL belongs to.
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

    // MARK: Offline and back

    /// Whether waiting for it is likely to be in vain.
    func isDown(_ name: OriginName) -> Bool {
        isOfflineByHand(name) || health[name]?.isDown ?? false
    }

    func isOfflineByHand(_ name: OriginName) -> Bool {
        offline.withLock { $0.contains(name) }
    }

    /// Has `tell` called each time an origin is back from being down or offline, until the
    /// interest ends; meanwhile it is probed while it is down.
    ///
    /// It is called on any thread and must be quick.
    func waitForReturn(
        of name: OriginName,
        as scope: Scope,
        _ tell: @escaping @Sendable () -> Void
    ) -> OriginInterest {
        let (number, action) = watch.wait(for: name, as: scope, tell)
        begin(action, for: name)
        return OriginInterest { [watch] in watch.leave(name, number) }
    }

    /// An origin's condition has changed.
    func changed(_ name: OriginName) {
        let (told, action) = watch.changed(name) {
            OriginWatch.Condition(
                isDown: health[name]?.isDown ?? false,
                isOfflineByHand: isOfflineByHand(name)
            )
        }
        begin(action, for: name)
        watchers.originChanged(name) {
            let state = isOfflineByHand(name) ? .offline : health[name]?.state ?? .unknown
            return state.rawValue
        }
        for tell in told { tell() }
    }

    private func begin(_ action: ProbeMachine.StartAction, for name: OriginName) {
        guard case .pause(let ceiling) = action else { return }
        // Refused only when the engine ends, and the machine with it.
        _ = work.add { await self.probe(name, afterUpTo: ceiling) }
    }

    /// Sleeps and asks as the machine says.
    private func probe(_ name: OriginName, afterUpTo first: Duration) async {
        var pause = ProbeMachine.pause(upTo: first, chance: chance())
        while true {
            guard (try? await clock.sleep(for: pause)) != nil else { return }
            switch watch.pauseEnded(name, rest: { rest(of: name, for: $0) }) {
            case .stop: return
            case .rest(let rest):
                pause = rest
                continue
            case .ask: break
            }
            await probe(name)
            guard !Task.isCancelled, case .pause(let next) = watch.probeEnded(name) else { return }
            pause = ProbeMachine.pause(upTo: next, chance: chance())
        }
    }

    /// Asks once whether an origin is back, and notes what that tells.
    private func probe(_ name: OriginName) async {
        guard let origin = origins[name]?.settings ?? health.implicitOrigin(name) else { return }
        let request = UpstreamRequest(
            origin: origin,
            url: origin.baseURL,
            timeout: min(origin.fetch.timeout, Limits.silenceTime)
        )
        do throws(UpstreamError) {
            let reply = try await upstream.ask(request)
            noteProbe(of: origin, reply.status, reply.headers)
        } catch {
            noteFailure(of: name, error)
        }
    }

    /// Notes an answer to what was asked for no client; false when it was not the origin's.
    @discardableResult
    func noteProbe(of origin: OriginSettings, _ status: Int, _ headers: HeaderFields) -> Bool {
        let rules = FlightRules(
            url: origin.baseURL,
            cachedIsJSON: false,
            accept: nil,
            redirectHosts: origin.redirectHosts
        )
        let head = ResponseHead(status: status, headers: headers, now: clock.now())
        let wasCaptive = health[origin.name]?.state == .captive
        guard rules.isOwn(head, wasCaptive: wasCaptive) else {
            notePortal(origin.name)
            return false
        }
        noteProbeAnswer(origin.name)
        return true
    }

    /// The origin has said what an entry is now; nil: that it is not there.
    func noteRead(of id: EntryID, in scope: ScopeKey, _ body: BodySummary?) {
        guard (store.queueTotals.byState[.accepted] ?? 0) > 0 else { return }
        for place in [scope] + store.copies(of: id, in: scope) where store.isTargeted(place, id) {
            modifiers.post(.targetRead(id, place, body))
        }
    }

    /// Notes what a failure tells of an origin.
    func noteFailure(of name: OriginName, _ error: UpstreamError) {
        switch error {
        case .unreachable, .closed(host: _, hasLeft: false): noteConnectFailure(name)
        case .timedOut: noteSilence(name)
        case .closed, .addressRefused, .brokenOff, .headTooLarge, .cancelled: break
        }
    }
}
