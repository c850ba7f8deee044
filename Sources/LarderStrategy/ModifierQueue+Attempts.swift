package import LarderModel

extension ModifierQueue {
    /// The send step is committed: bytes may leave from now on.
    ///
    /// `joined` are those whose changes the request makes, too. `resends`: the request is sent again
    /// after no clear answer; nil as before. `isConditional`: the request has an If-Match, so that it
    /// cannot be applied twice.
    package mutating func sendCommitted(
        _ number: ModifierNumber,
        joined numbers: [ModifierNumber] = [],
        resends: Bool? = nil,
        isConditional: Bool = false,
        now: Duration
    ) -> [Action] {
        guard let slot = slots[number],
            case .committingSend(let wasUnknown) = nodes[Int(slot)].state
        else { return [] }
        noteApplied(to: slot, except: numbers)
        part(number)
        join(numbers, to: number)
        nodes[Int(slot)].state = .inFlight(wasUnknown: wasUnknown)
        nodes[Int(slot)].attempts = nodes[Int(slot)].attempts.incremented
        nodes[Int(slot)].hadLeft = nodes[Int(slot)].mayHaveLeft
        nodes[Int(slot)].mayHaveLeft = true
        nodes[Int(slot)].isConditional = isConditional
        if let resends { nodes[Int(slot)].resends = resends }
        let origin = accountKeys[nodes[Int(slot)].account].origin
        nodes[Int(slot)].sentWith = origins[Int(origin)].settings
        nodes[Int(slot)].sentUnder = accounts[Int(nodes[Int(slot)].account)].credential
        refresh(slot)
        return finish([.send(number)], now)
    }

    /// The send step could not be committed, for example because the disk is full.
    ///
    /// Nothing has changed, and the modifier is tried again after a pause. If it was the probe of
    /// an origin that is down, another modifier becomes the probe.
    package mutating func sendNotCommitted(
        _ number: ModifierNumber,
        randomUnit: Double,
        now: Duration
    ) -> [Action] {
        guard let slot = slots[number],
            case .committingSend(let wasUnknown) = nodes[Int(slot)].state
        else { return [] }
        let end = now + Limits.modifierRetryBase * (0.5 + 0.5 * randomUnit)
        let row = wasUnknown ? Written.unknown(until: end) : .retryWait(until: end)
        nodes[Int(slot)].state = .waiting(row)
        nodes[Int(slot)].isDue = false
        if !nodes[Int(slot)].mayHaveLeft { part(number) }
        probeLeft(slot, rest: .paused(until: end), now)
        refresh(slot)
        restoreOrder(slot)
        return timePassed(now: now)
    }

    /// Before the send step, another device's change of a target was found: nothing is sent.
    package mutating func sendConflicted(
        _ number: ModifierNumber,
        _ step: ConflictRules.Step,
        now: Duration
    ) -> [Action] {
        guard let slot = slots[number], case .committingSend = nodes[Int(slot)].state else {
            return []
        }
        var actions: [Action] = []
        probeLeft(slot, rest: .due, now)
        conflict(slot, step, &actions)
        return finish(actions, now)
    }

    /// Notes that the requests of a group made the changes of those that leave it, too (case 18).
    private mutating func noteApplied(to first: Int32, except staying: [ModifierNumber]) {
        guard nodes[Int(first)].isPerhapsApplied else { return }
        for number in joined[nodes[Int(first)].number] ?? [] where !staying.contains(number) {
            guard let slot = slots[number] else { continue }
            nodes[Int(slot)].isPerhapsApplied = true
        }
    }

    private mutating func conflict(
        _ slot: Int32,
        _ step: ConflictRules.Step,
        _ actions: inout [Action]
    ) {
        noteApplied(to: slot, except: [])
        part(nodes[Int(slot)].number)
        switch step {
        case .look, .wait: change(slot, to: .conflict, &actions)
        case .fail: settle(slot, .failed(.conflict), &actions)
        case .again where nodes[Int(slot)].attempts >= nodes[Int(slot)].attemptsMax:
            settle(slot, .failed(.attempts), &actions)
        case .again: change(slot, to: .queued, round: .next, &actions)
        }
    }

