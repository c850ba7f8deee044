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
        // The request of a first one has made the changes of the others of its group, too.
        guard !nodes[Int(slot)].isPerhapsApplied, nodes[Int(slot)].state != .answered else {
            throw .alreadySent
        }
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
        if nodes[Int(slot)].state == .answered {
            nodes[Int(slot)].state = .settling(.confirmed)
            refresh(slot)
            return finish([.endWait(number)], now)
        }
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

extension ModifierQueue {
    /// An operator paused a lane: attempts under way go on, and no other modifier of it is sent.
    package mutating func lanePaused(_ lane: Lane, of scope: Scope, now: Duration) -> [Action] {
        pause(lane, of: scope)
        return timePassed(now: now)
    }

    package mutating func laneResumed(_ lane: Lane, of scope: Scope, now: Duration) -> [Action] {
        if let owner = owners.slot(of: scope),
            let shift = lanes.resume(LaneTable.Key(owner: owner, lane: lane))
        {
            laneChanged(shift)
            _ = owners.release(owner)
        }
        return timePassed(now: now)
    }

    /// Things have other ids from now on; `moved` has the new lanes of modifiers that change them.
    ///
    /// The modifiers keep their order in each lane, but none gets in front of one that is being
    /// sent.
    package mutating func renamed(
        _ ids: [(from: EntryID, to: EntryID)],
        _ moved: [(number: ModifierNumber, lanes: [Lane])],
        of scope: Scope,
        now: Duration
    ) -> [Action] {
        let underWay = self.underWay
        for (number, lanes) in moved {
            // An answered modifier has left its lanes.
            guard let slot = slots[number], nodes[Int(slot)].places >= 0 else { continue }
            move(slot, to: lanes, after: underWay)
        }
        for (from, to) in ids {
            guard let owner = owners.slot(of: scope),
                let shift = lanes.resume(LaneTable.Key(owner: owner, lane: .id(from)))
            else { continue }
            laneChanged(shift)
            pause(.id(to), of: scope)
            _ = owners.release(owner)
        }
        return timePassed(now: now)
    }

    /// The modifiers that are being sent.
    var underWay: Set<Int32> { Set(slots.values.filter { nodes[Int($0)].isUnderWay }) }

    /// Has a modifier leave its lanes for others, in the order of the numbers.
    ///
    /// The modifier gets in front of none in `underWay`.
    mutating func move(_ slot: Int32, to lanes: [Lane], after underWay: Set<Int32>) {
        leaveLanes(slot)
        let owner = accountKeys[nodes[Int(slot)].account].owner
        enterLanes(slot, lanes, owner: owner, after: underWay)
        refresh(slot)
    }

    /// Has earlier modifiers that came into its lanes while it was sent go in front of it.
    mutating func restoreOrder(_ slot: Int32) {
        guard let names = lanes.disordered(nodes[Int(slot)].places) else { return }
        move(slot, to: names, after: underWay)
    }

    mutating func pause(_ lane: Lane, of scope: Scope) {
        let owner = owners.use(scope).slot
        guard let shift = lanes.pause(LaneTable.Key(owner: owner, lane: lane)) else {
            _ = owners.release(owner)
            return
        }
        laneChanged(shift)
    }

    /// The modifier gets in front of no modifier in `underWay`.
    mutating func enterLanes(
        _ slot: Int32,
        _ names: [Lane],
        owner: Int32,
        after underWay: Set<Int32> = []
    ) {
        let number = nodes[Int(slot)].number
        let entered = lanes.enter(slot, number, names, owner: owner, after: underWay)
        nodes[Int(slot)].places = entered.places
        nodes[Int(slot)].closedPlaces = entered.closed
        laneChanged(entered.change)
    }

    mutating func leaveLanes(_ slot: Int32) {
        let shift = lanes.leave(nodes[Int(slot)].places)
        nodes[Int(slot)].places = -1
        nodes[Int(slot)].closedPlaces = 0
        laneChanged(shift)
    }

    private mutating func laneChanged(_ shift: LaneTable.LaneChange) {
        for slot in shift.opened {
            nodes[Int(slot)].closedPlaces -= 1
            refresh(slot)
        }
        for slot in shift.closed {
            nodes[Int(slot)].closedPlaces += 1
            refresh(slot)
        }
    }
}
