/// What waited and is committed at once, with both files as they will be.
struct PlaceGroup: Hashable {
    /// An operation, each a moment of its own.
    enum Operation: UInt8 {
        case state
        case cache
        /// The number moves by which readers renew their transactions.
        case publish
        case memory
    }

    /// The operations that are left, the next one last.
    var left: [Operation]
    var durable: PlaceDurable
    var cache: PlaceCache
    var usesCache = false
    var steps: [PlaceStep] = []
    /// The command that is run.
    var step: PlaceStep
    /// Changes in memory that are left, the next one last.
    var changes: [PlaceMemoryChange] = []
    /// What a commit of `state.db` that fails leaves.
    let memory: PlacePair<PlaceInMemory>
    let account: PlaceAccount
    /// Whether moments tell of it.
    var isSeen = false

    var usesState: Bool { steps.contains { $0.usesState } }
    /// Whether the one file has it and the other may not yet.
    var isBetween = false

    init(_ state: PlaceState) {
        durable = state.durable
        cache = state.cache
        memory = state.memory
        account = state.account
        step = PlaceStep(command: .remove, number: 0, account: account)
        left =
            if !state.holds(.stateBeforeCache) {
                [.memory, .publish, .state, .cache]
            } else if !state.holds(.publishedBeforeMemory) {
                [.publish, .memory, .cache, .state]
            } else if !state.holds(.memoryLast) {
                [.publish, .cache, .memory, .state]
            } else {
                [.memory, .publish, .cache, .state]
            }
    }
}

/// A group is run, and commits; or one of its files does not.
extension PlaceState {
    /// Whether each of the commands could be run.
    mutating func begin(_ commands: [PlaceCommand]) -> Bool {
        var group = PlaceGroup(self)
        var account = account
        for command in commands {
            group.step = PlaceStep(command: command, number: next, account: account)
            guard group.run(&self) else { return false }
            next += 1
            account = group.step.account
            group.steps.append(group.step)
        }
        group.changes = Array(
            (group.steps.flatMap(\.showing) + group.steps.flatMap(\.following)).reversed()
        )
        group.cache.number += 1
        if !group.usesState { group.left.removeAll { $0 == .state } }
        if !group.usesCache { group.left.removeAll { $0 == .cache || $0 == .publish } }
        if group.changes.isEmpty { group.left.removeAll { $0 == .memory } }
        self.group = group
        if group.left.isEmpty { answer() }
        return true
    }

    /// Carries out the group's next operation.
    mutating func goOn() {
        guard let operation = group?.left.last, let group else { return }
        switch operation {
        case .state:
            durable = group.durable
            halfDurable = nil
            self.group?.isBetween = true
            if holds(.notBetweenCommits) { readers.meet() }
            see()
        case .cache:
            if budget.crashes > 0 { versions.append(group.cache) } else { versions = [group.cache] }
            see()
        case .publish: readers.publish()
        case .memory:
            if let change = self.group?.changes.popLast() { self.change(change) }
            if self.group?.changes.isEmpty == false { return }
        }
        self.group?.left.removeLast()
        if self.group?.left.isEmpty == true { answer() }
    }

    /// What the group did can be seen from now on.
    private mutating func see() {
        guard let group, !group.isSeen else { return }
        self.group?.isSeen = true
        for step in group.steps { note(step.account, step.number) }
    }

    private mutating func note(_ account: PlaceAccount, _ number: PlaceNumber) {
        self.account = account
        let moment = account.moment(number, world)
        if moment.views != moments.last?.views { moments.append(moment) }
    }

    /// The clients are told.
    private mutating func answer() {
        guard let group else { return }
        see()
        self.group = nil
        for step in group.steps { tell(step) }
        noteFloors()
    }

    private mutating func tell(_ step: PlaceStep) {
        toldNumber = max(toldNumber, step.number)
        switch step.command {
        case .accept(let modifier): told[modifier] = .accepted
        case .settle(let modifier, _): told[modifier] = .settled
        case .news: fetch = nil
        case .drop(let id), .evict(let id): floors[id] = 0
        case .put, .pin, .unpin, .showAgain, .prepare, .remove, .releaseCopy: break
        }
    }

