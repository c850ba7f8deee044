/// A step of the writer, a reader, the origin or the operator.
enum ResidencyEvent: Equatable {
    case begin([ResidencyCommand])
    /// The group's next operation is carried out.
    case goOn(ResidencyGroup.Operation)
    case failState
    case failCache
    case startRead(Int, ResidencyQuery)
    case read(Int, ResidencyReader.Phase)
    case startFetch(ResidencyFetch.Kind)
    case originMoves
    case originApplies(Int)
    /// Maintenance looks for garbage, which it removes later.
    case findGarbage
    /// The process, or the machine, stops with a commit of `cache.db` as the last one, and starts again.
    case crash(version: Int, findsFailed: Bool, losesCache: Bool)
    /// `cache.db` is replaced while the daemon runs.
    case lose
}

extension ResidencyState {
    /// Calls with everything that can happen next; some of it turns out not to be possible.
    func eachEvent(_ take: (ResidencyEvent) -> Void) {
        if let operation = group?.left.last {
            take(.goOn(operation))
            if operation == .commitState, budget.stateFails > 0 { take(.failState) }
            if operation == .commitCache, budget.cacheFails > 0 { take(.failCache) }
        } else if let command = again.first {
            take(.begin([command]))
        } else {
            let commands = commands
            for first in commands {
                take(.begin([first]))
                guard world.commandsMax > 1 else { continue }
                for second in commands where second != first { take(.begin([first, second])) }
            }
            if budget.losses > 0 { take(.lose) }
            if budget.garbage > 0, garbage == [] { take(.findGarbage) }
        }
        eachCrash(take)
        for (index, reader) in readers.enumerated() {
            if reader.phase != .idle {
                if isReady(reader) { take(.read(index, reader.phase)) }
            } else if budget.reads > 0 {
                for query in world.reads { take(.startRead(index, query)) }
            }
        }
        if budget.fetches > 0, fetches.count < 2 {
            for kind in world.fetches { take(.startFetch(kind)) }
        }
        if budget.moves > 0 { take(.originMoves) }
        for modifier in 0..<2 where state.modifiers[modifier].isUnsettled && !applied[modifier] {
            if group == nil { take(.originApplies(modifier)) }
        }
    }

    private func eachCrash(_ take: (ResidencyEvent) -> Void) {
        let last = versions.count - 1
        if budget.kills > 0 {
            take(.crash(version: last, findsFailed: false, losesCache: false))
            if failedState != nil {
                take(.crash(version: last, findsFailed: true, losesCache: false))
            }
            if budget.losses > 0 {
                take(.crash(version: last, findsFailed: false, losesCache: true))
            }
        }
        if budget.powerCuts > 0 {
            for version in versions.indices.dropLast() {
                take(.crash(version: version, findsFailed: false, losesCache: false))
            }
        }
    }

    /// The commands that may wait for the writer; it does nothing of what cannot be.
    private var commands: [ResidencyCommand] {
        var commands: [ResidencyCommand] = half == [] ? [] : [.deleteDemoted]
        for modifier in 0..<2 where world.targets(modifier) != [] {
            commands += [.accept(modifier), .settle(modifier, applied[modifier])]
        }
        commands += fetches.map { .answer($0) }
        if budget.puts > 0 { commands += world.puts.map { .put($0, word: nextWord) } }
        for key in world.keys {
            if budget.pins > 0, world.pins.has(key) { commands.append(.pin(key)) }
            if state.pins.has(key) { commands.append(.unpin(key)) }
            if budget.forgets > 0 { commands.append(.forget(key)) }
            if budget.evictions > 0 { commands.append(.evict(key)) }
            if garbage.has(key) { commands.append(.removeGarbage(key)) }
        }
        if budget.copies > 0 { commands.append(.copyAhead) }
        if budget.demotions > 0 {
            let isTogether = world.isUnit && holds(.variantsMoveTogether)
            let sets: [ModelKeys] = isTogether ? [.both] : [.first, .second]
            commands += sets.map { .demote($0) }
        }
        return commands
    }

    /// The state after the event; nil where it cannot happen.
    func after(_ event: ResidencyEvent) -> ResidencyState? {
        var next = self
        switch event {
        case .begin(let commands):
            guard next.begin(commands) || !again.isEmpty else { return nil }
            if !again.isEmpty {
                next.again.removeFirst()
            } else if !next.spend(commands) {
                return nil
            }
        case .goOn: next.goOn()
        case .failState:
            next.budget.stateFails -= 1
            next.failState()
        case .failCache:
            next.budget.cacheFails -= 1
            next.failCache()
        case .startRead(let index, let query): next.startRead(index, query)
        case .read(let index, _): next.step(index)
        case .startFetch(let kind):
            next.budget.fetches -= 1
            next.fetches.append(ResidencyFetch(kind: kind, start: next.next, content: origin))
            next.next += 1
        case .originMoves:
            next.budget.moves -= 1
            next.origin = ModelContent(bits: origin.bits & 0xF0 | nextWord)
            next.nextWord += 1
        case .originApplies(let modifier):
            next.applied[modifier] = true
            next.origin = origin.holding(modifier)
        case .findGarbage: next.garbage = garbageNow
        case .crash(let version, let findsFailed, let losesCache):
            next.crash(version, findsFailed, losesCache)
        case .lose: next.lose()
        }
        next.forget()
        next.check()
        return next
    }

    private var garbageNow: ModelKeys {
        world.keys.reduce(into: ModelKeys()) {
            if state.held.has($1), !cache.rows[$1].isAbsent { $0.insert(.of($1)) }
        }
    }

    /// Whether each of the commands could still happen.
    private mutating func spend(_ commands: [ResidencyCommand]) -> Bool {
        commands.allSatisfy { command in
            switch command {
            case .put:
                nextWord += 1
                return spend(\.puts)
            case .pin: return spend(\.pins)
            case .forget: return spend(\.forgets)
            case .evict: return spend(\.evictions)
            case .demote: return spend(\.demotions)
            case .removeGarbage: return spend(\.garbage)
            case .copyAhead: return spend(\.copies)
            case .accept, .settle, .answer, .unpin, .deleteDemoted, .storeMarker: return true
            }
        }
    }

    private mutating func spend(_ kind: WritableKeyPath<ResidencyBudget, UInt8>) -> Bool {
        guard budget[keyPath: kind] > 0 else { return false }
        budget[keyPath: kind] -= 1
        return true
    }
}