    /// The targets were to be read before the send step, and the credential was refused, the origin
    /// was not reached, or it put the read off, which then counts as an attempt.
    ///
    /// The parameters are those of ``attemptEnded(_:_:rules:randomUnit:now:)``.
    package mutating func readFailed(
        _ number: ModifierNumber,
        _ verdict: ModifierVerdict,
        rules: ModifierRules,
        randomUnit: Double,
        now: Duration
    ) -> [Action] {
        guard let slot = slots[number], case .committingSend = nodes[Int(slot)].state else {
            return []
        }
        let credential = nodes[Int(slot)].sentUnder
        let group = joined[number] ?? []
        let others = sendCommitted(number, joined: group, now: now).filter { $0 != .send(number) }
        nodes[Int(slot)].sentUnder = credential
        nodes[Int(slot)].mayHaveLeft = nodes[Int(slot)].hadLeft
        return others
            + attemptEnded(number, verdict, rules: rules, randomUnit: randomUnit, now: now)
    }

    /// Ends a send step after which nothing is sent: if it was a probe, another modifier is tried.
    mutating func probeLeft(_ slot: Int32, rest: Rest, _ now: Duration) {
        let (origin, number) = (attemptLeft(slot), nodes[Int(slot)].number)
        if case .halfOpen(let outage, number) = origins[Int(origin)].availability {
            set(origin, .down(outage, probe: now))
        }
        let account = nodes[Int(slot)].account
        if case .halfOpen(number) = accounts[Int(account)].rest { setRetryAfter(account, rest) }
        endProbe(of: account, number)
    }

    /// An attempt has ended.
    ///
    /// The rules are the origin's; `randomUnit` in 0..<1 is a random number for full jitter.
    package mutating func attemptEnded(
        _ number: ModifierNumber,
        _ verdict: ModifierVerdict,
        rules: ModifierRules,
        randomUnit: Double,
        now: Duration
    ) -> [Action] {
        guard let slot = slots[number], case .inFlight(let wasUnknown) = nodes[Int(slot)].state
        else { return [] }
        var actions: [Action] = []
        let origin = attemptLeft(slot)
        let isOutdated = nodes[Int(slot)].sentWith != origins[Int(origin)].settings
        let verdict = isOutdated ? verdict.underOtherSettings : verdict
        if verdict.isPerhapsApplied { nodes[Int(slot)].isPerhapsApplied = true }
        noteAvailability(of: origin, verdict, probe: number, randomUnit, now)
        noteOutage(origin, verdict, randomUnit, now)
        noteRetryAfter(slot, verdict, randomUnit, now)
        let isRefused = noteAccess(slot, verdict, isOutdated: isOutdated)
        switch verdict {
        case .confirmed:
            settle(slot, .confirmed, &actions)
        case .accepted:
            acceptJoined(number, until: now + rules.acceptedLimit)
            change(slot, to: .accepted(until: now + rules.acceptedLimit), &actions)
        case .refused:
            settle(slot, .failed(.refused), &actions)
        case .conflict(let step):
            conflict(slot, step, &actions)
        case .notNow(let retryAfter, _, _):
            notApplied(slot, retryAfter, rules, randomUnit, now, &actions)
        case .authNeeded, .noCredential:
            nodes[Int(slot)].attempts -= 1
            if verdict == .noCredential { nodes[Int(slot)].mayHaveLeft = nodes[Int(slot)].hadLeft }
            change(slot, to: isRefused ? .authWait : .queued, &actions)
        case .serverFailed(let retryAfter):
            // A write is sent again, but only a limited number of times if a repetition may apply
            // it twice. Then a person decides, as it may have been applied.
            let node = nodes[Int(slot)]
            let isLast =
                node.answersNotApplied + 1 >= Limits.serverFailuresMax
                || node.attempts >= node.attemptsMax
            if node.holds || !node.isRepeatable && isLast {
                nodes[Int(slot)].answersNotApplied = node.answersNotApplied.incremented
                change(slot, to: .unknown(until: nil), &actions)
            } else {
                notApplied(slot, retryAfter, rules, randomUnit, now, &actions)
            }
        case .unclear(let reason):
            let node = nodes[Int(slot)]
            if reason == .refusedRepeat || !node.isRepeatable {
                change(slot, to: .unknown(until: nil), &actions)
            } else if node.attempts >= node.attemptsMax {
                settle(slot, .failed(.attempts), &actions)
            } else {
                nodes[Int(slot)].floor = .zero
                let pause = Self.pause(after: node.attempts, randomUnit: randomUnit)
                change(slot, to: .unknown(until: now + pause), &actions)
            }
        case .neverLeft, .captive:
            // A portal applies no write (case 25).
            nodes[Int(slot)].attempts -= 1
            nodes[Int(slot)].mayHaveLeft = nodes[Int(slot)].hadLeft
            // A modifier that an earlier attempt left `unknown` stays `unknown`.
            change(slot, to: wasUnknown ? .unknown(until: now) : .queued, &actions)
        }
        if !nodes[Int(slot)].mayHaveLeft { part(number) }
        return finish(actions, now)
    }

