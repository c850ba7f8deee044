/// Writes that one request makes (case 17).
///
/// The first of a group is sent. The others are joined to it: they wait in the queue, and end as it
/// ends.
extension PlainQueue {
    /// Which writes are joined.
    enum Joins {
        case none
        case writes
        /// As `writes`; those that leave a target as it is are not sent.
        case net
    }

    // MARK: What may be joined

    /// The writes that may be sent as one request now, the one with this id the first of them.
    ///
    /// A group that was sent stays as it is.
    func groups(of id: String, at now: Duration) -> [[PlainModifier]] {
        guard let first = self[id] else { return [] }
        let joined = members(of: id)
        guard !first.mayHaveLeft || !holds(.sentGroupStays) else {
            let isParted = joined.contains { isOvertakenByOthers($0) == true }
            return isParted && holds(.editPartsGroup) ? [] : [[first] + joined]
        }
        var found = [[first]]
        guard joins != .none, first.mayLead, first.sent.map(isOpen) == true else { return found }
        var group = [first]
        for next in unsettled.drop(while: { $0.id != id }).dropFirst() {
            guard mayJoin(next, to: group, at: now) else { continue }
            group.append(next)
            if !hasDependants(group) { found.append(group) }
        }
        return found

        // A thing is created only if nothing is known of it.
        func isOpen(_ change: PlainModifier.Change) -> Bool {
            !first.isCreate || base(change.path) == .unknown
        }
    }

    private func mayJoin(
        _ next: PlainModifier,
        to group: [PlainModifier],
        at now: Duration
    ) -> Bool {
        guard let first = group.first, next.mayFollow,
            next.changes[0].path == first.sent?.path,
            next.attemptsMax == first.attemptsMax, next.unclear == first.unclear,
            next.onConflict == first.onConflict,
            isOvertakenByOthers(next) != true || !holds(.joinedAreCompared)
        else { return false }
        let isHeld = next.state(at: now) == "held" && holds(.heldIsSentAlone)
        guard next.standing == .waiting, !isHeld, !next.mayHaveLeft,
            next.lanes.isDisjoint(with: paused)
        else { return false }
        let ids = group.map(\.id)
        let isFree = next.dependsOn.allSatisfy { parent in
            ids.contains(parent) || outcomes[parent] == "confirmed"
                || self[parent]?.standing == .answered
        }
        let before = unsettled.prefix { $0.id != next.id }.filter { other in
            !other.isOutOfLanes && !other.lanes.isDisjoint(with: next.lanes)
        }
        return isFree
            && (!holds(.joinedAreNeighbours) || before.allSatisfy { ids.contains($0.id) })
    }

    private func hasDependants(_ group: [PlainModifier]) -> Bool {
        let ids = Set(group.map(\.id))
        return holds(.parentIsSentAlone)
            && unsettled.contains { other in
                !ids.contains(other.id) && !ids.isDisjoint(with: other.dependsOn)
            }
    }

    /// Whether a group needs no request.
    func isNeedless(_ group: [PlainModifier]) -> Bool {
        guard let first = group.first, group.count > 1, let last = group.last,
            let path = first.sent?.path
        else { return false }
        if first.isCreate { return last.changes[0].effect == .delete }
        let effects = group.compactMap { $0.sent?.effect }
        let view = Self.view(base(path))
        return joins == .net && view != .unknown
            && PlainEffect.together(effects, on: view) == view
    }

    /// The queues that this may be after a group has left that needs no request.
    ///
    /// No round begins then, so its first write is not compared (case 19).
    func withoutNeedless(at now: Duration) -> [PlainQueue] {
        guard joins != .none, holds(.needlessIsCancelled) else { return [] }
        var found: [PlainQueue] = []
        for first in unsettled where !first.mayHaveLeft && first.mayLead {
            guard refusal(toSend: first.id, key: first.key, at: now, isMet: true) == nil else {
                continue
            }
            for group in groups(of: first.id, at: now) where isNeedless(group) {
                var left = self
                for member in group.reversed() { left.leave(member.id) }
                found.append(left)
            }
        }
        return found
    }

    // MARK: Groups that were sent

    var endsTogether: Bool { holds(.joinedEndTogether) }

