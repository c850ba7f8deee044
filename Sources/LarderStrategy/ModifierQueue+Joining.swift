package import LarderModel

/// Modifiers that one request makes (case 17).
///
/// The *first* of a group is sent with the request of all. The others are *joined* to it: they keep
/// their places in the lanes, and settle with it. A group ends before that if no byte of it has
/// left, if its round ends in a conflict, or if one of it is cancelled or edited.
extension ModifierQueue {
    /// The modifiers that may be joined to one, in their order.
    ///
    /// In each of its lanes every one is directly after another of the group. Nothing of it has
    /// left, and it depends on nothing else. No other modifier depends on one of the group.
    func followers(of slot: Int32) -> [ModifierNumber] {
        let first = nodes[Int(slot)]
        guard first.mayLead, !first.mayHaveLeft, !first.isPerhapsApplied else { return [] }
        var group: Set<Int32> = [slot]
        var numbers = [first.number]
        while numbers.count < Limits.joinedModifiersMax {
            let next = lanes.next(after: group, of: first.places)
                .filter { mayFollow($0, group, numbers, first.account) }
                .min { nodes[Int($0)].number < nodes[Int($1)].number }
            guard let next else { break }
            group.insert(next)
            numbers.append(nodes[Int(next)].number)
        }
        while numbers.count > 1, hasOtherDependants(numbers) { numbers.removeLast() }
        return Array(numbers.dropFirst())
    }

    private func mayFollow(
        _ slot: Int32,
        _ group: Set<Int32>,
        _ numbers: [ModifierNumber],
        _ account: Int32
    ) -> Bool {
        let node = nodes[Int(slot)]
        return node.mayFollow && !node.mayHaveLeft && !node.isPerhapsApplied
            && node.state == .waiting(.queued) && node.account == account
            && lanes.isDirectly(node.places, after: group)
            && (dependencies[node.number] ?? []).allSatisfy(numbers.contains)
    }

    private func hasOtherDependants(_ group: [ModifierNumber]) -> Bool {
        group.contains { number in
            dependants[number]?.numbers.contains { slots[$0] != nil && !group.contains($0) }
                ?? false
        }
    }

    /// Joins modifiers to another one; none of them expires from then on.
    mutating func join(_ numbers: [ModifierNumber], to first: ModifierNumber) {
        for number in numbers {
            guard let slot = slots[number] else { continue }
            joined[first, default: []].append(number)
            leaders[number] = first
            nodes[Int(slot)].mayHaveLeft = true
            refresh(slot)
        }
    }

    /// Takes the group of a first modifier apart: nothing of the others has left.
    mutating func part(_ first: ModifierNumber) {
        for number in joined.removeValue(forKey: first) ?? [] {
            leaders[number] = nil
            guard let slot = slots[number] else { continue }
            nodes[Int(slot)].mayHaveLeft = false
            refresh(slot)
        }
    }

    /// Has the first of a modifier's group wait for a step that takes the group apart.
    ///
    /// ``endParting(of:isDone:_:)`` ends the wait.
    mutating func beginParting(of number: ModifierNumber) throws(Refusal) {
        guard let first = leaders[number], let slot = slots[first] else { return }
        switch nodes[Int(slot)].state {
        case .inFlight: throw .inFlight
        case .committingSend, .answered, .changing, .settling: throw .notNow
        case .waiting(let row):
            guard !nodes[Int(slot)].isPerhapsApplied else { throw .alreadySent }
            nodes[Int(slot)].state = .changing(to: row)
            refresh(slot)
        }
    }

    mutating func endParting(
        of number: ModifierNumber,
        isDone: Bool,
        _ actions: inout [Action]
    ) {
        let first = leaders[number] ?? number
        if isDone { part(first) }
        guard first != number, let slot = slots[first],
            case .changing(let row) = nodes[Int(slot)].state
        else { return }
        endChange(slot, row, &actions)
    }

    /// Has those that are joined to a modifier follow it into `accepted`: its row and theirs are one
    /// change.
    mutating func acceptJoined(_ first: ModifierNumber, until end: Duration) {
        for number in joined[first] ?? [] {
            guard let slot = slots[number] else { continue }
            nodes[Int(slot)].state = .changing(to: .accepted(until: end))
            nodes[Int(slot)].isPerhapsApplied = true
            refresh(slot)
        }
    }

    /// The modifiers of a group cancel out, or change nothing: none of them is sent.
    ///
    /// A modifier that depends on one of them and was accepted after the group was chosen fails, as no
    /// person has cancelled it.
    package mutating func sendNeedless(
        _ number: ModifierNumber,
        joined numbers: [ModifierNumber],
        now: Duration
    ) -> [Action] {
        guard let slot = slots[number], case .committingSend = nodes[Int(slot)].state else {
            return []
        }
        var actions: [Action] = []
        probeLeft(slot, rest: .due, now)
        part(number)
        join(numbers, to: number)
        let late = ([number] + numbers).flatMap { dependants(of: $0) }
        for other in late where !numbers.contains(other) { settleOrphan(other, &actions) }
        settle(slot, .cancelled, &actions)
        return finish(actions, now)
    }
}
