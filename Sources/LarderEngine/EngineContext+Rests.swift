import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

/// Origins that have told an account to wait: what nobody asks for leaves them alone meanwhile.
extension EngineContext {
    /// Heeds what an answer to an account asks for.
    func noteRest(
        of origin: OriginName,
        for scope: Scope,
        _ head: ResponseHead,
        tellsQueue: Bool = true
    ) {
        guard let time = head.rest else { return }
        let now = clock.monotonic()
        guard let end = health.askedForRest(origin, of: scope, for: time, now: now) else { return }
        if tellsQueue { modifiers.post(.originRests(origin, scope, until: end)) }
    }

    /// How long an origin is still to be left alone for what is done on behalf of an account; nil
    /// where it is not.
    func rest(of origin: OriginName, for scope: Scope) -> Duration? {
        let now = clock.monotonic()
        let isShared = hasSharedOrigins && origins[origin]?.settings.scope == .shared
        let ends = [
            health.restEnd(of: origin, for: scope, now: now),
            isShared ? health.restEnd(of: origin, for: .shared, now: now) : nil,
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
        let rests = health.rests(of: origin, now: now)
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
}
