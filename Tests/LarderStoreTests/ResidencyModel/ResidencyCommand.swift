/// A command of the writer.
enum ResidencyCommand: Hashable {
    case accept(Int)
    case settle(Int, _ isConfirmed: Bool)
    /// The answer of a request.
    case answer(ResidencyFetch)
    /// A client's own value, or an answer that nothing can overtake, of these keys in one step.
    case put(ModelKeys, word: UInt8)
    case pin(Int)
    case unpin(Int)
    /// A client deletes the row, and its pin.
    case forget(Int)
    case evict(Int)
    /// Copies the chunks of a large body, or promotes an entity, before the group that says why.
    case copyAhead
    // Maintenance.
    case demote(ModelKeys)
    case deleteDemoted
    case removeGarbage(Int)
}

/// The commands, each over both files as those before it in the group have left them; false where
/// one does nothing, is refused, or has to wait for a later group.
extension ResidencyState {
    mutating func run(_ command: ResidencyCommand, _ group: inout ResidencyGroup) -> Bool {
        switch command {
        case .accept(let modifier): return accept(modifier, &group)
        case .settle(let modifier, let isConfirmed): return settle(modifier, isConfirmed, &group)
        case .answer(let fetch): return answer(fetch, &group)
        case .put(let keys, let word): return put(keys, word, &group)
        case .pin(let key):
            guard !group.state.pins.has(key), promote(.of(key), &group) else { return false }
            group.state.pins.insert(.of(key))
            group.usesState = true
            group.say(.state) { $0.pins.insert(.of(key)) }
            return true
        case .unpin(let key):
            guard group.state.pins.has(key) else { return false }
            group.state.pins.remove(.of(key))
            group.usesState = true
            group.say(.state) { $0.pins.remove(.of(key)) }
            return true
        case .forget(let key): return forget(key, &group)
        case .evict(let key): return evict(key, &group)
        case .copyAhead: return copyAhead(&group)
        case .demote(let keys): return demote(keys, &group)
        case .deleteDemoted: return deleteDemoted(&group)
        case .removeGarbage(let key): return removeGarbage(key, &group)
        }
    }

    // MARK: Where rows live

    /// Whether the writer sees the row in `state.db`.
    private func lives(_ key: Int, _ group: ResidencyGroup) -> Bool {
        index.union(group.arrivals).has(key)
    }

    private func row(_ key: Int, _ group: ResidencyGroup) -> ModelRow {
        lives(key, group) ? group.state.rows[key] : group.cache.rows[key]
    }

    private func mark(_ group: ResidencyGroup) -> ModelStep {
        lives(0, group) ? group.state.mark : group.cache.mark
    }

    private func visibleKey(_ user: Int, _ id: Int, _ group: ResidencyGroup) -> Int? {
        ResidencyTruth.visibleKey(user, id, world, front: mark(group)) { row($0, group) }
    }

    /// The rows that are durable together with some.
    private func closure(_ keys: ModelKeys, _ group: ResidencyGroup) -> ModelKeys {
        var keys = keys
        if world.isUnit, keys != [], holds(.variantsMoveTogether) { keys = .both }
        if keys.has(0), world.refers(row(0, group).content), holds(.entitiesMoveWithAnswers) {
            keys.insert(.second)
        }
        return keys
    }

    /// The rows with a reason, by `state.db`.
    private func reasons(_ group: ResidencyGroup) -> ModelKeys {
        var keys = group.state.pins
        for modifier in 0..<2 where group.state.modifiers[modifier].isUnsettled {
            keys.formUnion(world.reasons(modifier))
        }
        return holds(.referencesAreReasons) ? closure(keys, group) : keys
    }

    /// Brings rows into `state.db` with all that moves with them.
    private mutating func promote(_ keys: ModelKeys, _ group: inout ResidencyGroup) -> Bool {
        var all = closure(keys, group)
        if !holds(.reasonPromotesReferences), keys.isSubset(of: index) { all = keys }
        if world.copiesAhead, world.refersFrom != nil, !holds(.closureIsWalkedAgain) { all = keys }
        let new = all.subtracting(index.union(group.arrivals))
        guard group.changed.isDisjoint(with: new) || !holds(.changedIsPromotedLater) else {
            return false
        }
        let isFull = group.state.held.union(new).count > world.heldMax
        if isFull {
            group.isRefused = true
            if !holds(.refusedLeavesNoTrace) { index.formUnion(new) }
            return false
        }
        for key in world.keys where new.has(key) {
            group.state.rows[key] = holds(.promotionCopies) ? group.cache.rows[key] : ModelRow()
            if key == 0, world.isLarge, !group.cache.rows[0].isAbsent {
                let isSame = group.state.copied == group.cache.rows[0].content
                guard isSame || !holds(.bodyIsCompared) else { return false }
                group.state.rows[0].content = group.state.copied
                group.state.copied = .absent
            }
            group.state.held.insert(.of(key))
            group.arrivals.insert(.of(key))
            group.usesState = true
            if key == 0, holds(.marksMove) { group.state.mark = group.cache.mark }
        }
        if holds(.indexedBeforeCommit), new != [] {
            index.formUnion(new)
            for reader in readers.indices { readers[reader].hasMoved = true }
        }
        return true
    }

