package import LarderModel

extension ModifierQueue {
    // MARK: State of an origin

    /// The origin has answered any request, with any status.
    ///
    /// The waiting modifiers follow after up to ``Limits/wakeTimeMax``, as `randomUnit` in 0..<1 draws.
    package mutating func originAnswered(
        _ name: OriginName,
        randomUnit: Double,
        now: Duration
    ) -> [Action] {
        let origin = originSlot(name)
        reached(origin, randomUnit, now)
        endOutage(origin, randomUnit, now)
        return timePassed(now: now)
    }

    /// A request could not reach the origin, or a portal answered in its place.
    package mutating func originWentDown(
        _ name: OriginName,
        isCaptive: Bool,
        randomUnit: Double,
        now: Duration
    ) -> [Action] {
        notReached(originSlot(name), isCaptive: isCaptive, probe: nil, randomUnit, now)
        return timePassed(now: now)
    }

    /// An operator set the origin offline.
    package mutating func originSetOffline(_ name: OriginName, now: Duration) -> [Action] {
        set(originSlot(name), .setOffline)
        return timePassed(now: now)
    }

    /// The operator sets the origin online: one modifier goes first.
    ///
    /// Backoffs end; only a Retry-After of the origin goes on.
    package mutating func originWoken(_ name: OriginName, now: Duration) -> [Action] {
        let origin = originSlot(name)
        wake(origin, now)
        endPauses(at: origin, isAskedTimeOver: false, now)
        return timePassed(now: now)
    }

    /// The origin's settings have changed, and with them perhaps every reason to wait for it.
    ///
    /// Its credentials count as good, and it is tried now, unless an operator set it offline. Rests
    /// and pauses end, also a Retry-After, as the origin sent that under other settings. The same
    /// holds for answers to attempts that are under way. `records` say by the new rules which
    /// modifiers are sent again after no clear answer, which may be joined, and which conflicts end.
    package mutating func originChanged(
        _ name: OriginName,
        records: [ModifierRecord] = [],
        now: Duration
    ) -> [Action] {
        guard let origin = originSlots[name] else { return [] }
        origins[Int(origin)].settings &+= 1
        var actions: [Action] = []
        for record in records {
            set(record.resends, of: record.number, now, &actions)
            guard let slot = slots[record.number] else { continue }
            nodes[Int(slot)].holds = record.holds
            nodes[Int(slot)].mayLead = record.mayLead
            nodes[Int(slot)].mayFollow = record.mayFollow
            if record.endsConflict { endConflict(record.number, &actions) }
        }
        for account in accountKeys.inUse where accountKeys[account].origin == origin {
            accept(account, &actions)
            if accounts[Int(account)].rest.end != nil { setRetryAfter(account, .due) }
        }
        if origins[Int(origin)].availability != .setOffline { wake(origin, now) }
        endPauses(at: origin, isAskedTimeOver: true, now)
        return finish(actions, now)
    }

    /// Applies a corrected rule.
    ///
    /// A modifier that waits for a person is sent again, or the other way round.
    private mutating func set(
        _ resends: Bool,
        of number: ModifierNumber,
        _ now: Duration,
        _ actions: inout [Action]
    ) {
        guard let slot = slots[number], nodes[Int(slot)].resends != resends else { return }
        nodes[Int(slot)].resends = resends
        guard !resends || nodes[Int(slot)].attempts < nodes[Int(slot)].attemptsMax else { return }
        let end = resends ? now : nil
        switch nodes[Int(slot)].state {
        case .waiting(.unknown): change(slot, to: .unknown(until: end), &actions)
        case .changing(.unknown): nodes[Int(slot)].state = .changing(to: .unknown(until: end))
        case .committingSend, .inFlight, .waiting, .answered, .changing, .settling: break
        }
    }

    /// Has a modifier begin another round: before it is sent, the corrected rule decides.
    mutating func endConflict(_ number: ModifierNumber, _ actions: inout [Action]) {
        guard let slot = slots[number], nodes[Int(slot)].attempts < nodes[Int(slot)].attemptsMax
        else { return }
        switch nodes[Int(slot)].state {
        case .waiting(.conflict): change(slot, to: .queued, round: .next, &actions)
        case .changing(.conflict): nodes[Int(slot)].isDue = true
        case .committingSend, .inFlight, .waiting, .answered, .changing, .settling: break
        }
    }

    mutating func wake(_ origin: Int32, _ now: Duration) {
        switch origins[Int(origin)].availability {
        case .open, .rampingUp, .halfOpen: break
        case .down(let outage, _): set(origin, .down(outage, probe: now))
        case .setOffline:
            set(origin, .down(Outage(isCaptive: false, failures: 0), probe: now))
        }
    }

    // MARK: The origin's own state

    mutating func originSlot(_ name: OriginName) -> Int32 {
        if let slot = originSlots[name] { return slot }
        let slot = Int32(origins.count)
        origins.append(Origin(name: name))
        originSlots[name] = slot
        return slot
    }

    mutating func reached(_ origin: Int32, _ randomUnit: Double, _ now: Duration) {
        switch origins[Int(origin)].availability {
        case .open, .rampingUp, .setOffline: break
        case .down, .halfOpen: set(origin, .rampingUp(until: now + Limits.wakeTimeMax * randomUnit))
        }
    }

    /// `probe` is the attempt that failed, if it was one of this queue.
    mutating func notReached(
        _ origin: Int32,
        isCaptive: Bool,
        probe: ModifierNumber?,
        _ randomUnit: Double,
        _ now: Duration
    ) {
        origins[Int(origin)].failing = 2
        var outage: Outage
        switch origins[Int(origin)].availability {
        case .open, .rampingUp:
            outage = Outage(isCaptive: isCaptive, failures: 0)
        case .halfOpen(let known, let number) where number == probe:
            outage = Outage(isCaptive: isCaptive, failures: known.failures + 1)
        case .halfOpen(var known, let number):
            known.isCaptive = isCaptive
            origins[Int(origin)].availability = .halfOpen(known, number)
            return
        case .down(var known, let probe):
            known.isCaptive = isCaptive
            origins[Int(origin)].availability = .down(known, probe: probe)
            return
        case .setOffline:
            return
        }
        wait(origin, &outage, randomUnit, now)
    }

    private mutating func wait(
        _ origin: Int32,
        _ outage: inout Outage,
        _ randomUnit: Double,
        _ now: Duration
    ) {
        outage.failures = min(outage.failures, ProbeMachine.failuresMax)
        let ceiling = ProbeMachine.ceiling(after: outage.failures)
        let pause = ProbeMachine.pause(upTo: ceiling, randomUnit: randomUnit)
        set(origin, .down(outage, probe: now + pause))
    }

    /// Tries a captive origin with a read, as the next write must not be sent twice.
    ///
    /// A portal's answer may look like the origin's. A read shows whether the origin is back.
    mutating func probe(
        _ origin: Int32,
        _ outage: Outage,
        _ actions: inout [Action],
        _ now: Duration
    ) {
        var next = outage
        next.failures += 1
        wait(origin, &next, 1, now)
        actions.append(.probe(origins[Int(origin)].name))
    }

    mutating func set(_ origin: Int32, _ availability: OriginAvailability) {
        origins[Int(origin)].availability = availability
        switch availability {
        case .rampingUp(let end), .down(_, let end):
            originTimers.set(origin, end, &originTimerPositions)
        case .open, .halfOpen, .setOffline:
            originTimers.remove(origin, &originTimerPositions)
        }
        touch(origin)
    }
}
