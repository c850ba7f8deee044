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
        if case .notNow(_, let time?, _) = verdict {
            // Each write would be refused for the rate of all, and spend its attempts.
            let pause = time > .zero ? time : Self.pause(after: 1, randomUnit: randomUnit)
            return rest(node.account, until: now + pause)
        }
        guard case .halfOpen(node.number) = accounts[Int(node.account)].rest else { return }
        switch verdict {
        case .confirmed, .accepted, .refused, .conflict, .authNeeded:
            setRetryAfter(node.account, .rampingUp(until: now + Limits.wakeTimeMax * randomUnit))
        case .notNow, .serverFailed, .unclear, .captive:
            rest(
                node.account,
                until: now + Self.pause(after: node.attempts, randomUnit: randomUnit)
            )
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
        where nodes[Int(slot)].mayBeWoken && accountKeys[nodes[Int(slot)].account].origin == origin
        {
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

extension ModifierQueue {
    /// The account has another credential at the origin, or an operator says that its credential is
    /// good.
    ///
    /// Without a scope this holds for every account at the origin. One modifier is sent first; its
    /// success releases the others.
    package mutating func credentialChanged(
        at name: OriginName,
        of scope: Scope?,
        now: Duration
    ) -> [Action] {
        var actions: [Action] = []
        if let scope {
            if let account = account(of: scope, at: name) { accept(account, &actions) }
        } else if let origin = originSlots[name] {
            for account in accountKeys.inUse where accountKeys[account].origin == origin {
                accept(account, &actions)
            }
        }
        return finish(actions, now)
    }

    /// Has an account try its credential, which is another one unless a person wants a retry.
    mutating func accept(_ account: Int32, isOther: Bool = true, _ actions: inout [Action]) {
        // Answers to attempts that are under way tell of the credential before.
        if isOther { accounts[Int(account)].credential &+= 1 }
        let refused = accounts[Int(account)].refused
        guard accounts[Int(account)].access != .open || !refused.isEmpty else { return }
        accounts[Int(account)].refused = []
        setAccess(account, .doubt(refusals: 0, probe: nil))
        for number in refused.sorted() {
            guard let slot = slots[number], nodes[Int(slot)].state == .waiting(.authWait)
            else { continue }
            change(slot, to: .queued, &actions)
        }
    }

    mutating func setAccess(_ account: Int32, _ access: Access) {
        accounts[Int(account)].access = access
        refreshParty(account)
    }

    /// A send step begins: in doubt, the account's other modifiers wait for its end.
    mutating func noteTrial(of account: Int32, _ number: ModifierNumber) {
        guard case .doubt(let refusals, nil) = accounts[Int(account)].access else { return }
        setAccess(account, .doubt(refusals: refusals, probe: number))
    }

    mutating func endProbe(of account: Int32, _ number: ModifierNumber) {
        guard case .doubt(let refusals, number) = accounts[Int(account)].access else { return }
        setAccess(account, .doubt(refusals: refusals, probe: nil))
    }

    /// An attempt has ended; true if the account's present credential was refused or is missing.
    mutating func noteAccess(
        _ slot: Int32,
        _ verdict: ModifierVerdict,
        isOutdated: Bool
    ) -> Bool {
        let node = nodes[Int(slot)]
        endProbe(of: node.account, node.number)
        guard !isOutdated, node.sentUnder == accounts[Int(node.account)].credential else {
            return false
        }
        switch (verdict, accounts[Int(node.account)].access) {
        case (.noCredential, _):
            // No answer: it says nothing of the credential that others are sent with.
            accounts[Int(node.account)].refused.insert(node.number)
            return true
        case (.authNeeded, let access):
            accounts[Int(node.account)].refused.insert(node.number)
            switch access {
            case .open: setAccess(node.account, .doubt(refusals: 1, probe: nil))
            case .doubt(let refusals, let probe):
                let count = min(refusals + 1, Limits.credentialRefusalsMax)
                setAccess(node.account, .doubt(refusals: count, probe: probe))
            }
            return true
        case (.confirmed, .doubt), (.accepted, .doubt):
            setAccess(node.account, .open)
        case (.refused, .doubt(_, let probe)), (.conflict, .doubt(_, let probe)):
            // Not an answer to the credential, nor a proof of it.
            setAccess(node.account, .doubt(refusals: 0, probe: probe))
        case (.confirmed, .open), (.accepted, .open), (.refused, .open),
            (.conflict, .open), (.notNow, _),
            (.serverFailed, _), (.unclear, _), (.captive, _), (.neverLeft, _):
            break
        }
        return false
    }

    /// Forgets a refusal with its modifier.
    ///
    /// After the last one no modifier is left to retry, so the next one shows whether the origin
    /// still refuses.
    mutating func forgetRefusal(of number: ModifierNumber, _ account: Int32) {
        guard accounts[Int(account)].refused.remove(number) != nil,
            accounts[Int(account)].refused.isEmpty,
            case .doubt(_, let probe) = accounts[Int(account)].access
        else { return }
        setAccess(account, .doubt(refusals: 0, probe: probe))
    }
}
