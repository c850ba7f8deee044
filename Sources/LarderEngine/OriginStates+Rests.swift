import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// Origins that have told an account to wait: what nobody asks for leaves them alone meanwhile.
extension OriginStates {
    /// Heeds what an answer to an account asks for.
    func noteRest(
        of origin: OriginName,
        for scope: Scope,
        _ head: ResponseHead,
        tellsQueue: Bool = true
    ) {
        guard let time = head.rest else { return }
        let now = clock.monotonic()
        guard let end = context.health.askedForRest(origin, of: scope, for: time, now: now) else {
            return
        }
        if tellsQueue { context.modifiers.post(.originRests(origin, scope, until: end)) }
    }

    /// How long an origin is still to be left alone for what is done on behalf of an account; nil
    /// where it is not.
    func rest(of origin: OriginName, for scope: Scope) -> Duration? {
        let now = clock.monotonic()
        let isShared =
            context.hasSharedOrigins && context.origins[origin]?.settings.scope == .shared
        let ends = [
            context.health.restEnd(of: origin, for: scope, now: now),
            isShared ? context.health.restEnd(of: origin, for: .shared, now: now) : nil,
        ]
        return ends.compactMap { $0 }.max().map { $0 - now }
    }

    /// Until when an origin is left alone for some account, and for which; nil where it is for none.
    ///
    /// Whose accounts are others' hears that there is one and not which, and of it only where none
    /// of their own has to wait.
    func lastRest(
        of origin: OriginName,
        toldTo asker: StatusReport.You?
    ) -> (until: Timestamp, scope: Scope?)? {
        let now = clock.monotonic()
        let rests = context.health.rests(of: origin, now: now)
        let known = rests.filter { rest in
            guard let asker, !asker.isAdministrator, let uid = rest.key.uid else { return true }
            return uid == asker.uid
        }
        guard let last = (known.isEmpty ? rests : known).max(by: { $0.value < $1.value }) else {
            return nil
        }
        let until = clock.now().advanced(by: last.value - now)
        return (until, known.isEmpty ? nil : last.key)
    }

    /// What is known of an origin, and since when.
    func condition(
        of name: OriginName
    ) -> (state: StatusReport.OriginState, since: Timestamp?) {
        let health = context.health[name] ?? OriginHealth(now: clock.now())
        let isOffline = isOfflineByHand(name)
        let since = health.state == .unknown && !isOffline ? nil : health.since
        return (isOffline ? .offline : StatusReport.OriginState(health.state), since)
    }
}

extension StatusReport.OriginState {
    fileprivate init(_ state: OriginHealth.State) {
        switch state {
        case .unknown: self = .unknown
        case .online: self = .online
        case .offline: self = .offline
        case .captive: self = .captive
        }
    }
}
