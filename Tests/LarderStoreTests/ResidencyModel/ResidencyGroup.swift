/// Commands that are committed together, with both files as they will be.
struct ResidencyGroup: Hashable {
    /// An operation; anything may happen between two of them.
    enum Operation: UInt8 {
        case commitState
        case commitCache
        case publish
        /// Only where both numbers are not published together.
        case publishState
        /// The versions of what has changed are raised again.
        case raise
        /// The index loses what has left `state.db`, fences count, and clients are answered.
        case finish
    }

    /// The operations that are left, the next one last.
    var left: [Operation] = []
    var state: ModelState
    var cache: ModelCache
    /// The truth after the group, and that after its part in `state.db` alone.
    var truth: ResidencyTruth
    var savedTruth: ResidencyTruth
    var commands: [ResidencyCommand] = []
    /// Commands that wrote to `cache.db`, and the part of them that wrote to `state.db`, too.
    var inCache: [ResidencyCommand] = []
    var inBoth: [ResidencyCommand] = []
    var step: ModelStep = 0
    /// The keys that are new in `state.db`, and those that have left it.
    var arrivals: ModelKeys = []
    var departures: ModelKeys = []
    /// The rows that it has changed in `cache.db`.
    var changed: ModelKeys = []
    /// The ids whose view it changes.
    var touched: ModelKeys = []
    var fences: ModelPair<ModelStep>
    /// The index before it.
    let index: ModelKeys
    var isDemotion = false
    var isRefused = false
    /// Whether its command runs alone, after `cache.db` has failed.
    var isAgain = false
    var usesState = false
    var usesCache = false
    var hasState = false

    init(_ state: ResidencyState) {
        (self.state, cache) = (state.state, state.cache)
        (truth, savedTruth) = (state.truth, state.truth)
        (fences, index) = (state.fences, state.index)
    }
}

/// A group is run, and commits; or one of its files does not.
extension ResidencyState {
    /// Whether each of the commands could be run.
    mutating func begin(_ commands: [ResidencyCommand]) -> Bool {
        var writer = ResidencyWriter(memory: self, group: ResidencyGroup(self))
        writer.group.isAgain = !again.isEmpty
        let isRun = commands.allSatisfy { writer.add($0) }
        var group = writer.group
        guard isRun, !group.isDemotion || commands.count == 1 else {
            // A refused command leaves what it has left in memory.
            if group.isRefused { index = writer.memory.index }
            return group.isRefused
        }
        self = writer.memory
        group.left = operations(group).reversed()
        if group.usesState { group.state.number += 1 }
        if group.usesCache { group.cache.number += 1 }
        if holds(.raisedBeforeCommit), world.hasResponses { raise(group.touched, isFirst: true) }
        if group.isDemotion, !holds(.indexedUntilDeleted) { index.subtract(group.departures) }
        self.group = group
        return true
    }

    private func operations(_ group: ResidencyGroup) -> [ResidencyGroup.Operation] {
        var operations: [ResidencyGroup.Operation]
        if group.isDemotion {
            operations =
                holds(.copiedBeforeDeleted)
                ? [.commitCache, .publish, .commitState, .publish, .finish]
                : [.commitState, .publish, .commitCache, .publish, .finish]
            if !holds(.copyIsPublished) { operations.remove(at: 1) }
            return operations
        }
        operations = [.commitState, .commitCache, .publish, .finish]
        if !holds(.stateBeforeCache) { operations.swapAt(0, 1) }
        if !holds(.publishedAfterCommits) {
            operations = [.publish, .commitState, .commitCache, .finish]
        }
        if !holds(.publishedTogether) { operations.insert(.publishState, at: 1) }
        if world.hasResponses {
            operations.insert(.raise, at: holds(.raisedAfterPublication) ? 3 : 2)
        }
        if !group.usesState { operations.removeAll { $0 == .commitState || $0 == .publishState } }
        if !group.usesCache { operations.removeAll { $0 == .commitCache } }
        return operations
    }

