/// An event loop with its transactions, and the read that it is at.
struct ResidencyReader: Hashable {
    /// The next step of a read.
    enum Phase: UInt8 {
        case idle
        /// Memory: the row version.
        case version
        /// Memory: the index.
        case index
        /// Memory: the published numbers.
        case number
        /// The transaction of one file, and the row in it.
        case row
        /// The reader has a row that is not published yet.
        case waiting
        /// Memory: were rows promoted since? Only of several rows.
        case indexAgain
        /// Both files: numbers, `state.db`, `cache.db`.
        case numbers
        case bothState
        case bothCache
        /// Memory: the response is kept.
        case keep
    }

    var phase = Phase.idle
    var query = ResidencyQuery.list
    var state: ModelState?
    var cache: ModelCache?
    /// The keys of the read that were in the index.
    var durable: ModelKeys = []
    var numbers = ResidencyNumbers()
    /// Rows were promoted since it asked the index.
    var hasMoved = false
    var version: UInt8 = 0
    /// A group was changing the row when it took the version.
    var isChanging = false
    /// The view that it keeps for later.
    var kept = ModelRow()
    /// The moment before which its view may not be.
    var floor = 0
    /// The views that clients had seen when the read began.
    var shown = ModelPair(ModelRow())

    mutating func rest(keeps: Bool) {
        let old = self
        self = Self()
        if keeps { (state, cache) = (old.state, old.cache) }
    }
}

/// A reader goes a step.
extension ResidencyState {
    mutating func startRead(_ index: Int, _ query: ResidencyQuery) {
        budget.reads -= 1
        readers[index].query = query
        readers[index].floor = floor
        readers[index].shown = shown[query.user]
        if let response, case .get(_, let id) = query, response.version == rowVersions[id] {
            readers[index].numbers = published
            return show(index, [response.view])
        }
        readers[index].phase =
            world.hasResponses && holds(.versionBeforeIndex) ? .version : first(query)
    }

    private func first(_ query: ResidencyQuery) -> ResidencyReader.Phase {
        if query == .log { return .numbers }
        return holds(.indexBeforeNumber) ? .index : .number
    }

    /// Whether the step can be taken: a reader waits for publication.
    func isReady(_ reader: ResidencyReader) -> Bool {
        guard reader.phase == .waiting else { return true }
        return reader.durable == []
            ? (reader.cache?.number ?? 0) <= published.cache
            : (reader.state?.number ?? 0) <= published.state
    }

    mutating func step(_ index: Int) {
        let reader = readers[index]
        let isOne = world.keys(reader.query).count == 1
        switch reader.phase {
        case .idle: break
        case .version:
            takeVersion(index)
            readers[index].phase = first(reader.query)
        case .index:
            readers[index].durable = self.index.intersection(world.keys(reader.query))
            readers[index].hasMoved = false
            let isWide = !isOne && readers[index].durable != []
            let row: ResidencyReader.Phase = holds(.indexBeforeNumber) ? .number : .row
            readers[index].phase = isWide ? .numbers : row
        case .number:
            readers[index].numbers = published
            readers[index].phase = holds(.indexBeforeNumber) ? .row : .index
        case .row:
            if world.hasResponses, !holds(.versionBeforeIndex) { takeVersion(index) }
            row(index)
        case .waiting: take(index)
        case .indexAgain:
            let isAgain = reader.hasMoved && holds(.promotedStartsOver)
            if isAgain { readers[index].phase = .numbers } else { finish(index) }
        case .numbers:
            readers[index].numbers = published
            readers[index].phase = .bothState
        case .bothState:
            open(index, state: true)
            readers[index].phase = .bothCache
        case .bothCache:
            open(index, state: false)
            let isAgain =
                readers[index].state?.number != reader.numbers.state
                || readers[index].cache?.number != reader.numbers.cache
            if isAgain, holds(.readsOneMoment) {
                readers[index].phase = holds(.stateFirst) ? .numbers : first(reader.query)
            } else {
                finish(index)
            }
        case .keep: keep(index)
        }
    }

    private mutating func takeVersion(_ index: Int) {
        guard case .get(_, let id) = readers[index].query else { return }
        readers[index].version = rowVersions[id]
        readers[index].isChanging = changing.has(id) && holds(.changingIsNotKept)
    }