    private mutating func notApplied(
        _ slot: Int32,
        _ retryAfter: Duration?,
        _ rules: ModifierRules,
        _ randomUnit: Double,
        _ now: Duration,
        _ actions: inout [Action]
    ) {
        nodes[Int(slot)].answersNotApplied = nodes[Int(slot)].answersNotApplied.incremented
        if nodes[Int(slot)].answersNotApplied >= rules.stalledAfter {
            nodes[Int(slot)].isStalled = true
        }
        let node = nodes[Int(slot)]
        guard node.attempts < node.attemptsMax else {
            settle(slot, .failed(.attempts), &actions)
            return
        }
        let asked = min(max(retryAfter ?? .zero, .zero), Limits.modifierRetryAfterMax)
        let pause = max(asked, Self.pause(after: node.attempts, randomUnit: randomUnit))
        nodes[Int(slot)].floor = asked > .zero ? now + asked : .zero
        change(slot, to: .retryWait(until: now + pause), &actions)
    }

    private mutating func noteAvailability(
        of origin: Int32,
        _ verdict: ModifierVerdict,
        probe: ModifierNumber,
        _ randomUnit: Double,
        _ now: Duration
    ) {
        switch verdict {
        case .confirmed, .accepted, .notNow, .serverFailed, .refused, .conflict, .authNeeded,
            .unclear(.gateway), .unclear(.refusedRepeat):
            reached(origin, randomUnit, now)
        case .noCredential:
            // The origin was not asked, so another modifier becomes the probe.
            guard case .halfOpen(let outage, probe) = origins[Int(origin)].availability else {
                return
            }
            set(origin, .down(outage, probe: now))
        case .captive:
            notReached(origin, isCaptive: true, probe: probe, randomUnit, now)
        case .neverLeft:
            notReached(origin, isCaptive: false, probe: probe, randomUnit, now)
        case .unclear(.lost):
            guard case .halfOpen(let outage, probe) = origins[Int(origin)].availability else {
                return
            }
            notReached(origin, isCaptive: outage.isCaptive, probe: probe, randomUnit, now)
        }
    }

    /// Counts the attempt as ended; returns the slot of its origin.
    private mutating func attemptLeft(_ slot: Int32) -> Int32 {
        let account = nodes[Int(slot)].account
        let origin = accountKeys[account].origin
        origins[Int(origin)].underWay -= 1
        accounts[Int(account)].underWay -= 1
        users[Int(accounts[Int(account)].user)].underWay -= 1
        refreshParty(account)
        touch(origin)
        return origin
    }

    /// The pause after so many counted attempts, with full jitter below 1 s × 2^n.
    ///
    /// The pause is at most ``Limits/modifierRetryMax`` and at least ``Limits/modifierRetryMin``.
    static func pause(after attempts: Int32, randomUnit: Double) -> Duration {
        let doubled = Limits.modifierRetryBase.doubled(Int(attempts) - 1)
        let ceiling = min(Limits.modifierRetryMax, doubled)
        return max(Limits.modifierRetryMin, ceiling * randomUnit)
    }
}

extension Int32 {
    /// The next number, or the largest one.
    fileprivate var incremented: Int32 { self == .max ? self : self + 1 }
}
