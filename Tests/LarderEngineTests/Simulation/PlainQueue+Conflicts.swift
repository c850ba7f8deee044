/// Edits of other devices (case 19).
///
/// A write is compared before each attempt of a round that cannot have been applied. The origin gives
/// no strong ETag, so that nothing but the comparison finds such an edit.
extension PlainQueue {
    /// The members that a write assigns to, as it has seen them.
    struct Seen: Hashable {
        /// In base at the acceptance, or as the last own write has left it.
        var base: Touched
        /// In the view beneath the write at the acceptance.
        let view: Touched
        /// Earlier values of `base`, and values in which another device may have a part: the model does
        /// not say whether they count as seen.
        var former: [Touched] = []
        /// Whether the model does not say what counts as seen.
        var isMixed = false

        func has(_ now: Touched) -> Bool { now == base || now == view }

        /// An own write has made this of the target.
        fileprivate mutating func take(_ new: Touched) {
            if !former.contains(base) { former.append(base) }
            base = new
        }
    }

    /// Members of a target; without the others.
    enum Touched: Hashable {
        case deleted
        case values(PlainValue)
    }

    func seen(by modifier: PlainModifier) -> [String: Seen] {
        guard modifier.onConflict != nil else { return [:] }
        var seen: [String: Seen] = [:]
        for change in modifier.visible {
            // Nothing is compared if the target was not known.
            guard let base = change.effect.assignedValues(in: Self.view(base(change.path))) else {
                continue
            }
            let isTargeted = isTargeted(change.path) && holds(.ownIsNotOthers)
            let view = isTargeted ? change.effect.assignedValues(in: shown(change.path).view) : nil
            seen[change.path] = Seen(base: base, view: view ?? base)
        }
        return seen
    }

    /// An own write is confirmed: later writes see what it has made of a target.
    ///
    /// The answer may show more than the write has changed, which another device has changed then.
    /// With `isRead` a read has shown the write.
    mutating func see(
        _ path: String,
        after own: PlainEffect,
        of id: String,
        from before: PlainView,
        isRead: Bool = false
    ) {
        guard holds(.ownIsNotOthers) else { return }
        let after = Self.view(base(path))
        for modifier in modifiers where modifier.id != id {
            guard var seen = modifier.seen[path],
                let effect = modifier.visible.first(where: { $0.path == path })?.effect,
                let new = effect.assignedValues(in: after), !seen.has(new)
            else { continue }
            let old = effect.assignedValues(in: before)
            let isOwn = old.map { seen.has($0) && own.makesAll(of: $0, new) } ?? false
            let isKnown = old.map { seen.has($0) || !seen.former.contains($0) } ?? true
            if own.makes(new, of: seen, for: effect) {
                seen.take(new)
            } else if isOwn, !isRead {
                // Another device may have a part in it: the write appends to what there is.
                seen.former.append(new)
            } else if isRead || !isKnown || own.isOfList {
                seen.isMixed = true
            }
            // The queue may forget then what it found at the target.
            if case .conflict = modifier.standing { seen.isMixed = true }
            change(modifier.id) { [seen] in $0.seen[path] = seen }
        }
    }

    /// Whether another device has changed what a write changes; nil where the model does not say.
    func isOvertakenByOthers(_ modifier: PlainModifier) -> Bool? {
        let sent = first(of: modifier.id) ?? modifier
        guard modifier.onConflict != nil, !sent.mayBeApplied, holds(.othersAreCompared),
            modifier.onConflict != .client || !holds(.clientMayWin)
        else { return false }
        let found = modifier.visible.map { isOther($0, than: modifier.seen[$0.path], of: modifier) }
        if found.contains(true) { return true }
        return found.contains(nil) ? nil : false
    }

    private func isOther(
        _ change: PlainModifier.Change,
        than seen: Seen?,
        of modifier: PlainModifier
    ) -> Bool? {
        let now = Self.view(base(change.path))
        // Of a deleted target the server says itself what an update means (case 20).
        guard let seen, let touched = change.effect.assignedValues(in: now), touched != .deleted
        else { return false }
        // An edit that makes the same is none.
        if change.effect.applied(to: now) == now { return false }
        if seen.isMixed { return nil }
        if touched == seen.base { return false }
        if seen.former.contains(touched) { return nil }
        if touched == seen.view { return false }
        // A read may show writes that were answered 202.
        var (effects, value): ([PlainEffect], Touched) = ([], seen.base)
        for other in unsettled.prefix(while: { $0.id != modifier.id }) {
            guard case .accepted = other.standing else { continue }
            effects += other.changes(change.path)
        }
        for effect in effects {
            value = effect.applied(to: value, for: change.effect) ?? value
            if value == touched { return false }
        }
        return effects.isEmpty ? true : nil
    }