    /// Opens a transaction, or goes on with the kept one if it is not older than published.
    private mutating func open(_ index: Int, state: Bool) {
        let reader = readers[index]
        if state {
            let isNew = (reader.state?.number ?? 0) >= reader.numbers.state
            if reader.state == nil || !isNew && holds(.keptIsNotOlder) {
                readers[index].state = self.state
            }
        } else {
            let isNew = (reader.cache?.number ?? 0) >= reader.numbers.cache
            if reader.cache == nil || !isNew && holds(.keptIsNotOlder) {
                readers[index].cache = cache
            }
        }
    }

    /// Reads in one file.
    private mutating func row(_ index: Int) {
        open(index, state: readers[index].durable != [])
        readers[index].phase = .waiting
        if isReady(readers[index]) || !holds(.waitsForPublication) { take(index) }
    }

    private mutating func take(_ index: Int) {
        let reader = readers[index]
        guard world.keys(reader.query).count == 1 else {
            readers[index].phase = .indexAgain
            return
        }
        let key = world.keys(reader.query).has(0) ? 0 : 1
        let isThere =
            reader.durable != []
            ? reader.state?.held.has(key) == true : reader.cache?.rows[key].isAbsent == false
        if isThere || !holds(.missReadsBoth) {
            finish(index)
        } else {
            readers[index].phase = .numbers
        }
    }

    /// The reader has all rows.
    private mutating func finish(_ index: Int) {
        let reader = readers[index]
        let usesState = reader.durable != [] || reader.phase == .bothCache
        let usesCache = reader.durable == [] || reader.phase == .bothCache
        let state = usesState ? reader.state ?? ModelState() : ModelState()
        let cache = usesCache ? reader.cache ?? ModelCache() : ModelCache()
        guard reader.query != .log else {
            return show(index, [], log: state.log | cache.log)
        }
        let isByIndex = reader.phase == .bothCache && !holds(.stateFirst)
        let views = reader.query.ids(world).map { id in
            let front = state.mark(cache)
            func row(_ key: Int) -> ModelRow {
                guard isByIndex else { return state.row(key, cache) }
                return reader.durable.has(key) ? state.rows[key] : cache.rows[key]
            }
            let user = reader.query.user
            let key = ResidencyTruth.visibleKey(user, id, world, front: front, row)
            return ResidencyTruth.view(
                of: key.map(row) ?? ModelRow(),
                user,
                id,
                state.modifiers,
                world,
                isForAll: !holds(.modifierShowsToItsUser)
            )
        }
        if world.hasResponses {
            readers[index].kept = views[0]
            readers[index].phase = .keep
        } else {
            show(index, views)
        }
    }

    private mutating func keep(_ index: Int) {
        let reader = readers[index]
        guard case .get(_, let id) = reader.query else { return }
        if !reader.isChanging, rowVersions[id] == reader.version || !holds(.movedIsNotKept) {
            response = ResidencyResponse(version: rowVersions[id], view: reader.kept)
        }
        show(index, [reader.kept])
    }

    /// The reader shows its views, which must be those of one moment.
    private mutating func show(_ index: Int, _ views: [ModelRow], log: UInt64 = 0) {
        let reader = readers[index]
        readers[index].phase = .idle
        let (query, user) = (reader.query, reader.query.user)
        let found = zip(query.ids(world), views)
        let moment = moments.indices.dropFirst(reader.floor).first { moment in
            query == .log
                ? moments[moment].log == log
                : found.allSatisfy { moments[moment].views[user][$0] == $1.content }
        }
        guard let moment else {
            let text = query == .log ? "\(log)" : "\(views)"
            return fail("reader \(index) shows \(text) of \(query), as was so at no moment")
        }
        floor = max(floor, moment)
        for (id, view) in found where !view.isAbsent {
            let last = reader.shown[id]
            if view.rev < last.rev {
                fail("reader \(index): rev of \(id) goes back from \(last.rev) to \(view.rev)")
            } else if view.rev == last.rev, view.content != last.content {
                fail("reader \(index): rev \(view.rev) of \(id) has two views")
            }
            if view.rev >= shown[user][id].rev {
                shown[user][id] = ModelRow(content: view.content, rev: view.rev)
            }
        }
    }
}
