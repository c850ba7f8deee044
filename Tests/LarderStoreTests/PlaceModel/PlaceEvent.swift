/// One thing that can happen next.
enum PlaceEvent: Equatable {
    case begin([PlaceCommand])
    /// The group's next operation is carried out.
    case goOn(PlaceGroup.Operation)
    case failState
    case failCache
    case startRead(Int, UInt8)
    case open(Int)
    case readOverlay(Int)
    case readSaved(Int)
    case endTransaction(Int)
    case since(Int)
    case watch
    case setOut(Int)
    case arrive(late: Bool)
    case originMoves(Int)
    case originDeletes(Int)
    case originApplies(Int)
    case checkpoint(Int)
    case crash(Int, half: Bool)
    case crashWithLoss
    case lose
}

extension PlaceState {
    /// Calls with everything that can happen next; some of it turns out not to be possible.
    func eachEvent(_ take: (PlaceEvent) -> Void) {
        if let operation {
            take(.goOn(operation))
            if operation == .state, budget.stateFails > 0, group?.writesState == true {
                take(.failState)
            }
            if operation == .cache, budget.cacheFails > 0, group?.writesCache == true {
                take(.failCache)
            }
        } else {
            eachGroup(take)
            eachUpkeep(take)
        }
        if budget.crashes > 0 {
            for version in versions.indices {
                take(.crash(version, half: false))
                if halfDurable != nil { take(.crash(version, half: true)) }
            }
            if budget.losses > 0, group == nil { take(.crashWithLoss) }
        }
        for index in readers.indices { eachOfReader(index, take) }
        if watched != nil { take(.watch) }
        eachOfOrigin(take)
    }

    private func eachGroup(_ take: (PlaceEvent) -> Void) {
        let commands = commands
        for first in commands {
            take(.begin([first]))
            guard world.commandsMax > 1, first != .again else { continue }
            for second in commands where second != first && second != .again {
                take(.begin([first, second]))
            }
        }
    }

    /// What the writer may be asked for.
    private var commands: [PlaceCommand] {
        var commands: [PlaceCommand] = [.again]
        for modifier in 0..<2 where world.targets[modifier] != 0 {
            if !isAccepted[modifier] { commands.append(.accept(modifier)) }
            if isAccepted[modifier], told[modifier] != .refused {
                if !applied[modifier] {
                    commands.append(.settle(modifier, .refused))
                } else {
                    commands.append(.settle(modifier, .confirmed))
                    if !world.isShared { commands.append(.settle(modifier, .answered)) }
                }
                if world.isShared, budget.expiries > 0 { commands.append(.expire(modifier)) }
            }
        }
        if fetch.phase == .arrived { commands.append(.news) }
        for id in 0..<world.ids {
            if budget.puts > 0 { commands.append(.put(id)) }
            if budget.pins > 0 { commands.append(.pin(id)) }
            if durable.claims[id].isPinned { commands.append(.unpin(id)) }
            if durable.claims[id].isPresent { commands.append(.release(id)) }
            if budget.evictions > 0 { commands.append(.evict(id)) }
        }
        return commands
    }

    private func eachUpkeep(_ take: (PlaceEvent) -> Void) {
        if budget.checkpoints > 0 {
            let holdsOlder = readers.contains { $0.hasTransaction }
            for version in versions.indices.dropFirst() {
                if holdsOlder || version == versions.count - 1 { take(.checkpoint(version)) }
            }
        }
        if budget.losses > 0 { take(.lose) }
    }

    private func eachOfReader(_ index: Int, _ take: (PlaceEvent) -> Void) {
        let reader = readers[index]
        switch reader.phase {
        case .idle:
            if budget.reads > 0 { for wanted in world.reads { take(.startRead(index, wanted)) } }
            if reader.hasTransaction { take(.endTransaction(index)) }
            if world.watches { take(.since(index)) }
        case .numbered: take(.open(index))
        case .rows: if !isWaiting(index) { take(.readOverlay(index)) }
        case .saved: if !isWaiting(index) { take(.readSaved(index)) }
        }
    }

    private func eachOfOrigin(_ take: (PlaceEvent) -> Void) {
        if fetch.phase == .none, budget.fetches > 0 {
            for id in 0..<world.ids { take(.setOut(id)) }
        } else if fetch.phase == .away {
            take(.arrive(late: false))
            if origin[Int(fetch.id)] != fetch.content { take(.arrive(late: true)) }
        }
        for id in 0..<world.ids {
            if budget.moves > 0 { take(.originMoves(id)) }
            if budget.deletions > 0 { take(.originDeletes(id)) }
        }
        for modifier in 0..<2 where world.targets[modifier] != 0 {
            if durable.modifiers[modifier].accept > 0, !applied[modifier], group == nil {
                take(.originApplies(modifier))
            }
        }
    }

    /// The state after the event; nil where it cannot happen.
    func after(_ event: PlaceEvent) -> PlaceState? {
        var next = self
        switch event {
        case .begin(let commands):
            guard next.begin(commands) else { return nil }
            next.spend(commands)
            next.skipIdle()
        case .goOn: next.goOn()
        case .failState:
            next.budget.stateFails -= 1
            next.failState()
        case .failCache:
            next.budget.cacheFails -= 1
            next.failCache()
        case .startRead(let index, let wanted): next.startRead(index, wanted)
        case .open(let index): next.open(index)
        case .readOverlay(let index): next.readOverlay(index)
        case .readSaved(let index): next.readSaved(index)
        case .endTransaction(let index):
            next.readers[index].hasTransaction = false
            next.readers[index].snapshot = PlacePair(PlaceRow())
        case .since(let index): next.since(index)
        case .watch: next.watch()
        case .setOut(let id): next.setOut(id)
        case .arrive(let late): next.arrive(late: late)
        case .originMoves(let id): next.originMoves(id, deletes: false)
        case .originDeletes(let id): next.originMoves(id, deletes: true)
        case .originApplies(let modifier): next.originApplies(modifier)
        case .checkpoint(let version): next.checkpoint(upTo: version)
        case .crash(let version, let half): next.crash(version: version, half: half)
        case .crashWithLoss: next.crashWithLoss()
        case .lose: next.lose()
        }
        next.forget()
        next.check()
        next.checkQuiet()
        return next
    }

    private mutating func spend(_ commands: [PlaceCommand]) {
        for command in commands {
            if command == .news { fetch = PlaceFetch() }
            if case .expire = command { budget.expiries -= 1 }
        }
    }
}
