/// A group commits, or one of its files does not.
extension PlaceState {
    var operation: PlaceGroup.Operation? {
        group.map { world.operations[Int($0.done)] }
    }

    /// Carries out the group's next operation, and those after it that do nothing.
    mutating func goOn() {
        guard let group, let operation else { return }
        switch operation {
        case .state where group.writesState:
            durable = group.durable
            halfDurable = nil
            for step in group.steps {
                if case .settle(let modifier, _) = step.command { settled[modifier] = true }
            }
            see()
        case .cache where group.writesCache:
            var cache = group.cache
            cache.number = group.last
            versions.append(cache)
            for id in 0..<world.ids where group.putsAgain & (1 << UInt8(id)) != 0 {
                overlay.claims[id].isToPut = false
                overlay.claims[id].put = group.last
            }
            see()
        case .state, .cache: break
        case .overlay: overlay = group.overlay
        case .publish: published = max(published, group.last)
        }
        self.group?.done += 1
        if self.group?.done == 4 {
            answer()
        } else if let next = self.operation, isIdle(next) {
            goOn()
        }
    }

    /// Whether the operation does nothing that anybody could see.
    private func isIdle(_ operation: PlaceGroup.Operation) -> Bool {
        guard let group else { return false }
        return switch operation {
        case .state: !group.writesState
        case .cache: !group.writesCache
        case .overlay: group.overlay == overlay
        case .publish: false
        }
    }

    mutating func skipIdle() {
        while let operation, isIdle(operation), operation != .publish {
            self.group?.done += 1
        }
    }

    /// What the group did can be seen from now on.
    private mutating func see() {
        guard let group, !group.isSeen else { return }
        self.group?.isSeen = true
        for step in group.steps {
            for id in 0..<world.ids where step.removed & (1 << UInt8(id)) != 0 { floors[id] = 0 }
            account = step.account
            moments.append(account.moment(step.number, world))
        }
    }

    /// The clients are told.
    private mutating func answer() {
        guard let group else { return }
        see()
        self.group = nil
        fences = group.fences
        toldNumber = max(toldNumber, group.last)
        for step in group.steps { tell(step) }
        for id in 0..<world.ids {
            let saved = durable.claims[id].saved
            if !saved.isAbsent { floors[id] = saved.written }
        }
    }

    private mutating func tell(_ step: PlaceStep) {
        switch step.command {
        case .accept(let modifier): told[modifier] = .accepted
        case .settle(let modifier, _): told[modifier] = .settled
        default: break
        }
    }

    /// `state.db` does not commit: its commands fail, the others run again by themselves.
    mutating func failState() {
        guard let group else { return }
        if !rules.holds(.failedSyncLeavesNothing) { halfDurable = group.durable }
        self.group = nil
        for step in group.steps {
            if case .accept(let modifier) = step.command { told[modifier] = .refused }
        }
    }

    /// `cache.db` does not commit, after `state.db` has if the group wrote it (rule 5).
    mutating func failCache() {
        guard let group else { return }
        self.group = nil
        if group.isSeen { moments.removeLast(group.steps.count) }
        var before = group.before
        account = before
        for step in group.steps {
            let isDone = isDone(step, in: group)
            if isDone {
                account.take(from: before, to: step.account)
                moments.append(account.moment(step.number, world))
                if rules.holds(.writtenStateIsDone) {
                    tell(step)
                } else if case .accept(let modifier) = step.command {
                    told[modifier] = .refused
                }
                mark(step)
            }
            before = step.account
        }
        fences = group.fences
        for id in 0..<world.ids {
            let saved = durable.claims[id].saved
            if !saved.isAbsent { floors[id] = saved.written }
        }
        if group.writesState || !rules.holds(.failedCacheIsRunAgain) {
            if rules.holds(.publishedAllTheSame) { published = max(published, group.last) }
            toldNumber = max(toldNumber, group.last)
        }
    }

    /// Whether what the command did stands, though `cache.db` did not commit.
    private func isDone(_ step: PlaceStep, in group: PlaceGroup) -> Bool {
        if step.writesState || !rules.holds(.failedCacheIsRunAgain) { return true }
        return rules.holds(.savedByALaterIsDone)
            && (0..<world.ids).contains {
                step.rows & (1 << UInt8($0)) != 0
                    && durable.claims[$0].saved.written == step.number
            }
    }

    /// The overlay says that an older row of these ids does not count.
    private mutating func mark(_ step: PlaceStep) {
        for id in 0..<world.ids where (step.rows | step.removed) & (1 << UInt8(id)) != 0 {
            if rules.holds(.overlayMarks) { overlay.claims[id].mark = step.number }
            overlay.claims[id].isToPut = true
            overlay.claims[id].put = 0
        }
    }

    /// Forgets what no reader can need, as early as the rules allow.
    mutating func forget() {
        for index in 0..<2 {
            let change = overlay.changes[index]
            if change.end > 0,
                !isHeld(below: change.end) || !rules.holds(.overlayKeepsTheSettled)
            {
                overlay.changes[index] = PlaceChange()
            }
            let claim = overlay.claims[index]
            if claim.gone > 0,
                !isHeld(below: claim.gone) || !rules.holds(.goneClaimIsKeptForReaders)
            {
                overlay.claims[index].gone = 0
            }
            if claim.mark > 0, !claim.isToPut {
                if !isHeld(below: claim.put) || !rules.holds(.marksLastForReaders) {
                    overlay.claims[index].mark = 0
                    overlay.claims[index].put = 0
                }
            }
        }
        forgetMoments()
    }

    private func isHeld(below number: PlaceNumber) -> Bool {
        if published < number, rules.holds(.keptUntilPublished) { return true }
        return readers.contains { reader in
            let isRegistered =
                switch reader.phase {
                case .idle: reader.hasTransaction
                case .numbered:
                    rules.holds(.registeredWithItsNumber)
                        && rules.holds(.registeredBeforeTransaction)
                case .rows: rules.holds(.registeredBeforeTransaction)
                case .saved: rules.holds(.registeredUntilItsView)
                }
            return isRegistered && reader.number < number
        }
    }

    /// Drops the moments that no reader may show any more, so that equal states are equal.
    private mutating func forgetMoments() {
        var least = toldNumber
        for index in readers.indices {
            if readers[index].phase == .idle {
                if readers[index].seen <= toldNumber { readers[index].seen = 0 }
                readers[index].told = 0
                if !readers[index].hasTransaction, readers[index].number <= published {
                    readers[index].number = 0
                }
            } else {
                least = min(least, max(readers[index].seen, readers[index].told))
            }
        }
        while moments.count > 1, moments[1].number <= least { moments.removeFirst() }
    }
}