    /// Stores a value of a row in the file where it lives.
    private mutating func store(
        _ content: ModelContent,
        _ key: Int,
        said: ModelStep,
        raises: Bool = false,
        _ group: inout ResidencyGroup
    ) -> Bool {
        let old = row(key, group)
        var row = ModelRow(content: content, rev: group.step, said: said)
        let isNew = old.content != content
        if !isNew, !raises { row.rev = old.rev }
        let isDurable = lives(key, group)
        group.touched.insert(.of(world.id(key)))
        if isDurable, holds(.durableIsWrittenToState) {
            group.state.rows[key] = row
            group.usesState = group.usesState || row != old
            if isNew { log(key, .state, &group) }
        } else {
            group.cache.rows[key] = row
            group.changed.insert(.of(key))
            group.usesCache = true
            if isNew { log(key, .cache, &group) }
        }
        group.say(isDurable ? .state : .cache) {
            $0.rows[key] = ModelRow(content: content, said: said)
        }
        if key == 0, isDurable, world.refers(content), holds(.newReferencePromotes),
            !promote(.second, &group)
        {
            return false
        }
        if world.isShared, key == 1 { hide(said, isDurable ? .state : .cache, &group) }
        if world.isShared, key == 0, holds(.newSharedRowIsHidden), !self.row(1, group).isAbsent {
            hide(self.row(1, group).said, isDurable ? .state : .cache, &group)
        }
        return true
    }

    /// The own row is in front of the shared one from now on.
    private mutating func hide(
        _ said: ModelStep,
        _ file: ResidencyGroup.File,
        _ group: inout ResidencyGroup
    ) {
        let isInState = lives(0, group)
        group.say(isInState ? .state : file) { $0.front = max($0.front, said) }
        guard holds(.ownRowHidesShared), isInState || !group.cache.rows[0].isAbsent else { return }
        if isInState, holds(.markIsInFileOfShared) {
            group.usesState = group.usesState || group.state.mark < said
            group.state.mark = max(group.state.mark, said)
        } else {
            group.usesCache = group.usesCache || group.cache.mark < said
            group.cache.mark = max(group.cache.mark, said)
        }
    }

    private func log(_ key: Int, _ file: ResidencyGroup.File, _ group: inout ResidencyGroup) {
        guard world.hasLog else { return }
        let bit: UInt64 = 1 << (UInt64(group.step) * 2 + UInt64(key))
        if file == .state { group.state.log |= bit } else { group.cache.log |= bit }
        group.say(file) { $0.log |= bit }
    }

    // MARK: Modifiers

    private mutating func accept(_ modifier: Int, _ group: inout ResidencyGroup) -> Bool {
        guard told[modifier] == .nothing, !group.state.modifiers[modifier].isUnsettled,
            promote(world.reasons(modifier), &group)
        else { return false }
        let new = ModelModifier(phase: .queued, accepted: group.step)
        group.state.modifiers[modifier] = new
        group.usesState = true
        group.touched.formUnion(world.targets(modifier))
        group.say(.state) { $0.modifiers[modifier] = new }
        return true
    }

