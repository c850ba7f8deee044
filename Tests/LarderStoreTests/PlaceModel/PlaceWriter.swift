/// What the writer is asked for.
enum PlaceCommand: Hashable {
    case accept(Int)
    case settle(Int, _ isConfirmed: Bool)
    /// The answer of the fetch.
    case news
    /// A client's own, or an answer that nothing can overtake, of all these ids in one step.
    case put(PlaceIDs)
    case pin(Int)
    case unpin(Int)
    /// Takes what is claimed away with its row.
    case drop(Int)
    case evict(Int)
    /// Housekeeping: what is behind is shown again.
    case showAgain(Int)
    /// Housekeeping: what is released is shown whole, and once that is synced it goes.
    case prepare(Int)
    case remove
    /// Housekeeping: a copy that nothing targets goes.
    case releaseCopy
}

/// A command of a group, as it was run.
struct PlaceStep: Hashable {
    let command: PlaceCommand
    let number: PlaceNumber
    var usesState = false
    /// What counts in memory once `cache.db` is committed, or done with.
    var following: [PlaceMemoryChange] = []
    /// What counts only where `cache.db` is committed.
    var showing: [PlaceMemoryChange] = []
    /// What is behind where it is not.
    var shown = PlacePair(false)
    /// What it wrote to `cache.db` alone.
    var written = PlacePair(false)
    var account: PlaceAccount
}

/// The commands, each over both files as those before it in the group have left them; false where
/// one does nothing.
extension PlaceGroup {
    mutating func run(_ state: inout PlaceState) -> Bool {
        switch step.command {
        case .accept(let modifier): accept(modifier, &state)
        case .settle(let modifier, let isConfirmed): settle(modifier, isConfirmed, &state)
        case .news: news(&state)
        case .put(let ids): put(ids, &state)
        case .pin(let id): pin(id, &state)
        case .unpin(let id): unpin(id, state)
        case .drop(let id): drop(id, &state)
        case .evict(let id): evict(id, &state)
        case .showAgain(let id): showAgain(id, state)
        case .prepare(let id): prepare(id, &state)
        case .remove: remove(&state)
        case .releaseCopy: releaseCopy(state)
        }
    }

    // MARK: Showing

    /// Whether `cache.db` says what is saved.
    private func isShown(_ id: Int) -> Bool {
        guard let saved = durable.saved[id], !saved.row.isAbsent else { return false }
        return cache.rows[id].says(saved.row)
    }

    /// Has `cache.db` say what is saved.
    private mutating func show(_ id: Int, _ world: PlaceWorld, isWhole: Bool = false) {
        guard let saved = durable.saved[id], !saved.isCopy else { return }
        step.shown[id] = true
        if saved.row.isAbsent {
            if !durable.isLeftToCache(id, world) { store(PlaceRow(), id) }
        } else {
            var row = saved.row
            row.isHead = world.hasHeads && saved.isPinned && !isWhole
            store(row, id)
        }
    }

    /// Has it say from a step on what it says.
    private mutating func raise(_ id: Int) {
        guard durable.saved[id]?.isCopy != true else { return }
        step.shown[id] = true
        var row = cache.rows[id]
        row.rev = max(row.rev, step.number)
        if !row.isAbsent { store(row, id) }
    }

    private mutating func store(_ row: PlaceRow, _ id: Int) {
        cache.rows[id] = row
        usesCache = true
    }

    /// Takes what is saved away.
    private mutating func unclaim(_ id: Int) {
        durable.saved[id] = nil
        step.following = [.remove(id)]
    }

    // MARK: Modifiers

