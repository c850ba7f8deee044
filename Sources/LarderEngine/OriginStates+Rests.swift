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
        let end = context.health.change(origin) {
            $0.askedForRest(of: scope, for: time, now: now)
        }
        guard let end else { return }
        if tellsQueue { context.modifiers.post(.originRests(origin, scope, until: end)) }
    }

    /// Until when, on the monotonic clock, an origin is to be left alone for what is done on behalf
    /// of an account; nil where it is not.
    func restEnd(of origin: OriginName, for scope: Scope) -> Duration? {
        let now = clock.monotonic()
        let isShared =
            context.hasSharedOrigins && context.origins[origin]?.settings.scope == .shared
        let health = context.health[origin]
        let ends = [
            health?.restEnd(of: scope, now: now),
            isShared ? health?.restEnd(of: .shared, now: now) : nil,
        ]
        return ends.compactMap { $0 }.max()
    }

    /// How long an origin is still to be left alone for what is done on behalf of an account.
    func rest(of origin: OriginName, for scope: Scope) -> Duration {
        restEnd(of: origin, for: scope).map { max(.zero, $0 - clock.monotonic()) } ?? .zero
    }

    /// How an origin is, as `asker` may know it, or else an administrator.
    ///
    /// Whose accounts are others' hears that it is left alone and not by whom, and that only where
    /// none of their own has to wait.
    func condition(of name: OriginName, toldTo asker: StatusReport.You?) -> OriginCondition {
        let health = context.health[name] ?? OriginHealth(now: clock.now())
        let (isOffline, now) = (isOfflineByHand(name), clock.monotonic())
        var condition = OriginCondition(
            state: isOffline ? .offline : health.state,
            since: health.state == .unknown && !isOffline ? nil : health.since,
            isOfflineByHand: isOffline
        )
        let rests = health.rests.filter { $0.value > now }
        let known = rests.filter { rest in
            guard let asker, !asker.isAdministrator, let uid = rest.key.uid else { return true }
            return uid == asker.uid
        }
        if let last = (known.isEmpty ? rests : known).max(by: { $0.value < $1.value }) {
            condition.restsUntil = clock.now().advanced(by: last.value - now)
            condition.restsFor = known.isEmpty ? nil : last.key
        }
        return condition
    }
}