    private mutating func settle(
        _ modifier: Int,
        _ isConfirmed: Bool,
        _ group: inout ResidencyGroup
    ) -> Bool {
        guard group.state.modifiers[modifier].phase == .queued, applied[modifier] == isConfirmed
        else { return false }
        let user = world.user(modifier)
        group.usesState = true
        group.touched.formUnion(world.targets(modifier))
        var new = ModelModifier()
        for id in 0..<world.ids where world.targets(modifier).has(id) {
            let key = visibleKey(user, id, group) ?? (world.isShared ? 0 : id)
            let waits = world.isShared && key == 0 && isConfirmed && holds(.acceptedShowsOn)
            if waits {
                new = group.state.modifiers[modifier]
                (new.phase, new.confirmed) = (.accepted, group.step)
            } else if isConfirmed, !(world.isShared && key == 0) {
                group.state.rows[key].content = group.state.rows[key].content.holding(modifier)
                group.state.rows[key].said = group.step
            }
            if isConfirmed { group.fences[id] = group.step }
            if holds(.settlementRaises) { group.state.rows[key].rev = group.step }
            if !holds(.saidIsNotRaised) { group.state.rows[key].said = group.step }
            if world.isShared, key == 1, isConfirmed { hide(group.step, .state, &group) }
        }
        group.state.modifiers[modifier] = new
        group.settleTruth(modifier, isConfirmed, world)
        return true
    }

    // MARK: Values

    private mutating func put(
        _ keys: ModelKeys,
        _ word: UInt8,
        _ group: inout ResidencyGroup
    ) -> Bool {
        for key in world.keys where keys.has(key) {
            guard store(.word(word), key, said: group.step, &group) else { return false }
            answerAccepted(key, start: group.step, &group)
        }
        return group.usesState || group.usesCache
    }

    private mutating func answer(
        _ fetch: ResidencyFetch,
        _ group: inout ResidencyGroup
    ) -> Bool {
        let user = fetch.kind.user
        fetches.removeAll { $0 == fetch }
        let key = fetch.kind.isShared ? 0 : world.ownKey(user, 0) ?? 0
        // The truth judges by itself; a world in which both disagree has a fault at the end.
        let seen = group.truth.visibleKey(user, 0, world).map { group.truth.rows[$0].said } ?? 0
        let isLate = fetch.start < max(seen, group.truth.fences[0])
        let seenKey = holds(.lateIsJudgedByVisible) ? visibleKey(user, 0, group) : key
        let isTakenForLate =
            fetch.start < (seenKey.map { row($0, group).said } ?? 0)
            || fetch.start < group.fences[0]
        let before = (group.truth, group.savedTruth)
        if !isTakenForLate || !holds(.lateIsDropped) {
            guard store(fetch.content, key, said: fetch.start, raises: true, &group) else {
                return false
            }
            if world.isShared, fetch.kind.isShared, user == 0 { remove(1, &group) }
            answerAccepted(key, start: fetch.start, &group)
        }
        if isLate { (group.truth, group.savedTruth) = before }
        return true
    }

    /// Modifiers that were confirmed before the request of this answer have their answer.
    private mutating func answerAccepted(
        _ key: Int,
        start: ModelStep,
        _ group: inout ResidencyGroup
    ) {
        guard world.isShared else { return }
        for modifier in 0..<2 {
            let confirmed = group.state.modifiers[modifier].confirmed
            guard group.state.modifiers[modifier].phase == .accepted,
                visibleKey(world.user(modifier), 0, group) == key
            else { continue }
            if start <= confirmed { fail("a late answer settles m\(modifier)") }
            group.say(.state) { $0.modifiers[modifier] = ModelModifier() }
            guard holds(.answerSettlesAccepted) else { continue }
            group.state.modifiers[modifier] = ModelModifier()
            group.usesState = true
        }
    }

    /// Takes a row away where it lives: a marker in `state.db`, nothing in `cache.db`.
    private mutating func remove(_ key: Int, _ group: inout ResidencyGroup) {
        guard !row(key, group).isAbsent else { return }
        let said = row(key, group).said
        let isDurable = lives(key, group)
        group.touched.insert(.of(world.id(key)))
        if isDurable, holds(.leavesByDemotionOnly) {
            group.state.rows[key] = ModelRow(rev: group.step, said: said)
        } else if isDurable {
            group.state.rows[key] = ModelRow()
            group.state.held.remove(.of(key))
            group.departures.insert(.of(key))
        } else {
            group.cache.rows[key] = ModelRow()
            group.changed.insert(.of(key))
            if key == 0 { group.cache.mark = 0 }
        }
        if isDurable { group.usesState = true } else { group.usesCache = true }
        log(key, isDurable ? .state : .cache, &group)
        let id = world.id(key)
        if holds(.removalLeavesFence) { group.fences[id] = max(group.fences[id], said) }
        group.say(isDurable ? .state : .cache) {
            $0.rows[key] = ModelRow()
            $0.fences[id] = max($0.fences[id], said)
        }
    }

