import LarderModel

extension ModifierQueue {
    /// Checks the invariants of one modifier; called after changes of it.
    func checkInvariants(of number: ModifierNumber) {
        guard let slot = slots[number] else { return }
        check(slot)
    }

    /// Checks all numbered invariants of the type's documentation: O(n), for tests.
    package func checkInvariants() {
        var underWay = Array(repeating: 0, count: origins.count)
        var ready = Array(repeating: 0, count: accounts.count)
        var sent = ready
        for (number, slot) in slots {
            let node = nodes[Int(slot)]
            assert(node.number == number, "a number names its own node")
            check(slot)
            if node.isUnderWay {
                underWay[Int(accountKeys[node.account].origin)] += 1
                sent[Int(node.account)] += 1
            }
            if node.isReady { ready[Int(node.account)] += 1 }
            let unmet = dependencies[number] ?? []
            assert(unmet.count == Int(node.unmetDependencies), "dependencies are counted")
            assert(unmet.allSatisfy { slots[$0] != nil }, "unmet dependencies are in the queue")
            assert(lanes.closedCount(node.places) == Int(node.closedPlaces), "places are counted")
        }
        // 2
        for (origin, count) in zip(origins, underWay) {
            assert(origin.underWay == count, "attempts are counted")
            assert(count <= Limits.modifiersInFlightMax, "attempts at an origin are bounded")
        }
        // 3
        for account in accountKeys.inUse {
            let state = accounts[Int(account)]
            assert(state.ready.elements.count == ready[Int(account)], "the ready ones are counted")
            assert(Int(state.underWay) == sent[Int(account)], "attempts of accounts are counted")
            let isIn = accountPositions[account] >= 0
            assert(isIn == (ready[Int(account)] > 0 && state.mayBeAsked), "accounts are in turn")
            // 7
            if case .doubt(_, let number?) = state.access {
                let isTried = slots[number].map { nodes[Int($0)].isUnderWay } ?? false
                assert(isTried, "a probe of a credential is under way")
            }
            // 6
            let timer = Int(accountTimerPositions[account])
            let end = timer < 0 ? nil : accountTimers.elements[timer].key
            assert(end == state.rest.end, "rests end")
            if case .halfOpen(let number) = state.rest {
                let isTried = slots[number].map { nodes[Int($0)].isUnderWay } ?? false
                assert(isTried, "a probe is under way")
            }
            guard isIn else { continue }
            let user = users[Int(state.user)]
            let element = user.accounts.elements[Int(accountPositions[account])]
            assert(element.slot == account && element.key == state.turn, "by the least")
        }
        checkUsers()
        assert(touchedOrigins.isEmpty, "an event sends all that may be sent")
        // 8
        for (first, members) in joined {
            assert(slots[first] != nil && leaders[first] == nil, "a group has its first")
            for member in members {
                assert(leaders[member] == first, "a joined modifier knows its first")
                let slot = slots[member]
                assert(
                    slot.map { nodes[Int($0)].mayHaveLeft } ?? false,
                    "a joined one does not expire"
                )
            }
        }
        for number in groups.keys { assert(slots[number] != nil, "a group has its leader") }
    }

    private func checkUsers() {
        for user in userKeys.inUse {
            let (state, position) = (users[Int(user)], Int(userPositions[user]))
            let own = accountKeys.inUse.map { accounts[Int($0)] }.filter { $0.user == user }
            let sent = own.reduce(0) { $0 + $1.underWay }
            assert(state.underWay == sent, "attempts of users are counted")
            let inTurn = origins[Int(userKeys[user].origin)].users.elements
            assert(state.turn == (position < 0 ? nil : inTurn[position].key), "users are in turn")
        }
    }

    private func check(_ slot: Int32) {
        let node = nodes[Int(slot)]
        // 1
        if node.isUnderWay {
            assert(node.unmetDependencies == 0, "what is sent depends on nothing unsettled")
        }
        // 3
        assert(node.isReady == (readyPositions[slot] >= 0), "the ready ones are known")
        // 4
        let position = Int(timerPositions[slot])
        assert(node.wake == (position < 0 ? nil : timers.elements[position].key), "wakes are set")
        assert(node.attempts >= 0 && node.closedPlaces >= 0 && node.unmetDependencies >= 0)
    }
}

extension ModifierQueue.Node {
    var isUnderWay: Bool {
        switch state {
        case .committingSend, .inFlight: true
        case .waiting, .answered, .changing, .settling: false
        }
    }
}
