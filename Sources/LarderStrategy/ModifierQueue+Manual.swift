package import LarderModel

extension ModifierQueue {
    /// A user cancels a modifier that cannot have been applied (case 18).
    ///
    /// The dependants are cancelled with it; without `withDependants` they make the call fail.
    package mutating func cancelAsked(
        _ number: ModifierNumber,
        withDependants: Bool,
        now: Duration
    ) throws(Refusal) -> [Action] {
        let slot = try waiting(number)
        guard !nodes[Int(slot)].isPerhapsApplied else { throw .alreadySent }
        let others = dependants(of: number)
        guard withDependants || others.isEmpty else { throw .hasDependants(others) }
        try beginParting(of: number)
        part(number)
        return settleByHand(slot, .cancelled, now)
    }

    /// A user gives a modifier up, whether or not it has reached the origin.
    ///
    /// If it cannot have been applied, it is cancelled with its dependants.
    package mutating func discardAsked(
        _ number: ModifierNumber,
        now: Duration
    ) throws(Refusal) -> [Action] {
        let slot = try waiting(number)
        // The origin has confirmed the modifier: discarding it only ends its display.
        if nodes[Int(slot)].state == .answered { return settleByHand(slot, .confirmed, now) }
        if let first = leaders[number], let slot = slots[first], nodes[Int(slot)].isPerhapsApplied {
            return try discardAsked(first, now: now)
        }
        guard nodes[Int(slot)].isPerhapsApplied else {
            return try cancelAsked(number, withDependants: true, now: now)
        }
        return settleByHand(slot, .failed(.discarded), now)
    }

    /// A user gives a modifier that cannot have been applied other changes and another request.
    ///
    /// The modifier is not sent before ``editEnded(_:_:now:)``.
    package mutating func editAsked(
        _ number: ModifierNumber,
        now: Duration
    ) throws(Refusal) -> [Action] {
        let slot = try waiting(number)
        guard !nodes[Int(slot)].isPerhapsApplied else { throw .alreadySent }
        guard case .waiting(let row) = nodes[Int(slot)].state else { throw .alreadySent }
        try beginParting(of: number)
        nodes[Int(slot)].state = .changing(to: row)
        refresh(slot)
        return finish([], now)
    }

    /// The edit is committed, with the modifier's facts from now on, or the modifier is as before.
    ///
    /// The modifier keeps number and state. In each lane it waits for one that is being sent.
    package mutating func editEnded(
        _ number: ModifierNumber,
        _ record: ModifierRecord?,
        now: Duration
    ) -> [Action] {
        guard let slot = slots[number], case .changing = nodes[Int(slot)].state else { return [] }
        var actions: [Action] = []
        endParting(of: number, isDone: record != nil, &actions)
        if let record {
            nodes[Int(slot)].resends = record.resends
            nodes[Int(slot)].mayLead = record.mayLead
            nodes[Int(slot)].mayFollow = record.mayFollow
            depend(slot, on: record.dependsOn)
            move(slot, to: record.lanes, after: underWay)
            if record.dependsOn.contains(where: lateFailures.contains) {
                settleOrphan(number, &actions)
                return finish(actions, now)
            }
        }
        return actions + changeCommitted(number, now: now)
    }

    private mutating func settleByHand(
        _ slot: Int32,
        _ outcome: Outcome,
        _ now: Duration
    ) -> [Action] {
        var actions: [Action] = []
        settle(slot, outcome, &actions)
        return finish(actions, now)
    }

    /// A user wants a modifier sent now that waits for a time or a decision.
    ///
    /// The modifier is `queued` again. Its origin is tried immediately, even during a rest, and its
    /// credential counts as good.
    package mutating func retryAsked(
        _ number: ModifierNumber,
        now: Duration
    ) throws(Refusal) -> [Action] {
        let number = leaders[number] ?? number
        let slot = try waiting(number)
        var actions: [Action] = []
        let account = nodes[Int(slot)].account
        let origin = accountKeys[account].origin
        switch nodes[Int(slot)].state {
        case .waiting(.authWait):
            accept(account, isOther: false, &actions)
            // After a restart the refusal may be forgotten; then it holds no modifier back.
            let isStillRefused = nodes[Int(slot)].state == .waiting(.authWait)
            if isStillRefused { change(slot, to: .queued, &actions) }
        case .waiting(.retryWait), .waiting(.unknown):
            change(slot, to: .queued, &actions)
        case .waiting(.conflict):
            change(slot, to: .queued, round: .decided, &actions)
        case .waiting, .answered, .committingSend, .inFlight, .changing, .settling:
            throw .nothingToRetry
        }
        if origins[Int(origin)].availability != .setOffline { wake(origin, now) }
        if accounts[Int(account)].rest.end != nil { setRetryAfter(account, .due) }
        return finish(actions, now)
    }

    /// A read has shown the effect of a modifier in `accepted` (case 7).
    package mutating func readConfirmed(_ number: ModifierNumber, now: Duration) -> [Action] {
        guard let slot = slots[number], case .waiting(.accepted) = nodes[Int(slot)].state
        else { return [] }
        return settleByHand(slot, .confirmed, now)
    }

    /// The slot of a modifier that has no step or attempt under way.
    private func waiting(_ number: ModifierNumber) throws(Refusal) -> Int32 {
        guard let slot = slots[number] else { throw .notFound }
        switch nodes[Int(slot)].state {
        case .committingSend, .inFlight: throw .inFlight
        case .changing, .settling: throw .notNow
        case .waiting, .answered: return slot
        }
    }
}
