/// A list whose objects are entities (cases 1 and 28).
///
/// The base of the list has the ids of the entities, in the order of the server. Clients see the
/// entities in the place of the ids.
extension PlainQueue {
    /// No URL of an entity.
    static let list = "/lists/all"

    static func path(of id: String) -> String { "/" + id }

    /// Whether the list as the server has said it names an entity.
    func isListed(_ path: String) -> Bool {
        Self.ids(of: Self.view(base(Self.list))).contains { Self.path(of: $0) == path }
    }

    private static func ids(of view: PlainView) -> [String] {
        guard case .ids(let ids)? = view.value?.members["items"] else { return [] }
        return ids
    }

    /// P-04.
    var shownList: Shown {
        let base = Self.view(base(Self.list))
        var view = base
        for modifier in unsettled {
            for effect in modifier.changes(Self.list) { view = effect.applied(to: view) ?? view }
        }
        let targets = Set(Self.ids(of: view).map(Self.path)).union([Self.list])
        let touching = modifiers.filter { modifier in
            modifier.changes.contains { targets.contains($0.path) }
        }
        let shown = resolved(view) { path in
            holds(.editsShowInLists) ? self.shown(path).view : Self.view(self.base(path))
        }
        let isMiss = shown == .unknown
        let pending = touching.filter { !$0.isDead && $0.standing != .answered }.map(\.id)
        return Shown(
            base: Base(resolved(base) { Self.view(self.base($0)) }),
            view: shown,
            pending: isMiss ? nil : pending.sorted(),
            failed: isMiss ? 0 : touching.filter(\.isDead).count
        )
    }

    /// The list with its entities; a deleted entity has no place in it, and with an unknown entity
    /// the list is unknown.
    private func resolved(_ view: PlainView, _ entity: (String) -> PlainView) -> PlainView {
        guard case .value(_, var isComplete) = view else { return view }
        // An object that only writes have put there does not count.
        let said = Self.ids(of: Self.view(base(Self.list)))
        var rows: [PlainValue.Row] = []
        for id in Self.ids(of: view) {
            switch entity(Self.path(of: id)) {
            case .unknown: return .unknown
            case .deleted where holds(.deletedLeavesLists): continue
            case .deleted: rows.append(PlainValue.Row(id: id, value: PlainValue()))
            case .value(let value, let isWhole):
                rows.append(PlainValue.Row(id: id, value: value))
                isComplete = isComplete && (isWhole || !said.contains(id))
            }
        }
        return .value(PlainValue(["items": .rows(rows)]), isComplete: isComplete)
    }

    /// The value of a target once the server has confirmed a change of it.
    ///
    /// A known list that has the object from now on has it as it was put there, also where the
    /// entity was deleted. Deleted entities are in a list no more to which an object was added.
    func confirmed(_ change: PlainModifier.Change) -> PlainView? {
        var base = Self.view(base(change.path))
        if case .addObject(let id, _, _) = change.effect, case .value(_, let isComplete) = base {
            let ids = Self.ids(of: base).filter { self.base(Self.path(of: $0)) != .deleted }
            guard !ids.contains(id) else { return base }
            base = .value(PlainValue(["items": .ids(ids)]), isComplete: isComplete)
        }
        if case .place(let object) = change.effect, base == .deleted, isListed(change.path) {
            return .value(object, isComplete: true)
        }
        return change.effect.applied(to: base)
    }

    /// The view of an answer with the list, if the store does not keep it: every waiting write shows
    /// (P-04).
    func shownList(on rows: [PlainValue.Row]) -> Shown {
        var queue = self
        for row in rows { queue.set(Self.path(of: row.id), .value(row.value)) }
        queue.set(Self.list, .value(PlainValue(["items": .ids(rows.map(\.id))])))
        return queue.shownList
    }

    // MARK: Evictions

    /// The queues that this may be where a client has evicted the list, the answer of an entity's own
    /// URL, or an entity by its key.
    ///
    /// "Rows that are being revalidated or followed are protected", and stay. No row goes that
    /// `state.db` keeps. The answer of an entity's own URL goes alone.
    func evicted(_ path: String, isByKey: Bool) -> [PlainQueue] {
        var after = self
        if path != Self.list, !isByKey {
            after = answerless(path)
        } else if !isKept(path) {
            after.set(path, .unknown)
        }
        return after == self ? [self] : [after, self]
    }