    private mutating func noteFloors() {
        for id in 0..<world.ids {
            if let saved = durable.saved[id], !saved.row.isAbsent { floors[id] = saved.row.rev }
        }
        if world.isShared, durable.saved[1] == nil { floors[1] = 0 }
    }

    /// `state.db` does not commit: each command would run again alone, and fails.
    mutating func failState() {
        guard let group else { return }
        if !holds(.failedSyncLeavesNothing) { halfDurable = group.durable }
        if holds(.failureIsUndone) { memory = group.memory }
        self.group = nil
        for step in group.steps {
            if case .accept(let modifier) = step.command { told[modifier] = .refused }
        }
    }

    /// `cache.db` does not commit, after `state.db` has if the group uses it.
    mutating func failCache() {
        guard var group else { return }
        // What wrote no more than a row runs again at once, and is shown then.
        let behind = group.steps.reversed().flatMap { step in
            [1, 0].filter { step.shown[$0] || step.written[$0] }.map(PlaceMemoryChange.behind)
        }
        let following = Array(group.steps.flatMap(\.following).reversed())
        let isSaved = group.usesState && !group.left.contains(.state)
        if isSaved {
            group.changes = holds(.failureIsBehind) ? following + behind : following
            if !holds(.behindBeforeMemory) { group.changes = behind + following }
        } else {
            group.changes = []
            memory = group.memory
        }
        if group.isSeen { moments = moments.filter { $0.number < group.steps[0].number } }
        var (before, now) = (group.account, group.account)
        var done: [PlaceStep] = []
        for var step in group.steps {
            // What a later command has saved stands, and is done once it has run again.
            let isTaken = (0..<2).contains { step.written[$0] && durable.saved[$0] != nil }
            let isDone = isSaved && (step.usesState || isTaken)
            let after = step.account
            if isDone || !holds(.failedCacheRunsAgain) {
                // Of what wrote both, the part that `cache.db` alone has.
                let runsAgain = step.usesState && holds(.unclaimedRunsAgain)
                let left = runsAgain ? step.written : PlacePair(false)
                now.take(from: before, to: after, but: left)
                step.account = now
                note(now, step.number)
                if left == PlacePair(false) { done.append(step) }
            }
            before = after
        }
        account = now
        group.steps = done
        group.isSeen = true
        group.left = group.changes.isEmpty ? [] : [.memory]
        if !holds(.savedIsDone) {
            for step in done {
                if case .accept(let modifier) = step.command { told[modifier] = .refused }
            }
            group.steps = []
        }
        self.group = group
        if group.left.isEmpty { answer() }
    }

    /// Changes what memory says; whoever reads meanwhile may have met another place.
    mutating func change(_ change: PlaceMemoryChange) {
        switch change {
        case .behind(let id): memory[id].isBehind = memory[id].isClaimed
        case .notBehind(let id): leave(id) { $0.isBehind = false }
        case .target(let id):
            if !memory[id].isReadFromState, holds(.arrivalsMove) { readers.move() }
            memory[id].isClaimed = true
            memory[id].targets += 1
            memory[id].isCopy = world.isShared
        case .untarget(let id): leave(id) { $0.targets = max($0.targets, 1) - 1 }
        case .pin(let id): (memory[id].isClaimed, memory[id].isPinned) = (true, true)
        case .unpin(let id): memory[id].isPinned = false
        case .remove(let id): leave(id) { $0 = PlaceInMemory() }
        }
    }

    private mutating func leave(_ id: Int, _ change: (inout PlaceInMemory) -> Void) {
        change(&memory[id])
        if !memory[id].isReadFromState { readers.move() }
    }
}

extension PlaceAccount {
    /// What a command changed, on top of this, but for what it said of some ids.
    mutating func take(from old: Self, to new: Self, but left: PlacePair<Bool>) {
        for index in 0..<2 {
            if old.changes[index] != new.changes[index] { changes[index] = new.changes[index] }
            if old.fences[index] != new.fences[index] { fences[index] = new.fences[index] }
            if old.pins[index] != new.pins[index] { pins[index] = new.pins[index] }
            guard !left[index] else { continue }
            if old.words[index] != new.words[index] { words[index] = new.words[index] }
            if old.said[index] != new.said[index] { said[index] = new.said[index] }
        }
        if old.hasCopy != new.hasCopy { hasCopy = new.hasCopy }
    }
}