    /// Carries out the group's next operation.
    mutating func goOn() {
        guard let operation = group?.left.popLast(), let group else { return }
        switch operation {
        case .commitState:
            state = group.state
            failedState = nil
            self.group?.hasState = true
        case .commitCache:
            let isSynced = group.isDemotion && holds(.demotionIsSynced)
            if budget.powerCuts > 0, !isSynced {
                versions.append(group.cache)
            } else {
                versions = [group.cache]
            }
        case .publishState:
            published.state = group.state.number
            note(group.truth)
        case .publish: publish(group)
        case .raise: raise(group.touched, isFirst: false)
        case .finish: finish(group)
        }
    }

    private mutating func publish(_ group: ResidencyGroup) {
        if group.isDemotion {
            published = ResidencyNumbers(state: state.number, cache: cache.number)
            if !holds(.demotionIsAlone), !group.hasState {
                half = group.departures
                self.group = nil
            }
        } else {
            published = ResidencyNumbers(state: group.state.number, cache: group.cache.number)
            note(group.truth)
        }
    }

    private mutating func raise(_ ids: ModelKeys, isFirst: Bool) {
        isFirst ? changing.formUnion(ids) : changing.subtract(ids)
        for id in 0..<2 where ids.has(id) {
            rowVersions[id] += 1
            if response?.version != rowVersions[id] { response = nil }
        }
    }

    private mutating func finish(_ group: ResidencyGroup) {
        index.formUnion(group.arrivals)
        index.subtract(group.departures)
        fences = group.fences
        self.group = nil
        floor = moments.count - 1
        for command in group.commands {
            if case .accept(let modifier) = command { told[modifier] = .accepted }
            if case .settle(let modifier, _) = command { told[modifier] = .settled }
            if case .storeMarker(let fetch) = command { passOn(fetch) }
        }
        noteDurable()
    }

    /// A row that was durable may not go back, also once it is evictable.
    private mutating func noteDurable() {
        for key in world.keys where state.held.has(key) {
            if !state.rows[key].isAbsent { durableRevs[key] = state.rows[key].rev }
        }
    }

    /// `state.db` does not commit: nothing of the group happened.
    mutating func failState() {
        guard let group else { return }
        if !holds(.failedSyncLeavesNothing) { failedState = group.state }
        if holds(.failureUndoesIndex) { index = group.index }
        (self.group, changing) = (nil, [])
        for command in group.commands {
            if case .accept(let modifier) = command { told[modifier] = .refused }
        }
    }

    /// `cache.db` does not commit, after `state.db` has if the group uses it.
    mutating func failCache() {
        guard var group else { return }
        guard !group.isDemotion else {
            self.group = nil
            return
        }
        if group.isAgain {
            giveUp(group)
        } else if holds(.restRunsAgain) {
            again = group.inCache
            if !holds(.bothPartsRunAgain) { again.removeAll { group.inBoth.contains($0) } }
        }
        if !group.hasState || !holds(.savedIsDone) {
            for command in group.commands {
                if case .accept(let modifier) = command { told[modifier] = .refused }
            }
        }
        guard group.hasState else {
            (index, changing) = (group.index, [])
            if !holds(.restRunsAgain) { note(group.truth) }
            self.group = nil
            return
        }
        let isAllSaid = again.isEmpty && !group.inCache.isEmpty && !group.isAgain
        group.commands.removeAll { group.inCache.contains($0) || !holds(.savedIsDone) }
        group.cache = cache
        if !isAllSaid { group.truth = group.savedTruth }
        group.left = world.hasResponses ? [.finish, .raise, .publish] : [.finish, .publish]
        self.group = group
    }

    /// `cache.db` has failed twice: a client gets the answer, and the store does not have it.
    private mutating func giveUp(_ group: ResidencyGroup) {
        guard case .answer(let fetch)? = group.commands.first else { return }
        if holds(.unstoredLeavesMarker) {
            again.insert(.storeMarker(fetch), at: 0)
        } else {
            passOn(fetch)
        }
    }

    private mutating func passOn(_ fetch: ResidencyFetch) {
        shown[fetch.kind.user][0] = ModelRow(content: fetch.content, rev: next)
        next += 1
    }
}
