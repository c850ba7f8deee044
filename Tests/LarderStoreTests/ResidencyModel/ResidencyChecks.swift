/// Crashes and losses, and what must hold.
extension ResidencyState {
    /// The process starts again with what the files have.
    mutating func crash(_ version: Int, _ findsFailed: Bool, _ losesCache: Bool) {
        let isKill = version == versions.count - 1 && !losesCache
        if losesCache { budget.losses -= 1 }
        if version == versions.count - 1 { budget.kills -= 1 } else { budget.powerCuts -= 1 }
        if findsFailed, let failedState { state = failedState }
        versions = [losesCache ? ModelCache() : versions[version]]
        if !holds(.stateWinsAtStart) { state.held.formIntersection(reasonsAtStart) }
        state.copied = .absent
        versions[0].copied = .absent
        // A group that was not answered may have been committed.
        let truths = [truth] + (group.map { [$0.savedTruth, $0.truth] } ?? [])
        let isTrue = truths.first { isLeft(of: $0, whole: isKill) }
        if isTrue == nil { fail("after the crash there is \(state) and \(cache)") }
        truth = isTrue ?? truth
        for modifier in 0..<2 where state.modifiers[modifier].isUnsettled {
            if told[modifier] == .nothing { told[modifier] = .accepted }
        }
        for modifier in 0..<2 where told[modifier] == .accepted {
            if truth.modifiers[modifier].phase != .queued { told[modifier] = .settled }
        }
        (group, again, half, failedState, fetches, garbage) = (nil, [], [], nil, [], [])
        changing = []
        (index, fences, response) = (state.held, ModelPair(0), nil)
        rowVersions = ModelPair(0)
        readers = Array(repeating: ResidencyReader(), count: world.readers)
        published = ResidencyNumbers(state: state.number, cache: cache.number)
        startAgain(isWhole: isKill)
    }

    private var reasonsAtStart: ModelKeys {
        var truth = truth
        (truth.modifiers, truth.pins) = (state.modifiers, state.pins)
        return truth.durable(world)
    }

    /// `cache.db` is set aside while the daemon runs.
    mutating func lose() {
        budget.losses -= 1
        let number = holds(.numbersGoOn) ? cache.number + 1 : 0
        versions = [ModelCache(number: number)]
        published.cache = number
        truth.fences = ModelPair(next)
        if holds(.lossLeavesFence) { fences = truth.fences }
        next += 1
        if !isLeft(of: truth, whole: false) {
            fail("a durable row is lost with cache.db: \(state)")
        }
        for index in readers.indices { readers[index].hasMoved = true }
        garbage = []
        let (old, oldFloor) = (moments, floor)
        startAgain(isWhole: false)
        if let last = moments.last { moments = last == old.last ? old : old + [last] }
        floor = oldFloor
    }

    /// Whether the files have at least the durable rows of a truth; all rows if they must be whole.
    private func isLeft(of truth: ResidencyTruth, whole: Bool) -> Bool {
        let durable = truth.durable(world)
        for key in world.keys {
            let row = state.row(key, cache)
            if whole || durable.has(key) {
                if row.content != truth.rows[key].content { return false }
                if !row.isAbsent, row.said != truth.rows[key].said { return false }
            } else if !row.isAbsent, row.rev < durableRevs[key] {
                return false
            }
        }
        if whole, state.log | cache.log != truth.log { return false }
        for modifier in 0..<2
        where truth.modifiers[modifier].phase != state.modifiers[modifier].phase { return false }
        return truth.pins == state.pins
    }

    /// The truth is what the files have.
    private mutating func startAgain(isWhole: Bool) {
        let durable = truth.durable(world)
        for key in world.keys {
            let row = state.row(key, cache)
            truth.rows[key] = ModelRow(content: row.content, said: row.said)
            if !isWhole, !durable.has(key) {
                for user in 0..<world.users { shown[user][world.id(key)].rev = 0 }
            }
        }
        truth.modifiers = state.modifiers
        (truth.pins, truth.log) = (state.pins, state.log | cache.log)
        let mark = state.mark(cache)
        if world.isShared {
            truth.front =
                isWhole || durable.has(0)
                ? max(truth.front, mark) : max(mark, truth.rows[1].said)
        }
        moments = [truth.moment(world)]
        floor = 0
    }

    /// Between two groups the files say what is true, and memory says what the files have.
    mutating func check() {
        guard fault == nil, group == nil else { return }
        for key in world.keys where state.row(key, cache).content != truth.rows[key].content {
            fail("the row of \(key) is \(state.row(key, cache)), not \(truth.rows[key])")
        }
        for user in 0..<world.users {
            for id in 0..<world.ids {
                let key = ResidencyTruth.visibleKey(user, id, world, front: state.mark(cache)) {
                    state.row($0, cache)
                }
                if key != truth.visibleKey(user, id, world) {
                    fail("user \(user) sees \(String(describing: key)) of \(id)")
                }
            }
        }
        if !ResidencyWriter(memory: self, group: ResidencyGroup(self)).reasons.isSubset(
            of: truth.durable(world)
        ) {
            fail("a row stays without a reason")
        }
        let files = ResidencyNumbers(state: state.number, cache: cache.number)
        if half == [], published != files { fail("readers wait for \(files)") }
        if half == [], index != state.held { fail("index \(index), files \(state.held)") }
        if state.pins != truth.pins { fail("pins are \(state.pins), not \(truth.pins)") }
        if state.log | cache.log != truth.log { fail("the log has other changes") }
        for modifier in 0..<2 {
            let isUnsettled = state.modifiers[modifier].isUnsettled
            if state.modifiers[modifier].phase != truth.modifiers[modifier].phase {
                fail("m\(modifier) is \(state.modifiers[modifier])")
            }
            if told[modifier] == .refused, isUnsettled {
                fail("m\(modifier) was refused and waits")
            }
            if told[modifier] == .accepted, !isUnsettled { fail("m\(modifier) is lost") }
        }
    }
}
