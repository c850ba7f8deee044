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
            shifted(shift)
            _ = owners.release(owner)
        }
        return timePassed(now: now)
    }

    mutating func pause(_ lane: Lane, of scope: Scope) {
        let owner = owners.use(scope).slot
        guard let shift = lanes.pause(LaneTable.Key(owner: owner, lane: lane)) else {
            _ = owners.release(owner)
            return
        }
        shifted(shift)
    }

    mutating func enterLanes(_ slot: Int32, _ names: [Lane], owner: Int32) {
        let entered = lanes.enter(slot, nodes[Int(slot)].number, names, owner: owner)
        nodes[Int(slot)].places = entered.places
        nodes[Int(slot)].closedPlaces = entered.closed
        shifted(entered.shift)
    }

    mutating func leaveLanes(_ slot: Int32) {
        let shift = lanes.leave(nodes[Int(slot)].places)
        nodes[Int(slot)].places = -1
        nodes[Int(slot)].closedPlaces = 0
        shifted(shift)
    }

    private mutating func shifted(_ shift: LaneTable.Shift) {
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
