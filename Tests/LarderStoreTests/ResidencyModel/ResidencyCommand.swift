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
    /// `cache.db` cannot store this answer.
    case storeMarker(ResidencyFetch)
}

/// Runs commands, each over both files as those before it in the group have left them; false where
/// one does nothing, is refused, or has to wait for a later group.
struct ResidencyWriter {
    var memory: ResidencyState
    var group: ResidencyGroup

    private var world: ResidencyWorld { memory.world }

    private func holds(_ rule: ResidencyRule) -> Bool { memory.holds(rule) }

    /// Runs a command as the group's next one.
    mutating func add(_ command: ResidencyCommand) -> Bool {
        let before = (group.usesState, group.usesCache)
        (group.usesState, group.usesCache) = (false, false)
        group.step = memory.next
        guard run(command) else { return false }
        memory.next += 1
        precondition(memory.next < 32)
        group.commands.append(command)
        if group.usesCache { group.inCache.append(command) }
        if group.usesCache, group.usesState { group.inBoth.append(command) }
        group.usesState = group.usesState || before.0
        group.usesCache = group.usesCache || before.1
        return true
    }

    private mutating func run(_ command: ResidencyCommand) -> Bool {
        switch command {
        case .accept(let modifier): return accept(modifier)
        case .settle(let modifier, let isConfirmed): return settle(modifier, isConfirmed)
        case .answer(let fetch): return answer(fetch)
        case .put(let keys, let word): return put(keys, word)
        case .pin(let key):
            guard !group.state.pins.has(key), promote(pinned(.of(key))) else { return false }
            pin(group.state.pins.union(.of(key)))
            return true
        case .unpin(let key):
            guard group.state.pins.has(key) else { return false }
            pin(group.state.pins.subtracting(.of(key)))
            return true
        case .forget(let key): return forget(key)
        case .evict(let key): return evict(key)
        case .copyAhead: return copyAhead()
        case .demote(let keys): return demote(keys)
        case .deleteDemoted: return deleteDemoted()
        case .removeGarbage(let key): return removeGarbage(key)
        case .storeMarker(let fetch): return storeMarker(fetch)
        }
    }

    // MARK: Where rows live

    /// Whether the writer sees the row in `state.db`.
    private func lives(_ key: Int) -> Bool {
        memory.index.union(group.arrivals).has(key)
    }

    private func row(_ key: Int) -> ModelRow {
        lives(key) ? group.state.rows[key] : group.cache.rows[key]
    }

    private var mark: ModelStep { lives(0) ? group.state.mark : group.cache.mark }

    private func visibleKey(_ user: Int, _ id: Int) -> Int? {
        ResidencyTruth.visibleKey(user, id, world, front: mark) { row($0) }
    }

    /// The rows that are durable together with some.
    private func closure(_ keys: ModelKeys) -> ModelKeys {
        var keys = keys
        if world.isUnit, keys != [], holds(.variantsMoveTogether) { keys = .both }
        if keys.has(0), world.refers(row(0).content), holds(.entitiesMoveWithAnswers) {
            keys.insert(.second)
        }
        return keys
    }

    /// The rows with a reason, by `state.db`.
    var reasons: ModelKeys {
        var keys = pinned(group.state.pins)
        for modifier in 0..<2 where group.state.modifiers[modifier].isUnsettled {
            keys.formUnion(world.reasons(modifier))
        }
        return holds(.referencesAreReasons) ? closure(keys) : keys
    }

    private mutating func pin(_ pins: ModelKeys) {
        group.state.pins = pins
        group.usesState = true
        group.say(.state) { $0.pins = pins }
    }

    private func pinned(_ pins: ModelKeys) -> ModelKeys {
        world.pinsBoth && pins != [] && holds(.pinHoldsOwn) ? .both : pins
    }

