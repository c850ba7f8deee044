package import LarderModel

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