    /// The queues that this may be after one of the writes that are to be sent has met such an edit.
    func withConflict(at now: Duration) -> [PlainQueue] {
        var found: [PlainQueue] = []
        for modifier in unsettled {
            let isMet = isOvertakenByOthers(modifier)
            let members = members(of: modifier.id)
            let isParted = members.contains { isOvertakenByOthers($0) != false }
            guard isMet != false || isParted && holds(.editPartsGroup),
                refusal(toSend: modifier.id, key: modifier.key, at: now, isMet: true) == nil
            else { continue }
            if isMet != false {
                var met = self
                met.meetConflict(modifier)
                found.append(met)
            }
            if isMet != true, isParted {
                // Without the others, the first is sent with another request.
                var parted = self
                parted.takeApart(modifier.id)
                parted.change(modifier.id) { $0.round += 1 }
                found.append(parted)
            }
        }
        return found
    }

    private mutating func meetConflict(_ modifier: PlainModifier) {
        takeApart(modifier.id)
        guard modifier.onConflict == .person || !holds(.serverMayWin) else {
            return die(modifier.id, "conflict")
        }
        var theirs: [String: Base] = [:]
        for change in modifier.visible {
            let isOther = isOther(change, than: modifier.seen[change.path], of: modifier)
            guard isOther != false else { continue }
            theirs[change.path] = base(change.path)
            if isOther == nil { self.change(modifier.id) { $0.seen[change.path]?.isMixed = true } }
        }
        change(modifier.id) { [theirs] in $0.standing = .conflict(theirs: theirs) }
    }

    /// A person has decided that the write counts, over what was found then.
    mutating func overrule(_ id: String, theirs: [String: Base]) {
        change(id) {
            for change in $0.visible {
                guard let base = theirs[change.path], let old = $0.seen[change.path],
                    let new = change.effect.assignedValues(in: Self.view(base))
                else { continue }
                $0.seen[change.path] = Seen(base: new, view: new, isMixed: old.isMixed)
            }
            $0.round += 1
            $0.sentOn = [:]
            $0.standing = .waiting
        }
    }
}

extension PlainEffect {
    private enum Assigned {
        case all
        case member(String)
    }

    /// The members that an effect assigns to; nil where it keeps what others have added.
    private var assigned: Assigned? {
        switch self {
        case .put, .delete: .all
        case .merge(let name, _), .set(let name, _), .patch(let name, _, _), .append(let name, _):
            .member(name)
        case .add, .listAdd, .addObject, .place, .none: nil
        }
    }

    /// The members that an effect assigns to, in a target; nil where they are not known.
    fileprivate func assignedValues(in view: PlainView) -> PlainQueue.Touched? {
        switch (assigned, view) {
        case (nil, _), (_, .unknown): return nil
        case (_, .deleted): return .deleted
        case (.all, .value(let value, let isComplete)): return isComplete ? .values(value) : nil
        case (.member(let name), .value(let value, let isComplete)):
            guard let member = value.members[name] else {
                return isComplete ? .values(PlainValue()) : nil
            }
            return .values(PlainValue([name: member]))
        }
    }

    /// Whether all in which two values differ may be the doing of this effect.
    fileprivate func makesAll(of old: PlainQueue.Touched, _ new: PlainQueue.Touched) -> Bool {
        switch (assigned, old, new) {
        case (.all, _, _): return true
        case (.member(let name), .values(var old), .values(var new)):
            old.members[name] = nil
            new.members[name] = nil
            return old == new
        case (.member, _, _), (nil, _, _): return old == new
        }
    }

    /// Whether this effect makes a value of what another effect's write has seen.
    fileprivate func makes(
        _ new: PlainQueue.Touched,
        of seen: PlainQueue.Seen,
        for effect: PlainEffect
    ) -> Bool {
        [seen.base, seen.view].contains { applied(to: $0, for: effect) == new }
    }

    /// The members that another effect assigns to, after this one.
    fileprivate func applied(
        to touched: PlainQueue.Touched,
        for effect: PlainEffect
    ) -> PlainQueue.Touched? {
        let view: PlainView =
            switch touched {
            case .deleted: .deleted
            case .values(let value): .value(value, isComplete: true)
            }
        return applied(to: view).flatMap { effect.assignedValues(in: $0) }
    }

    /// Whether it is one of a list or of an object in it.
    fileprivate var isOfList: Bool {
        switch self {
        case .addObject, .place: true
        case .put, .merge, .set, .add, .patch, .append, .listAdd, .delete, .none: false
        }
    }
}