    /// Brings rows into `state.db` with all that moves with them.
    private mutating func promote(_ keys: ModelKeys) -> Bool {
        var all = closure(keys)
        if !holds(.reasonPromotesReferences), keys.isSubset(of: memory.index) { all = keys }
        if world.copiesAhead, world.refersFrom != nil, !holds(.closureIsWalkedAgain) { all = keys }
        let new = all.subtracting(memory.index.union(group.arrivals))
        guard group.changed.isDisjoint(with: new) || !holds(.changedIsPromotedLater) else {
            return false
        }
        if group.state.held.union(new).count > world.heldMax {
            group.isRefused = true
            if !holds(.refusedLeavesNoTrace) { memory.index.formUnion(new) }
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
        if holds(.indexedBeforeCommit), new != [] { enterIndex(new) }
        return true
    }

    private mutating func enterIndex(_ keys: ModelKeys) {
        memory.index.formUnion(keys)
        for reader in memory.readers.indices { memory.readers[reader].hasMoved = true }
    }

    /// Stores a value of a row in the file where it lives.
    private mutating func store(
        _ content: ModelContent,
        _ key: Int,
        said: ModelStep,
        raises: Bool = false
    ) -> Bool {
        let old = row(key)
        var row = ModelRow(content: content, rev: group.step, said: said)
        let isNew = old.content != content
        if !isNew, !raises { row.rev = old.rev }
        let isDurable = lives(key)
        group.touched.insert(.of(world.id(key)))
        let file: ResidencyGroup.File = isDurable ? .state : .cache
        if isDurable, holds(.durableIsWrittenToState) {
            group.state.rows[key] = row
            group.usesState = group.usesState || row != old
        } else {
            group.cache.rows[key] = row
            group.changed.insert(.of(key))
            group.usesCache = true
        }
        if isNew { log(key, file) }
        group.say(file) { $0.rows[key] = ModelRow(content: content, said: said) }
        if key == 0, isDurable, world.refers(content), holds(.newReferencePromotes),
            !promote(.second)
        {
            return false
        }
        guard world.isShared else { return true }
        if key == 1 { hide(said, file) }
        let own = self.row(1)
        if key == 0, holds(.newSharedRowIsHidden), !own.isAbsent { hide(own.said, file) }
        return true
    }

    /// The own row is in front of the shared one from now on.
    private mutating func hide(_ said: ModelStep, _ file: ResidencyGroup.File) {
        let isInState = lives(0)
        group.say(isInState ? .state : file) { $0.front = max($0.front, said) }
        guard holds(.ownRowHidesShared), isInState || !group.cache.rows[0].isAbsent else { return }
        if isInState, holds(.markIsInFileOfShared) {
            group.usesState = group.usesState || group.state.mark < said
            group.state.mark = max(group.state.mark, said)
        } else {
            group.usesCache = group.usesCache || group.cache.mark < said
            if group.cache.mark < said, holds(.markIsPartOfRow) { group.changed.insert(.first) }
            group.cache.mark = max(group.cache.mark, said)
        }
    }

    private mutating func log(_ key: Int, _ file: ResidencyGroup.File) {
        guard world.hasLog else { return }
        let bit: UInt64 = 1 << (UInt64(group.step) * 2 + UInt64(key))
        if file == .state { group.state.log |= bit } else { group.cache.log |= bit }
        group.say(file) { $0.log |= bit }
    }

    // MARK: Modifiers

    private mutating func accept(_ modifier: Int) -> Bool {
        guard memory.told[modifier] == .nothing, !group.state.modifiers[modifier].isUnsettled,
            promote(world.reasons(modifier))
        else { return false }
        let new = ModelModifier(phase: .queued, accepted: group.step)
        group.state.modifiers[modifier] = new
        group.usesState = true
        group.touched.formUnion(world.targets(modifier))
        group.say(.state) { $0.modifiers[modifier] = new }
        return true
    }

    private mutating func settle(_ modifier: Int, _ isConfirmed: Bool) -> Bool {
        guard group.state.modifiers[modifier].phase == .queued,
            memory.applied[modifier] == isConfirmed
        else { return false }
        let user = world.user(modifier)
        group.usesState = true
        group.touched.formUnion(world.targets(modifier))
        var new = ModelModifier()
        for id in 0..<world.ids where world.targets(modifier).has(id) {
            let key = visibleKey(user, id) ?? (world.isShared ? 0 : id)
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
            if world.isShared, key == 1, isConfirmed { hide(group.step, .state) }
        }
        group.state.modifiers[modifier] = new
        group.settleTruth(modifier, isConfirmed, world)
        return true
    }

    // MARK: Values

    private mutating func put(_ keys: ModelKeys, _ word: UInt8) -> Bool {
        for key in world.keys where keys.has(key) {
            guard store(.word(word), key, said: group.step) else { return false }
            answerAccepted(key, start: group.step)
        }
        return group.usesState || group.usesCache
    }

    private mutating func answer(_ fetch: ResidencyFetch) -> Bool {
        let user = fetch.kind.user
        memory.fetches.removeAll { $0 == fetch }
        let key = fetch.kind.isShared ? 0 : world.ownKey(user, 0) ?? 0
        // The truth judges by itself; a world in which both disagree has a fault at the end.
        let seen = group.truth.visibleKey(user, 0, world).map { group.truth.rows[$0].said } ?? 0
        let isLate = fetch.start < max(seen, group.truth.fences[0])
        let seenKey = holds(.lateIsJudgedByVisible) ? visibleKey(user, 0) : key
        let isTakenForLate =
            fetch.start < (seenKey.map { row($0).said } ?? 0)
            || fetch.start < group.fences[0]
        let before = (group.truth, group.savedTruth)
        if !isTakenForLate || !holds(.lateIsDropped) {
            guard store(fetch.content, key, said: fetch.start, raises: true) else { return false }
            if world.isShared, fetch.kind.isShared, user == 0 { remove(1) }
            answerAccepted(key, start: fetch.start)
        }
        if isLate { (group.truth, group.savedTruth) = before }
        return true
    }

    /// Modifiers that were confirmed before the request of this answer have their answer.
    private mutating func answerAccepted(_ key: Int, start: ModelStep) {
        guard world.isShared else { return }
        for modifier in 0..<2 {
            let confirmed = group.state.modifiers[modifier].confirmed
            guard group.state.modifiers[modifier].phase == .accepted,
                visibleKey(world.user(modifier), 0) == key
            else { continue }
            if start <= confirmed { memory.fail("a late answer settles m\(modifier)") }
            group.say(.state) { $0.modifiers[modifier] = ModelModifier() }
            guard holds(.answerSettlesAccepted) else { continue }
            group.state.modifiers[modifier] = ModelModifier()
            group.usesState = true
        }
    }

    /// Takes a row away where it lives: a marker in `state.db`, nothing in `cache.db`.
    private mutating func remove(_ key: Int) {
        guard !row(key).isAbsent else { return }
        let said = row(key).said
        let isDurable = lives(key)
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
        log(key, isDurable ? .state : .cache)
        let id = world.id(key)
        if holds(.removalLeavesFence) { group.fences[id] = max(group.fences[id], said) }
        group.say(isDurable ? .state : .cache) {
            $0.rows[key] = ModelRow()
            $0.fences[id] = max($0.fences[id], said)
        }
    }

    private mutating func forget(_ key: Int) -> Bool {
        let isTargeted = (0..<2).contains {
            group.state.modifiers[$0].isUnsettled && world.reasons($0).has(key)
        }
        guard !row(key).isAbsent, !isTargeted else { return false }
        if group.state.pins.has(key) { pin(group.state.pins.subtracting(.of(key))) }
        remove(key)
        return true
    }

    private mutating func evict(_ key: Int) -> Bool {
        guard !group.cache.rows[key].isAbsent else { return false }
        if lives(key) {
            guard !holds(.evictionAsksIndex) else { return false }
            group.cache.rows[key] = ModelRow()
            group.cache.log |= world.hasLog ? 1 << (UInt64(group.step) * 2 + UInt64(key)) : 0
            group.usesCache = true
            return true
        }
        remove(key)
        return true
    }

    // MARK: Maintenance

    private mutating func copyAhead() -> Bool {
        if world.refersFrom != nil { return !lives(1) && promote(.second) }
        guard world.isLarge, !row(0).isAbsent else { return false }
        if lives(0) {
            group.cache.copied = group.state.rows[0].content
            group.usesCache = true
        } else {
            group.state.copied = group.cache.rows[0].content
            group.usesState = true
        }
        return true
    }

    private mutating func demote(_ keys: ModelKeys) -> Bool {
        guard memory.half == [], keys.isSubset(of: group.state.held),
            keys.isDisjoint(with: reasons)
        else { return false }
        group.isDemotion = true
        (group.usesState, group.usesCache) = (true, true)
        group.departures = keys
        for key in world.keys where keys.has(key) {
            let row = group.state.rows[key]
            if !row.isAbsent {
                group.cache.rows[key] = row
                guard takeCopied(key) else { return false }
            } else if holds(.markerClearsCache) {
                group.cache.rows[key] = ModelRow()
            }
            if key == 0 {
                group.cache.mark = row.isAbsent || !holds(.marksMove) ? 0 : group.state.mark
            }
            if world.isShared, key == 1, holds(.ownRowHidesAgain), !lives(0) {
                group.cache.mark = max(group.cache.mark, row.said)
            }
        }
        delete(keys)
        return true
    }

    /// A large body is demoted with the chunks that were copied before.
    private mutating func takeCopied(_ key: Int) -> Bool {
        guard world.isLarge, key == 0 else { return true }
        let isSame = group.cache.copied == group.state.rows[0].content
        guard isSame || !holds(.bodyIsCompared) else { return false }
        group.cache.rows[0].content = group.cache.copied
        group.cache.copied = .absent
        return true
    }

    private mutating func delete(_ keys: ModelKeys) {
        for key in world.keys where keys.has(key) { group.state.rows[key] = ModelRow() }
        group.state.held.subtract(keys)
        if keys.has(0) { group.state.mark = 0 }
    }

    /// The second half of a demotion that has let others in between.
    private mutating func deleteDemoted() -> Bool {
        guard memory.half != [] else { return false }
        group.departures = memory.half
        delete(memory.half)
        memory.half = []
        group.usesState = true
        return true
    }

    private mutating func removeGarbage(_ key: Int) -> Bool {
        memory.garbage.remove(.of(key))
        guard lives(key) || !holds(.garbageIsCheckedAgain),
            !group.cache.rows[key].isAbsent
        else { return false }
        group.cache.rows[key] = ModelRow()
        if key == 0 { group.cache.mark = 0 }
        group.changed.insert(.of(key))
        group.usesCache = true
        return true
    }

    /// A marker hides the older row until its demotion has deleted it.
    private mutating func storeMarker(_ fetch: ResidencyFetch) -> Bool {
        guard !lives(0) else { return false }
        group.state.rows[0] = ModelRow(rev: group.step, said: fetch.start)
        group.state.held.insert(.first)
        (group.arrivals, group.usesState, group.touched) = (.first, true, .first)
        enterIndex(.first)
        group.say(.state) { $0.rows[0] = ModelRow() }
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
