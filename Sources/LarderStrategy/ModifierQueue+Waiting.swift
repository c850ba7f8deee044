package import LarderModel

extension ModifierQueue {
    /// The first thing that has to end before the modifier is sent.
    ///
    /// Nil if the number is not known here.
    package func waitingFor(_ number: ModifierNumber) -> Wait? {
        guard let slot = slots[number] else { return nil }
        let node = nodes[Int(slot)]
        switch node.state {
        case .committingSend, .changing, .settling: return .commit
        case .inFlight: return .answer
        case .waiting(.accepted(let end)): return .confirmation(until: end)
        case .answered: return .confirmation(until: nil)
        case .waiting(.held(let end)): return .hold(until: end)
        case .waiting(.unknown(nil)), .waiting(.conflict): return .decision
        case .waiting(.authWait): return .credential
        case .waiting(.retryWait(let end)), .waiting(.unknown(.some(let end))):
            return node.isDue ? blocker(node) : .backoff(until: end)
        case .waiting(.queued): return blocker(node)
        }
    }

    private func blocker(_ node: Node) -> Wait {
        if let parent = dependencies[node.number]?.first { return .dependency(parent) }
        switch lanes.blocker(node.places) {
        case .after(let number, let lane): return .lane(lane, after: number)
        case .paused(let lane): return .pausedLane(lane)
        case nil: break
        }
        if case .doubt(_, let probe) = accounts[Int(node.account)].access {
            if probe != nil { return .turn }
            if !accounts[Int(node.account)].access.admits { return .credential }
        }
        switch accounts[Int(node.account)].rest {
        case .open, .due: break
        case .paused(let end), .rampingUp(let end): return .rest(until: end)
        case .halfOpen: return .rest(until: nil)
        }
        switch origins[Int(accountKeys[node.account].origin)].availability {
        case .open: return .turn
        case .rampingUp(let end): return .offline(until: end)
        case .down(let outage, let end):
            return outage.isCaptive ? .captive(until: end) : .offline(until: end)
        case .halfOpen(_, let number): return .probe(number)
        case .setOffline: return .setOffline
        }
    }

    /// The state of a modifier, as its row has it or soon will.
    package func state(of number: ModifierNumber) -> ModifierState? {
        guard let slot = slots[number] else { return nil }
        switch nodes[Int(slot)].state {
        case .waiting(let row), .changing(let row): return row.state
        case .committingSend, .inFlight: return .inFlight
        case .answered: return .accepted
        case .settling(.confirmed): return .confirmed
        case .settling(.failed): return .failed
        case .settling(.cancelled): return .cancelled
        }
    }
}

extension ModifierQueue.Written {
    var state: ModifierState {
        switch self {
        case .held: .held
        case .queued: .queued
        case .retryWait: .retryWait
        case .unknown: .unknown
        case .authWait: .authWait
        case .conflict: .conflict
        case .accepted: .accepted
        }
    }
}