    private mutating func accept(_ modifier: Int, _ state: inout PlaceState) -> Bool {
        let world = state.world
        guard state.told[modifier] == .nothing, durable.accepts[modifier] == 0 else { return false }
        if world.isShared, !step.account.hasCopy {
            step.account.hasCopy = true
            step.account.words[1] = step.account.words[0]
            step.account.said[1] = step.account.said[0]
        }
        for id in 0..<world.ids where world.targets(modifier, id) {
            var saved = durable.saved[id] ?? PlaceSaved()
            if durable.isLeftToCache(id, world), state.holds(.acceptSavesBase) {
                saved.row = world.isShared ? durable.base(0, cache, world) : cache.rows[id]
                saved.row.isHead = false
            }
            if !saved.row.isAbsent { saved.row.rev = max(saved.row.rev, step.number) }
            saved.isCopy = world.isShared
            durable.saved[id] = saved
            // Memory has it from before the commit on.
            if state.holds(.memoryClaimsFirst) {
                state.change(.target(id))
            } else {
                step.following.append(.target(id))
            }
        }
        durable.accepts[modifier] = step.number
        step.account.changes[modifier] = true
        step.usesState = true
        return true
    }

    private mutating func settle(
        _ modifier: Int,
        _ isConfirmed: Bool,
        _ state: inout PlaceState
    ) -> Bool {
        let world = state.world
        guard durable.accepts[modifier] > 0, state.applied[modifier] == isConfirmed else {
            return false
        }
        durable.accepts[modifier] = 0
        step.account.changes[modifier] = false
        step.usesState = true
        for id in 0..<world.ids where world.targets(modifier, id) {
            step.following.append(.untarget(id))
            var row = durable.saved[id]?.row ?? PlaceRow()
            if isConfirmed {
                row.content = row.content.holding(modifier)
                row.said = world.isShared ? step.number : 0
                step.account.words[id] = step.account.words[id].holding(modifier)
                step.account.said[id] = row.said
                for place in 0..<world.ids where world.isShared || place == id {
                    state.fences[place] = step.number
                    step.account.fences[place] = step.number
                }
            }
            guard isConfirmed || state.holds(.settlingRaises) else { continue }
            if !row.isAbsent { row.rev = step.number }
            durable.saved[id]?.row = row
            if isConfirmed { show(id, world) } else { raise(id) }
        }
        return true
    }

    // MARK: What is said

    private mutating func news(_ state: inout PlaceState) -> Bool {
        guard let fetch = state.fetch, fetch.hasArrived else { return false }
        let isShared = state.world.isShared
        for id in isShared && durable.saved[1] != nil ? [1, 0] : [fetch.id] {
            if step.account.fences[id] <= fetch.setOut { tell(fetch.content, id, isShared) }
            let isCopy = isShared && id == 1
            let passes =
                state.holds(.fenceInTheWriter)
                ? state.fences[id] <= fetch.setOut : fetch.hasPassed
            guard passes || !state.holds(.fence), !isCopy || state.holds(.answerIntoCopies) else {
                continue
            }
            say(fetch.content, id, state)
        }
        return true
    }

    private mutating func put(_ ids: PlaceIDs, _ state: inout PlaceState) -> Bool {
        guard state.budget.puts > 0 else { return false }
        state.budget.puts -= 1
        let content = PlaceContent.word(state.nextWord)
        state.nextWord += 1
        for id in 0..<state.world.ids where ids.contains(id) {
            tell(content, id, false)
            say(content, id, state)
        }
        return true
    }

    private mutating func tell(_ content: PlaceContent, _ id: Int, _ isShared: Bool) {
        step.account.words[id] = content
        step.account.said[id] = isShared ? step.number : 0
    }

    /// Stores what was said of an id: where it is claimed, as what is saved, and shows it.
    private mutating func say(_ content: PlaceContent, _ id: Int, _ state: PlaceState) {
        let isClaimed = state.memory[id].isClaimed
        let old = isClaimed ? durable.saved[id]?.row ?? PlaceRow() : cache.rows[id]
        var row = PlaceRow(content: content, rev: step.number)
        row.said = state.world.isShared ? step.number : 0
        if old.content == content { row.rev = old.rev }
        step.usesState = step.usesState || isClaimed
        if isClaimed, state.holds(.newsIsSaved) {
            durable.saved[id]?.row = row
            if state.holds(.newsIsShown) { show(id, state.world) }
        } else {
            store(row, id)
            step.written[id] = true
        }
    }

    // MARK: Pins

