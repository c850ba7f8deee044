package import LarderModel

extension ModifierQueue {
    /// The modifiers that depend on one modifier, in the order in which they were accepted.
    struct Dependants: Sendable {
        /// May contain numbers of modifiers that have left the queue.
        var numbers: [ModifierNumber] = []
        var unsettled = 0
    }

    /// Notes what a modifier depends on, besides what is known; a parent that has left the queue is
    /// confirmed.
    mutating func depend(_ slot: Int32, on parents: [ModifierNumber]) {
        let number = nodes[Int(slot)].number
        var unmet: [ModifierNumber] = []
        let known = dependencies[number] ?? []
        for parent in parents
        where parent < number && !unmet.contains(parent) && !known.contains(parent) {
            guard let slot = slots[parent], nodes[Int(slot)].state != .answered else { continue }
            unmet.append(parent)
        }
        guard !unmet.isEmpty else { return }
        for parent in unmet {
            dependants[parent, default: Dependants()].numbers.append(number)
            dependants[parent]?.unsettled += 1
        }
        dependencies[number] = known + unmet
        nodes[Int(slot)].unmetDependencies += Int32(unmet.count)
    }

    /// The modifiers that depend on this one, directly or through others, without settling ones.
    package func dependants(of number: ModifierNumber) -> [ModifierNumber] {
        var found: [ModifierNumber] = []
        var seen: Set<ModifierNumber> = [number]
        var next = 0
        var parent = number
        while true {
            for child in dependants[parent]?.numbers ?? [] where seen.insert(child).inserted {
                guard let slot = slots[child] else { continue }
                if !nodes[Int(slot)].isSettling { found.append(child) }
            }
            guard next < found.count else { return found.sorted() }
            parent = found[next]
            next += 1
        }
    }

    /// Begins the settle step of a modifier and of those that are joined to it.
    ///
    /// Unless it is confirmed, all their dependants settle with it.
    mutating func settle(_ slot: Int32, _ outcome: Outcome, _ actions: inout [Action]) {
        let number = nodes[Int(slot)].number
        let same = joined[number] ?? []
        part(number)
        nodes[Int(slot)].state = .settling(outcome)
        refresh(slot)
        for member in same.compactMap({ slots[$0] }) {
            nodes[Int(member)].state = .settling(outcome)
            refresh(member)
        }
        var group: [ModifierNumber] = []
        if outcome != .confirmed {
            group = Set(([number] + same).flatMap { dependants(of: $0) }).sorted()
            if !(same + group).isEmpty { groups[number] = same + group }
        }
        for member in group.compactMap({ slots[$0] }) {
            nodes[Int(member)].state = .settling(outcome.ofDependants)
            refresh(member)
        }
        actions.append(.settle(number, outcome, joined: same, dependants: group))
    }

    /// The settle step is committed: the modifier and those that left with it are removed.
    package mutating func settleCommitted(_ number: ModifierNumber, now: Duration) -> [Action] {
        guard let slot = slots[number], case .settling(let outcome) = nodes[Int(slot)].state else {
            return []
        }
        var actions: [Action] = []
        let group = groups.removeValue(forKey: number) ?? []
        for member in group.reversed() { remove(member, outcome.ofDependants, &actions) }
        remove(number, outcome, &actions)
        return finish(actions, now)
    }

    /// The settle step found that a shared row does not show the modifier yet.
    ///
    /// The modifier waits for that, and counts as confirmed.
    package mutating func answerCommitted(_ number: ModifierNumber, now: Duration) -> [Action] {
        guard let slot = slots[number] else { return [] }
        switch nodes[Int(slot)].state {
        case .settling(.confirmed), .waiting(.accepted): break
        case .waiting, .committingSend, .inFlight, .answered, .changing, .settling:
            return []
        }
        var actions: [Action] = []
        leaveLanes(slot)
        nodes[Int(slot)].state = .answered
        refresh(slot)
        leaveDependencies(of: number, slot, .confirmed, &actions)
        return finish(actions, now)
    }

    /// A committed answer has settled the modifier, or a later one that was confirmed.
    ///
    /// The queue may hear of this before it hears of the modifier's own step.
    package mutating func answerShown(_ number: ModifierNumber, now: Duration) -> [Action] {
        guard let slot = slots[number] else { return [] }
        switch nodes[Int(slot)].state {
        case .answered, .waiting(.accepted): nodes[Int(slot)].state = .settling(.confirmed)
        case .waiting, .committingSend, .inFlight, .changing, .settling: break
        }
        return settleCommitted(number, now: now)
    }

    private mutating func remove(
        _ number: ModifierNumber,
        _ outcome: Outcome,
        _ actions: inout [Action]
    ) {
        guard let slot = slots.removeValue(forKey: number) else { return }
        endParting(of: number, isDone: true, &actions)
        leaveLanes(slot)
        leaveDependencies(of: number, slot, outcome, &actions)
        release(slot)
    }

    /// Removes the dependencies of a modifier and on it.
    private mutating func leaveDependencies(
        of number: ModifierNumber,
        _ slot: Int32,
        _ outcome: Outcome,
        _ actions: inout [Action]
    ) {
        forgetRefusal(of: number, nodes[Int(slot)].account)
        for parent in dependencies.removeValue(forKey: number) ?? [] {
            forget(number, under: parent)
        }
        let children = dependants.removeValue(forKey: number)?.numbers ?? []
        if outcome != .confirmed { lateFailures.insert(number) }
        for child in children {
            guard let slot = slots[child], let index = dependencies[child]?.firstIndex(of: number)
            else { continue }
            dependencies[child]?.remove(at: index)
            if dependencies[child]?.isEmpty == true { dependencies[child] = nil }
            nodes[Int(slot)].unmetDependencies -= 1
            if outcome == .confirmed {
                refresh(slot)
            } else if !nodes[Int(slot)].isSettling {
                // The child was accepted after the parent's settle step began, so no person has
                // cancelled it.
                settle(slot, .failed(.parentFailed), &actions)
            }
        }
    }

    private mutating func forget(_ child: ModifierNumber, under parent: ModifierNumber) {
        guard var known = dependants.removeValue(forKey: parent) else { return }
        known.unsettled -= 1
        guard known.unsettled > 0 else { return }
        if known.numbers.count > 2 * known.unsettled + 16 {
            known.numbers.removeAll { slots[$0] == nil }
        }
        dependants[parent] = known
    }

    private mutating func release(_ slot: Int32) {
        timers.remove(slot, &timerPositions)
        let account = nodes[Int(slot)].account
        let key = accountKeys[account]
        freeSlots.append(slot)
        if accountKeys.release(account) {
            accountTimers.remove(account, &accountTimerPositions)
            let user = accounts[Int(account)].user
            users[Int(user)].accounts.remove(account, &accountPositions)
            let turn = userKeys.release(user) ? nil : users[Int(user)].turn
            origins[Int(key.origin)].users.set(user, turn, &userPositions)
        }
        _ = owners.release(key.owner)
    }
}