    /// The writes that are joined to one, and wait for its end.
    func members(of id: String) -> [PlainModifier] {
        modifiers.filter { $0.joinedInto == id && $0.standing == .waiting }
    }

    /// The write in whose request another one is.
    func first(of id: String) -> PlainModifier? {
        guard let modifier = self[id], modifier.standing == .waiting else { return nil }
        return modifier.joinedInto.flatMap { self[$0] }
    }

    /// Joins writes to the first of them, which is sent now.
    mutating func join(_ group: [PlainModifier]) {
        guard let first = group.first, group.count > 1, !first.mayHaveLeft else { return }
        let effects = group.compactMap { $0.sent?.effect }
        let isWhole = effects.contains { $0.isWhole }
        let isMerge = effects.allSatisfy { if case .merge = $0 { true } else { false } }
        change(first.id) { $0.joinedIsRepeatable = !first.isCreate && (isWhole || isMerge) }
        for member in group.dropFirst() {
            change(member.id) {
                $0.joinedInto = first.id
                $0.mayHaveLeft = true
            }
        }
    }

    /// A group is confirmed; the last of it takes what the answer says of its target.
    mutating func confirmGroup(
        _ first: PlainModifier,
        _ told: (path: String, value: PlainValue)?,
        _ input: Int
    ) {
        let members = members(of: first.id)
        for member in [first] + members { touch(member, told, input) }
        for member in [first] + members where member == first || endsTogether {
            confirm(member, member.id == (members.last ?? first).id ? told : nil, input)
        }
    }

    mutating func acceptGroup(_ first: PlainModifier, until end: Duration) {
        for member in [first] + members(of: first.id) where member == first || endsTogether {
            change(member.id) {
                $0.standing = .accepted(until: end)
                $0.attempts = first.attempts
                $0.isPerhapsApplied = true
            }
        }
    }

    /// Takes the group of a first write apart: nothing of the others has left.
    mutating func part(_ id: String) {
        if holds(.unsentGroupParts) { takeApart(id) }
    }

    mutating func takeApart(_ id: String) {
        // The requests of the first made the changes of the others, too (case 18).
        let isPerhapsApplied = self[id]?.isPerhapsApplied ?? false
        for member in members(of: id) {
            change(member.id) {
                $0.joinedInto = nil
                $0.mayHaveLeft = false
                $0.isPerhapsApplied = $0.isPerhapsApplied || isPerhapsApplied
                $0.sentOn = [:]
            }
        }
        change(id) { $0.joinedIsRepeatable = nil }
    }

    /// Takes the group apart of a write that is cancelled: the first is then another request.
    mutating func partCancelled(_ id: String) {
        if let first = first(of: id) {
            change(first.id) { $0.round += 1 }
            part(first.id)
        } else {
            part(id)
        }
    }

    /// The effects of a write, and of those that are joined to it, on a target.
    func effects(of id: String, on path: String) -> [PlainEffect] {
        let group = (self[id].map { [$0] } ?? []) + members(of: id)
        return group.flatMap { $0.changes(path) }.filter { $0 != .none }
    }
}

extension PlainModifier {
    /// The one change that its request makes: the new object of a create in a list.
    var sent: PlainModifier.Change? {
        if isCreate, let last = changes.last, case .place(let object) = last.effect {
            return Change(path: last.path, effect: .put(object))
        }
        return changes.count == 1 ? changes[0] : nil
    }

    /// Whether others may be joined to it.
    var mayLead: Bool {
        guard let sent, isCreate || method != "POST" else { return false }
        switch sent.effect {
        case .put, .merge, .append: return true
        case .set, .add, .patch, .listAdd, .addObject, .place, .delete, .none: return false
        }
    }

    /// Whether it may be joined to another one.
    var mayFollow: Bool {
        guard changes.count == 1, method != "POST" else { return false }
        switch changes[0].effect {
        case .put, .merge, .append, .delete: return true
        case .set, .add, .patch, .listAdd, .addObject, .place, .none: return false
        }
    }

    /// Whether later ones of its lanes do not wait for it.
    var isOutOfLanes: Bool {
        switch standing {
        case .accepted, .answered: true
        case .waiting, .unsent, .inFlight, .checking, .retryWait, .unknown, .authWait, .conflict,
            .failed:
            false
        }
    }
}