    private mutating func pin(_ id: Int, _ state: inout PlaceState) -> Bool {
        guard state.budget.pins > 0, durable.saved[id]?.isPinned != true else { return false }
        state.budget.pins -= 1
        let isTaken = durable.saved[id] == nil && !cache.rows[id].isAbsent
        var saved = durable.saved[id] ?? PlaceSaved(row: cache.rows[id])
        saved.isPinned = true
        durable.saved[id] = saved
        step.usesState = true
        step.account.pins[id] = true
        state.change(.pin(id))
        if isTaken, state.world.hasHeads { show(id, state.world) }
        return true
    }

    private mutating func unpin(_ id: Int, _ state: PlaceState) -> Bool {
        guard let saved = durable.saved[id], saved.isPinned else { return false }
        step.usesState = true
        step.account.pins[id] = false
        if durable.isLeftToCache(id, state.world) {
            unclaim(id)
        } else {
            durable.saved[id]?.isPinned = false
            step.following = [.unpin(id)]
        }
        return true
    }

    private mutating func drop(_ id: Int, _ state: inout PlaceState) -> Bool {
        guard state.budget.drops > 0, let saved = durable.saved[id], !saved.row.isAbsent,
            durable.targets(id, state.world) == 0
        else { return false }
        let hasRow = !cache.rows[id].isAbsent
        store(PlaceRow(), id)
        // In a group of its own, which may fail.
        if hasRow, state.holds(.dropClearsFirst) { return true }
        state.budget.drops -= 1
        unclaim(id)
        step.usesState = true
        step.account.words[id] = .absent
        step.account.pins[id] = false
        return true
    }

    private mutating func evict(_ id: Int, _ state: inout PlaceState) -> Bool {
        let isClaimed = state.memory[id].isClaimed
        guard state.budget.evictions > 0, !cache.rows[id].isAbsent,
            !isClaimed || !state.holds(.claimedIsNotEvicted)
        else { return false }
        state.budget.evictions -= 1
        store(PlaceRow(), id)
        if !isClaimed { step.account.words[id] = .absent }
        return true
    }

    // MARK: Housekeeping, which does one thing after the other

    private mutating func showAgain(_ id: Int, _ state: PlaceState) -> Bool {
        guard state.memory[id].isBehind, state.release == nil else { return false }
        step.usesState = true
        step.showing = [.notBehind(id)]
        if !isShown(id), state.holds(.behindIsShown) { show(id, state.world) }
        return true
    }

    private mutating func prepare(_ id: Int, _ state: inout PlaceState) -> Bool {
        guard state.budget.releases > 0, state.release == nil, let saved = durable.saved[id],
            !saved.isCopy, durable.isReleased(id, state.world)
        else { return false }
        state.budget.releases -= 1
        step.usesState = true
        let isToBeShown = !isShown(id) || cache.rows[id].isHead
        if isToBeShown, !saved.row.isAbsent, state.holds(.releasedIsShownWhole) {
            show(id, state.world, isWhole: true)
        }
        state.release = PlaceRelease(id: id, row: saved.row)
        return true
    }

    private mutating func remove(_ state: inout PlaceState) -> Bool {
        guard let release = state.release, release.isSynced || !state.holds(.releasedIsSynced)
        else { return false }
        state.release = nil
        step.usesState = true
        let id = release.id
        guard let saved = durable.saved[id],
            durable.isReleased(id, state.world) || !state.holds(.goesOnlyUnclaimed),
            !state.memory[id].isBehind || saved.row.isAbsent || !state.holds(.behindStays),
            saved.row.says(release.row) || !state.holds(.goesOnlyAsSynced)
        else { return true }
        unclaim(id)
        return true
    }

    private mutating func releaseCopy(_ state: PlaceState) -> Bool {
        guard let saved = durable.saved[1], saved.isCopy, durable.isReleased(1, state.world),
            cache.rows[0].said >= saved.row.said || !state.holds(.copyWaits)
        else { return false }
        if state.holds(.originalIsRaised) { raise(0) }
        unclaim(1)
        step.usesState = true
        // A confirmed write shows until the origin has said what came of it.
        step.account.hasCopy = step.account.said[1] > step.account.said[0]
        return true
    }
}
