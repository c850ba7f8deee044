package import LarderModel

extension ModifierQueue {
    /// An origin has told an account to wait, in answer to a modifier or to any other request.
    ///
    /// After `end` one modifier is tried; its success lets the others go.
    package mutating func originAskedToWait(
        _ name: OriginName,
        for scope: Scope,
        until end: Duration,
        now: Duration
    ) -> [Action] {
        if let account = account(of: scope, at: name) { rest(account, until: end) }
        return timePassed(now: now)
    }

    /// The origin and the account of a modifier; nil if the number is not known here.
    package func account(of number: ModifierNumber) -> (origin: OriginName, scope: Scope)? {
        guard let slot = slots[number] else { return nil }
        let key = accountKeys[nodes[Int(slot)].account]
        return (origins[Int(key.origin)].name, owners[key.owner])
    }

    mutating func rest(_ account: Int32, until end: Duration) {
        if case .paused(let known) = accounts[Int(account)].rest, known >= end { return }
        setRetryAfter(account, .paused(until: end))
    }

    mutating func setRetryAfter(_ account: Int32, _ rest: Rest) {
        accounts[Int(account)].rest = rest
        accountTimers.set(account, rest.end, &accountTimerPositions)
        refreshParty(account)
    }

    mutating func endRest(_ account: Int32) {
        switch accounts[Int(account)].rest {
        case .paused: setRetryAfter(account, .due)
        case .rampingUp: setRetryAfter(account, .open)
        case .open, .due, .halfOpen: setRetryAfter(account, accounts[Int(account)].rest)
        }
    }

    /// An attempt has ended: its answer may have asked for a rest, or it may have been a probe.
    mutating func noteRetryAfter(
        _ slot: Int32,
        _ verdict: ModifierVerdict,
        _ randomUnit: Double,
        _ now: Duration
    ) {
        let node = nodes[Int(slot)]
        if case .notNow(_, let time?, _) = verdict { return rest(node.account, until: now + time) }
        guard case .halfOpen(node.number) = accounts[Int(node.account)].rest else { return }
        switch verdict {
        case .confirmed, .accepted, .refused, .conflict, .authNeeded:
            setRetryAfter(node.account, .rampingUp(until: now + Limits.wakeTimeMax * randomUnit))
        case .notNow, .serverFailed, .unclear, .captive:
            rest(node.account, until: now + Self.pause(after: node.attempts, randomUnit: randomUnit))
        case .neverLeft, .noCredential:
            setRetryAfter(node.account, .due)
        }
    }

    // MARK: After an outage

    /// An attempt at an origin has ended: a success after an outage ends the backoffs there.
    mutating func noteOutage(
        _ origin: Int32,
        _ verdict: ModifierVerdict,
        _ randomUnit: Double,
        _ now: Duration
    ) {
        switch verdict {
        case .confirmed, .accepted, .refused, .conflict, .authNeeded:
            endOutage(origin, randomUnit, now)
        case .noCredential: break
        case .notNow, .serverFailed, .unclear, .captive, .neverLeft:
            origins[Int(origin)].failing = min(origins[Int(origin)].failing + 1, 2)
        }
    }

    /// Ends backoffs within ``Limits/wakeTimeMax``, but none before the origin's Retry-After.
    mutating func endOutage(_ origin: Int32, _ randomUnit: Double, _ now: Duration) {
        defer { origins[Int(origin)].failing = 0 }
        guard origins[Int(origin)].failing >= 2 else { return }
        let wake = now + Limits.wakeTimeMax * randomUnit
        for slot in timers.elements.map(\.slot)
        where nodes[Int(slot)].mayBeWoken && accountKeys[nodes[Int(slot)].account].origin == origin {
            if endPause(of: slot, at: max(wake, nodes[Int(slot)].floor)) {
                nodes[Int(slot)].wokenAfter = nodes[Int(slot)].attempts
            }
        }
    }

    /// Ends the pauses at an origin, also those whose rows are just being written.
    mutating func endPauses(at origin: Int32, isAskedTimeOver: Bool, _ now: Duration) {
        for slot in slots.values where accountKeys[nodes[Int(slot)].account].origin == origin {
            if isAskedTimeOver { nodes[Int(slot)].floor = .zero }
            endPause(of: slot, at: max(now, nodes[Int(slot)].floor))
        }
    }

    /// Moves the end of a pause nearer; false if no pause ends after `next`.
    @discardableResult
    private mutating func endPause(of slot: Int32, at next: Duration) -> Bool {
        let row: Written
        switch nodes[Int(slot)].state {
        case .waiting(let known) where !nodes[Int(slot)].isDue: row = known
        case .changing(let known): row = known
        case .committingSend, .inFlight, .waiting, .answered, .settling: return false
        }
        guard let end = row.pauseEnd, next < end else { return false }
        let sooner = row.state == .unknown ? Written.unknown(until: next) : .retryWait(until: next)
        let isChanging = nodes[Int(slot)].state == .changing(to: row)
        nodes[Int(slot)].state = isChanging ? .changing(to: sooner) : .waiting(sooner)
        refresh(slot)
        return true
    }
}