    /// The queue in which nothing is known of the list any more that writes come to target; nil where
    /// each entity of the list is known, or where the list is in `state.db` already.
    ///
    /// "An evicted child: the whole answer is a miss": such a write finds the base unknown (case 1), and
    /// the list does not show again before it is read. The child may come back at the same moment.
    func withoutBrokenList(targetedBy modifiers: [PlainModifier]) -> PlainQueue? {
        guard hasList, modifiers.contains(where: { !$0.changes(Self.list).isEmpty }),
            !isTargeted(Self.list), base(Self.list) != .unknown, shownList.base == .unknown
        else { return nil }
        var queue = self
        queue.set(Self.list, .unknown)
        return queue
    }

    // MARK: Answers

    /// Possible queues after an answer with the list, before writes that were answered 202 are compared
    /// with the answer.
    func listed(_ rows: [PlainValue.Row], _ reading: PlainReading) -> [PlainQueue] {
        let paths = rows.map { Self.path(of: $0.id) } + [Self.list]
        var found: [PlainQueue] = []
        for moment in moments(of: paths, reading) {
            let after = listed(rows) { self.touched($0, reading, after: moment) }
            if !found.contains(after) { found.append(after) }
        }
        return found
    }

    /// The queues that a client may be told of after an answer with the list that writes have overtaken,
    /// where nothing is known of the list: the list as it came, with the known entities (case 8).
    func told(_ rows: [PlainValue.Row], _ reading: PlainReading) -> [PlainQueue] {
        guard base(Self.list) == .unknown, isOvertaken(Self.list, reading) != false else {
            return []
        }
        return listed(rows, reading).map { queue in
            var told = queue
            for row in rows where queue.base(Self.path(of: row.id)) == .unknown {
                told.set(Self.path(of: row.id), .value(row.value))
            }
            told.set(Self.list, .value(PlainValue(["items": .ids(rows.map(\.id))])))
            return told
        }
    }

    /// The rest of an answer counts whose entities or whose order writes have touched meanwhile
    /// (case 8); nothing of it if no entity has a rest, or if nothing is known of one.
    private func listed(
        _ rows: [PlainValue.Row],
        _ touched: (String) -> PlainTouched
    ) -> PlainQueue {
        let late = rows.filter { !touched(Self.path(of: $0.id)).isEmpty }
        let isUseless = rows.allSatisfy { row in
            let path = Self.path(of: row.id)
            return touched(path) == .all || !touched(path).isEmpty && base(path) == .deleted
        }
        guard late.isEmpty || !isUseless,
            late.allSatisfy({ base(Self.path(of: $0.id)) != .unknown })
        else { return self }
        var after = self
        for row in rows { after.take(row, touched(Self.path(of: row.id))) }
        guard touched(Self.list).isEmpty else { return after }
        let ids = PlainValue(["items": .ids(rows.map(\.id))])
        after.say(Self.list, .value(ids), isLookedAt: false, isNew: false)
        return after
    }

    /// Takes an entity of an answer with the list, as far as no write has touched it meanwhile.
    private mutating func take(_ row: PlainValue.Row, _ touched: PlainTouched) {
        guard holds(.answerUpdatesEntities) else { return }
        let path = Self.path(of: row.id)
        if touched.isEmpty {
            say(path, .value(row.value), isLookedAt: false, isNew: false)
        } else if let mix = mix(base(path), .value(row.value), touched) {
            settle(path, on: mix, touching: touched, isNew: false)
        }
    }

    /// The queues that this may be where the process was killed while an answer with the list was
    /// stored, or where `cache.db` did not take it: entities are in either file, and `state.db` commits
    /// first.
    func listedInPart(_ rows: [PlainValue.Row], _ reading: PlainReading) -> [PlainQueue] {
        let paths = rows.map { Self.path(of: $0.id) } + [Self.list]
        var found: [PlainQueue] = []
        for moment in moments(of: paths, reading) {
            let parts: [PlainQueue] = rows.reduce([self]) { parts, row in
                let touched = touched(Self.path(of: row.id), reading, after: moment)
                return parts.flatMap { part in
                    var after = part
                    after.take(row, touched)
                    return after == part ? [part] : [part, after]
                }
            }
            for part in parts where !found.contains(part) { found.append(part) }
        }
        return found
    }
}
