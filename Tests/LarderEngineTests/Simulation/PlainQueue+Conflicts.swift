/// Edits of other devices (case 19).
///
/// A write is compared before each attempt of a round that cannot have been applied. The origin gives
/// no strong ETag, so that nothing but the comparison finds such an edit.
extension PlainQueue {
    /// The base of a target when a write was accepted.
    struct Seen: Hashable {
        let base: Base
        /// Whether own writes were beneath it, or have changed base since: the model does not say then
        /// what it counts as seen.
        var isMixed: Bool
    }

    func seen(by modifier: PlainModifier) -> [String: Seen] {
        guard modifier.onConflict != nil else { return [:] }
        var seen: [String: Seen] = [:]
        for path in modifier.visible.map(\.path) where base(path) != .unknown {
            let others = unsettled.contains { $0.id != modifier.id && !$0.changes(path).isEmpty }
            seen[path] = Seen(base: base(path), isMixed: others)
        }
        return seen
    }

    /// A write of the user's own has changed base, or may show in it.
    mutating func mixSeen(_ path: String) {
        for modifier in modifiers where modifier.seen[path] != nil {
            change(modifier.id) { $0.seen[path]?.isMixed = true }
        }
    }

    /// Whether another device has changed what a write changes; nil where the model does not say.
    func isOvertakenByOthers(_ modifier: PlainModifier) -> Bool? {
        guard modifier.onConflict != nil, !modifier.mayBeApplied, holds(.othersAreCompared),
            modifier.onConflict != .client || !holds(.clientMayWin)
        else { return false }
        let found = modifier.visible.map { isOther($0, than: modifier.seen[$0.path]) }
        if found.contains(true) { return true }
        return found.contains(nil) ? nil : false
    }

    private func isOther(_ change: PlainModifier.Change, than seen: Seen?) -> Bool? {
        let now = base(change.path)
        guard let seen, let assigned = change.effect.assigned,
            let touched = assigned.values(of: now)
        else { return false }
        // An edit that makes the same is none.
        if change.effect.applied(to: Self.view(now)) == Self.view(now) { return false }
        switch seen.base {
        case .unknown: return false
        case .deleted: return seen.isMixed ? nil : true
        case .value, .part:
            guard let old = assigned.values(of: seen.base) else { return false }
            if old == touched { return seen.isMixed ? nil : false }
            return seen.isMixed ? nil : true
        }
    }

    /// The queues that this may be once writes that are to be sent have met such an edit.
    func withConflicts(at now: Duration) -> [PlainQueue] {
        var found = [self]
        var next = 0
        while next < found.count {
            let queue = found[next]
            next += 1
            for modifier in queue.unsettled
            where queue.isOvertakenByOthers(modifier) != false
                && queue.refusal(toSend: modifier.id, key: modifier.key, at: now, isMet: true)
                    == nil
            {
                var met = queue
                met.meetConflict(modifier)
                if !found.contains(met) { found.append(met) }
            }
        }
        return found
    }

    private mutating func meetConflict(_ modifier: PlainModifier) {
        guard modifier.onConflict == .person || !holds(.serverMayWin) else {
            return die(modifier.id, "conflict")
        }
        var theirs: [String: Base] = [:]
        for change in modifier.visible
        where isOther(change, than: modifier.seen[change.path]) != false {
            theirs[change.path] = base(change.path)
        }
        change(modifier.id) { [theirs] in $0.standing = .conflict(theirs: theirs) }
    }

    /// A person has decided that the write counts, over what was found then.
    mutating func overrule(_ id: String, theirs: [String: Base]) {
        change(id) {
            for (path, base) in theirs { $0.seen[path] = Seen(base: base, isMixed: false) }
            $0.round += 1
            $0.sentOn = [:]
            $0.standing = .waiting
        }
    }
}

extension PlainEffect {
    /// The members that an effect assigns to; nil where it keeps what others have added.
    fileprivate var assigned: Assigned? {
        switch self {
        case .put, .delete: .all
        case .merge(let name, _), .set(let name, _), .patch(let name, _, _), .append(let name, _):
            .member(name)
        case .add, .listAdd, .addObject, .place, .none: nil
        }
    }

    fileprivate enum Assigned {
        case all
        case member(String)

        /// Nil where they are not known.
        func values(of base: PlainQueue.Base) -> PlainValue? {
            guard case .value(let value, let isComplete) = PlainQueue.view(base) else { return nil }
            switch self {
            case .all: return isComplete ? value : nil
            case .member(let name):
                guard let member = value.members[name] else {
                    return isComplete ? PlainValue() : nil
                }
                return PlainValue([name: member])
            }
        }
    }
}
