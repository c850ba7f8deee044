/// One thing that can happen next.
enum PlaceEvent: Equatable {
    case begin([PlaceCommand])
    /// The group's next operation is carried out.
    case goOn(PlaceGroup.Operation)
    case failState
    case failCache
    case startRead(Int, PlaceIDs)
    case read(Int, PlaceReader.Phase)
    case endTransaction(Int)
    case setOut(Int)
    case arrive(late: Bool)
    case originMoves(Int)
    case originApplies(Int)
    /// The checkpoint of what is released.
    case sync
    case crash(Int, half: Bool)
    case lose
}

extension PlaceState {
    /// Calls with everything that can happen next; some of it turns out not to be possible.
    func eachEvent(_ take: (PlaceEvent) -> Void) {
        if let operation = group?.left.last {
            take(.goOn(operation))
            if operation == .state, budget.stateFails > 0 { take(.failState) }
            if operation == .cache, budget.cacheFails > 0 { take(.failCache) }
        } else {
            let commands = commands
            for first in commands {
                take(.begin([first]))
                guard world.commandsMax > 1 else { continue }
                for second in commands where second != first { take(.begin([first, second])) }
            }
            if release?.isSynced == false { take(.sync) }
            if budget.losses > 0 { take(.lose) }
        }
        if budget.crashes > 0 {
            for version in versions.indices {
                take(.crash(version, half: false))
                if halfDurable != nil { take(.crash(version, half: true)) }
            }
        }
        for (index, reader) in readers.enumerated() {
            if reader.phase != .idle {
                take(.read(index, reader.phase))
            } else {
                if budget.reads > 0 {
                    for wanted in world.reads { take(.startRead(index, wanted)) }
                }
                if reader.hasTransaction { take(.endTransaction(index)) }
            }
        }
        eachOfOrigin(take)
    }

    /// What the writer may be asked for; it does nothing of what cannot be.
    private var commands: [PlaceCommand] {
        var commands: [PlaceCommand] = release == nil ? [] : [.remove]
        for modifier in 0..<2 where (0..<world.ids).contains(where: { world.targets(modifier, $0) })
        {
            commands += [.accept(modifier), .settle(modifier, applied[modifier])]
        }
        if fetch?.hasArrived == true { commands.append(.news) }
        if budget.puts > 0 { commands += world.puts.map { .put($0) } }
        for id in 0..<world.ids {
            if budget.pins > 0 { commands.append(.pin(id)) }
            if budget.evictions > 0 { commands.append(.evict(id)) }
            guard let saved = durable.saved[id] else { continue }
            if budget.drops > 0 { commands.append(.drop(id)) }
            commands += [.unpin(id), .showAgain(id), saved.isCopy ? .releaseCopy : .prepare(id)]
        }
        return commands
    }

    private func eachOfOrigin(_ take: (PlaceEvent) -> Void) {
        let ids = 0..<(world.isShared ? 1 : world.ids)
        if fetch == nil, budget.fetches > 0 {
            for id in ids { take(.setOut(id)) }
        } else if let fetch, !fetch.hasArrived {
            take(.arrive(late: false))
            if origin[fetch.id] != fetch.content { take(.arrive(late: true)) }
        }
        if budget.moves > 0 { for id in ids { take(.originMoves(id)) } }
        for modifier in 0..<2 where durable.accepts[modifier] > 0 && !applied[modifier] {
            if group == nil { take(.originApplies(modifier)) }
        }
    }

    /// The state after the event; nil where it cannot happen.
    func after(_ event: PlaceEvent) -> PlaceState? {
        var next = self
        switch event {
        case .begin(let commands): guard next.begin(commands) else { return nil }
        case .goOn: next.goOn()
        case .failState:
            next.budget.stateFails -= 1
            next.failState()
        case .failCache:
            next.budget.cacheFails -= 1
            next.failCache()
        case .startRead(let index, let wanted): next.startRead(index, wanted)
        case .read(let index, _): next.step(index)
        case .endTransaction(let index): next.readers[index].hasTransaction = false
        case .setOut(let id):
            next.budget.fetches -= 1
            next.fetch = PlaceFetch(id: id, setOut: next.next, content: origin[id])
            next.next += 1
        case .arrive(let late): next.arrive(late: late)
        case .originMoves(let id):
            next.budget.moves -= 1
            next.origin[id] = PlaceContent(bits: origin[id].bits & 0xF0 | nextWord)
            next.nextWord += 1
        case .originApplies(let modifier):
            next.applied[modifier] = true
            for id in 0..<world.ids where world.targets(modifier, id) {
                let place = world.isShared ? 0 : id
                next.origin[place] = origin[place].holding(modifier)
            }
        case .sync: next.sync()
        case .crash(let version, let half): next.crash(version: version, half: half)
        case .lose: next.lose()
        }
        next.forget()
        next.check()
        next.checkQuiet()
        return next
    }

    private mutating func arrive(late: Bool) {
        guard let id = fetch?.id, let setOut = fetch?.setOut else { return }
        fetch?.hasArrived = true
        if late { fetch?.content = origin[id] }
        if !holds(.fenceInTheWriter) { fetch?.hasPassed = fences[id] <= setOut }
    }

    // MARK: What befalls the files

    /// A checkpoint syncs what no reader of an older commit keeps it from; true if that is all.
    mutating func sync() {
        let held = readers.filter(\.hasTransaction).map(\.snapshot.number).min()
        let reached = versions.firstIndex { $0.number >= held ?? cache.number } ?? 0
        let isComplete = reached == versions.count - 1
        versions.removeFirst(reached)
        if isComplete || !holds(.syncIsComplete) {
            release?.isSynced = true
        } else {
            release = nil
        }
    }

    /// The machine stops and starts again with a commit of `cache.db` that may be an older one.
    private mutating func crash(version: Int, half: Bool) {
        budget.crashes -= 1
        if half, let halfDurable { durable = halfDurable }
        versions = [versions[version]]
        checkAfterCrash()
        (group, halfDurable, fetch, release) = (nil, nil, nil, nil)
        fences = PlacePair(0)
        readers = Array(repeating: PlaceReader(), count: world.readers)
        memory = PlacePair(PlaceInMemory())
        for id in 0..<world.ids {
            guard let saved = durable.saved[id] else { continue }
            memory[id] = PlaceInMemory(
                isClaimed: true,
                isPinned: saved.isPinned,
                targets: durable.targets(id, world),
                isCopy: saved.isCopy,
                isBehind: holds(.behindAtStart)
            )
        }
        beginAnew()
    }

    /// What is seen from now on: what is saved of claimed rows, of others what is left.
    private mutating func beginAnew() {
        account.fences = fences
        account.hasCopy = durable.saved[1]?.isCopy == true
        for id in 0..<world.ids {
            account.words[id] = durable.base(id, cache, world).content
            account.pins[id] = durable.saved[id]?.isPinned == true
            account.said[id] = durable.base(id, cache, world).said
        }
        for modifier in 0..<2 { account.changes[modifier] = durable.accepts[modifier] > 0 }
        moments = [account.moment(next, world)]
        toldNumber = next
        next += 1
    }

    /// `cache.db` is set aside while the daemon runs, with the rows that nothing claims.
    private mutating func lose() {
        budget.losses -= 1
        versions = [PlaceCache(number: cache.number + 1)]
        readers.publish()
        for id in 0..<world.ids where memory[id].isClaimed {
            memory[id].isBehind = true
        }
        for id in 0..<world.ids where durable.saved[id] == nil { floors[id] = 0 }
        let old = moments
        beginAnew()
        moments = old + moments
    }
}