    private mutating func forget(_ key: Int, _ group: inout ResidencyGroup) -> Bool {
        let isTargeted = (0..<2).contains {
            group.state.modifiers[$0].isUnsettled && world.reasons($0).has(key)
        }
        guard !row(key, group).isAbsent, !isTargeted else { return false }
        if group.state.pins.has(key) {
            group.state.pins.remove(.of(key))
            group.usesState = true
            group.say(.state) { $0.pins.remove(.of(key)) }
        }
        remove(key, &group)
        return true
    }

    private mutating func evict(_ key: Int, _ group: inout ResidencyGroup) -> Bool {
        guard !group.cache.rows[key].isAbsent else { return false }
        if lives(key, group) {
            guard !holds(.evictionAsksIndex) else { return false }
            group.cache.rows[key] = ModelRow()
            group.cache.log |= world.hasLog ? 1 << (UInt64(group.step) * 2 + UInt64(key)) : 0
            group.usesCache = true
            return true
        }
        remove(key, &group)
        return true
    }

    // MARK: Maintenance

    private mutating func copyAhead(_ group: inout ResidencyGroup) -> Bool {
        if world.refersFrom != nil { return !lives(1, group) && promote(.second, &group) }
        guard world.isLarge, !lives(0, group), !group.cache.rows[0].isAbsent else { return false }
        group.state.copied = group.cache.rows[0].content
        group.usesState = true
        return true
    }

    private mutating func demote(_ keys: ModelKeys, _ group: inout ResidencyGroup) -> Bool {
        guard half == [], keys.isSubset(of: state.held), keys.isDisjoint(with: reasons(group))
        else { return false }
        group.isDemotion = true
        (group.usesState, group.usesCache) = (true, true)
        group.departures = keys
        for key in world.keys where keys.has(key) {
            let row = group.state.rows[key]
            if !row.isAbsent {
                group.cache.rows[key] = row
            } else if holds(.markerClearsCache) {
                group.cache.rows[key] = ModelRow()
            }
            if key == 0 {
                group.cache.mark = row.isAbsent || !holds(.marksMove) ? 0 : group.state.mark
            }
            if world.isShared, key == 1, holds(.ownRowHidesAgain), !lives(0, group) {
                group.cache.mark = max(group.cache.mark, row.said)
            }
        }
        delete(keys, &group)
        return true
    }

    private func delete(_ keys: ModelKeys, _ group: inout ResidencyGroup) {
        for key in world.keys where keys.has(key) { group.state.rows[key] = ModelRow() }
        group.state.held.subtract(keys)
        if keys.has(0) { group.state.mark = 0 }
    }

    /// The second half of a demotion that has let others in between.
    private mutating func deleteDemoted(_ group: inout ResidencyGroup) -> Bool {
        guard half != [] else { return false }
        group.departures = half
        delete(half, &group)
        half = []
        group.usesState = true
        return true
    }

    private mutating func removeGarbage(_ key: Int, _ group: inout ResidencyGroup) -> Bool {
        garbage.remove(.of(key))
        guard lives(key, group) || !holds(.garbageIsCheckedAgain),
            !group.cache.rows[key].isAbsent
        else { return false }
        group.cache.rows[key] = ModelRow()
        if key == 0 { group.cache.mark = 0 }
        group.changed.insert(.of(key))
        group.usesCache = true
        return true
    }
}

extension ResidencyGroup {
    enum File {
        case state
        case cache
    }

    /// Says what is true after the command; of a part in `cache.db` only if that is committed.
    mutating func say(_ file: File, _ change: (inout ResidencyTruth) -> Void) {
        change(&truth)
        if file == .state { change(&savedTruth) }
    }

    /// A modifier is settled, or waits for the answer that replaces the shared row.
    mutating func settleTruth(_ modifier: Int, _ isConfirmed: Bool, _ world: ResidencyWorld) {
        let step = step
        say(.state) { truth in
            var new = ModelModifier()
            for id in 0..<world.ids where world.targets(modifier).has(id) {
                let visible = truth.visibleKey(world.user(modifier), id, world)
                let key = visible ?? (world.isShared ? 0 : id)
                guard isConfirmed else { continue }
                truth.fences[id] = step
                if world.isShared, key == 0 {
                    new = truth.modifiers[modifier]
                    (new.phase, new.confirmed) = (.accepted, step)
                } else {
                    truth.rows[key].content = truth.rows[key].content.holding(modifier)
                    truth.rows[key].said = step
                    if world.isShared { truth.front = max(truth.front, step) }
                }
            }
            truth.modifiers[modifier] = new
        }
    }
}
