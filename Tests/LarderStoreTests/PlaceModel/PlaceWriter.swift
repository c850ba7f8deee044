/// The writer runs a group: what each command changes in both files.
extension PlaceState {
    /// Whether each of the commands could be run, on top of those before it.
    mutating func begin(_ commands: [PlaceCommand]) -> Bool {
        var group = PlaceGroup(
            durable: durable,
            cache: cache,
            overlay: overlay,
            fences: fences,
            last: published,
            before: account
        )
        var account = account
        let hasPut = putAgain(&group)
        for command in commands {
            var step = PlaceStep(command: command, number: next, account: account)
            if command == .again {
                guard hasPut else { return false }
                if !rules.holds(.putAgainTakesANumber) { step = step.numbered(published) }
            } else {
                guard run(command, &step, &group) else { return false }
            }
            if step.number == next { next += 1 }
            group.last = max(group.last, step.number)
            account = step.account
            group.steps.append(step)
        }
        group.durable.number = group.last
        group.cache.number = group.last
        self.group = group
        return true
    }

    /// Puts what a failed commit or a lost file left out; false where there is nothing.
    private mutating func putAgain(_ group: inout PlaceGroup) -> Bool {
        guard rules.holds(.putAgainByTheNext) else { return false }
        var hasPut = false
        for id in 0..<world.ids {
            let saved = durable.claims[id].saved
            guard group.overlay.claims[id].isToPut else { continue }
            put(id, again: saved, &group.cache, at: next)
            group.putsAgain |= 1 << UInt8(id)
            hasPut = true
        }
        group.writesCache = group.writesCache || hasPut
        return hasPut
    }

    /// Puts a saved row into `cache.db`, or takes out what went with its claim.
    func put(_ id: Int, again saved: PlaceRow, _ cache: inout PlaceCache, at number: PlaceNumber) {
        var row = saved
        row.isHead = !row.isAbsent && world.hasHeads && durable.claims[id].isPinned
        cache.rows[id] = row
        cache.log[id] |= 1 << UInt64(number)
    }

    /// The row as the group has it.
    func base(_ id: Int, _ durable: PlaceDurable, _ cache: PlaceCache) -> PlaceRow {
        let saved = durable.claims[id].saved
        var row = cache.rows[id]
        if row.isHead || overlay.claims[id].mark > row.written { row = PlaceRow() }
        return row.written > saved.written ? row : saved
    }

    private func write(
        _ id: Int,
        _ row: PlaceRow,
        saving: Bool = true,
        _ step: inout PlaceStep,
        _ group: inout PlaceGroup
    ) {
        if group.durable.claims[id].isPresent, saving {
            group.durable.claims[id].saved = row
            if rules.holds(.savedIsLogged) { group.durable.log[id] |= 1 << UInt64(step.number) }
            step.writesState = true
        }
        group.cache.rows[id] = row
        group.cache.rows[id].isHead = world.hasHeads && group.durable.claims[id].isPinned
        group.cache.log[id] |= 1 << UInt64(step.number)
        group.writesCache = true
        step.rows |= 1 << UInt8(id)
    }

    private mutating func run(
        _ command: PlaceCommand,
        _ step: inout PlaceStep,
        _ group: inout PlaceGroup
    ) -> Bool {
        switch command {
        case .accept(let modifier): accept(modifier, &step, &group)
        case .settle(let modifier, let outcome): settle(modifier, outcome, &step, &group)
        case .expire(let modifier): expire(modifier, &step, &group)
        case .news: news(&step, &group)
        case .put(let id): put(id, &step, &group)
        case .pin(let id): pin(id, &step, &group)
        case .unpin(let id): unpin(id, &step, &group)
        case .release(let id): release(id, &step, &group)
        case .evict(let id): evict(id, &step, &group)
        case .again: false
        }
    }

    private mutating func accept(
        _ modifier: Int,
        _ step: inout PlaceStep,
        _ group: inout PlaceGroup
    ) -> Bool {
        guard world.targets[modifier] != 0, !isAccepted[modifier] else { return false }
        isAccepted[modifier] = true
        for id in 0..<world.ids where has(modifier, on: id) {
            let row = base(id, group.durable, group.cache)
            group.durable.claims[id].isPresent = true
            if rules.holds(.acceptSavesBase) { group.durable.claims[id].saved = row }
            group.durable.log[id] |= 1 << UInt64(step.number)
            group.overlay.claims[id].isClaimed = true
        }
        group.durable.modifiers[modifier] = PlaceModifier(accept: step.number)
        group.overlay.changes[modifier] = PlaceChange(accept: step.number)
        step.account.changes[modifier] = PlaceModifier(accept: step.number)
        step.writesState = true
        return true
    }

    private mutating func settle(
        _ modifier: Int,
        _ outcome: PlaceOutcome,
        _ step: inout PlaceStep,
        _ group: inout PlaceGroup
    ) -> Bool {
        let pending = group.durable.modifiers[modifier]
        guard pending.accept > 0, pending.confirmed == 0, !settled[modifier],
            applied[modifier] == (outcome != .refused),
            outcome != .answered || !world.isShared
        else { return false }
        let stays = world.isShared && outcome != .refused
        for id in 0..<world.ids where has(modifier, on: id) {
            let old = base(id, group.durable, group.cache)
            var new = old
            switch outcome {
            case .refused: break
            case .answered: new.content = origin[id]
            case .confirmed where stays && rules.holds(.sharedBaseStays): break
            case .confirmed:
                new.content = (old.isAbsent ? .unknown : old.content).holding(modifier)
            }
            if outcome != .refused {
                group.fences[id] = step.number
                step.account.fences[id] = step.number
                if !stays {
                    let word = step.account.words[id]
                    step.account.words[id] =
                        outcome == .answered
                        ? origin[id] : (word.isAbsent ? .unknown : word).holding(modifier)
                }
            }
            group.durable.log[id] |= 1 << UInt64(step.number)
            guard !new.isAbsent,
                new.content != old.content || rules.holds(.settleWritesWhateverTheOutcome)
            else { continue }
            new.rev = step.number
            if new.content != old.content || rules.holds(.writtenMovesWithoutAByte) {
                new.written = step.number
            }
            write(id, new, &step, &group)
        }
        step.writesState = true
        if stays {
            step.account.changes[modifier].confirmed = step.number
        } else {
            step.account.changes[modifier] = PlaceModifier()
        }
        if stays, rules.holds(.confirmedStaysOnShared) {
            group.durable.modifiers[modifier].confirmed = step.number
            group.overlay.changes[modifier].confirmed = step.number
        } else {
            group.durable.modifiers[modifier] = PlaceModifier()
            group.overlay.changes[modifier].end = step.number
        }
        return true
    }

    private func expire(
        _ modifier: Int,
        _ step: inout PlaceStep,
        _ group: inout PlaceGroup
    ) -> Bool {
        guard group.durable.modifiers[modifier].confirmed > 0, budget.expiries > 0 else {
            return false
        }
        end(modifier, step.number, &group)
        step.account.changes[modifier] = PlaceModifier()
        step.writesState = true
        for id in 0..<world.ids where has(modifier, on: id) {
            group.durable.log[id] |= 1 << UInt64(step.number)
            var row = base(id, group.durable, group.cache)
            guard !row.isAbsent, rules.holds(.endingIsAStep) else { continue }
            row.rev = step.number
            row.written = step.number
            write(id, row, &step, &group)
        }
        return true
    }

    private func end(_ modifier: Int, _ number: PlaceNumber, _ group: inout PlaceGroup) {
        group.durable.modifiers[modifier] = PlaceModifier()
        group.overlay.changes[modifier].end = number
    }

    private func news(_ step: inout PlaceStep, _ group: inout PlaceGroup) -> Bool {
        guard fetch.phase == .arrived else { return false }
        let id = Int(fetch.id)
        if step.account.fences[id] <= fetch.setOut {
            step.account.words[id] = fetch.content
            for modifier in 0..<2 where has(modifier, on: id) {
                let confirmed = step.account.changes[modifier].confirmed
                if confirmed > 0, confirmed < fetch.setOut {
                    step.account.changes[modifier] = PlaceModifier()
                }
            }
        }
        let fence = rules.holds(.fenceOfTheSameGroup) ? group.fences[id] : fences[id]
        let passes = rules.holds(.fenceInTheWriter) ? fence <= fetch.setOut : fetch.passed
        guard passes || !rules.holds(.fence) else {
            if !rules.holds(.endsWithAnswerThatSetOutAfter) {
                for modifier in 0..<2 where group.durable.modifiers[modifier].confirmed > 0 {
                    end(modifier, step.number, &group)
                    step.writesState = true
                }
            }
            return true
        }
        var row = base(id, group.durable, group.cache)
        var hasChanged = row.content != fetch.content
        for modifier in 0..<2 where has(modifier, on: id) {
            let confirmed = group.durable.modifiers[modifier].confirmed
            guard confirmed > 0, confirmed < fetch.setOut else { continue }
            end(modifier, step.number, &group)
            step.writesState = true
            hasChanged = true
        }
        if hasChanged { row.rev = step.number }
        if hasChanged || rules.holds(.writtenMovesWithoutAByte) { row.written = step.number }
        row.content = fetch.content
        write(id, row, saving: rules.holds(.newsIsSaved), &step, &group)
        return true
    }

    private mutating func put(
        _ id: Int,
        _ step: inout PlaceStep,
        _ group: inout PlaceGroup
    ) -> Bool {
        guard budget.puts > 0 else { return false }
        budget.puts -= 1
        let content = PlaceContent.word(nextWord)
        nextWord += 1
        step.account.words[id] = content
        let row = PlaceRow(content: content, rev: step.number, written: step.number)
        write(id, row, saving: rules.holds(.newsIsSaved), &step, &group)
        return true
    }

    private mutating func pin(
        _ id: Int,
        _ step: inout PlaceStep,
        _ group: inout PlaceGroup
    ) -> Bool {
        guard budget.pins > 0, !group.durable.claims[id].isPinned else { return false }
        budget.pins -= 1
        group.durable.claims[id].saved = base(id, group.durable, group.cache)
        group.durable.claims[id].isPresent = true
        group.durable.claims[id].isPinned = true
        group.overlay.claims[id].isClaimed = true
        step.writesState = true
        if world.hasHeads, !group.cache.rows[id].isAbsent {
            group.cache.rows[id].isHead = true
            group.writesCache = true
        }
        return true
    }

    private func unpin(
        _ id: Int,
        _ step: inout PlaceStep,
        _ group: inout PlaceGroup
    ) -> Bool {
        guard group.durable.claims[id].isPinned else { return false }
        group.durable.claims[id].isPinned = false
        step.writesState = true
        return true
    }

    private func release(
        _ id: Int,
        _ step: inout PlaceStep,
        _ group: inout PlaceGroup
    ) -> Bool {
        let claim = group.durable.claims[id]
        let isTargeted = (0..<2).contains {
            group.durable.modifiers[$0].accept > 0 && has($0, on: id)
        }
        guard claim.isPresent,
            !(claim.isPinned || isTargeted) || !rules.holds(.claimLastsForEveryReason)
        else { return false }
        let isHead = group.cache.rows[id].isHead
        guard
            claim.saved.isAbsent || isHead || synced[id] >= claim.saved.written
                || !rules.holds(.claimWaitsForCheckpoint)
        else { return false }
        group.durable.claims[id] = PlaceClaim()
        group.overlay.claims[id].isClaimed = false
        group.overlay.claims[id].gone = step.number
        step.writesState = true
        guard isHead else { return true }
        step.account.words[id] = .absent
        step.removed |= 1 << UInt8(id)
        guard rules.holds(.headGoesWithItsClaim) else { return true }
        group.cache.rows[id] = PlaceRow()
        group.cache.log[id] |= 1 << UInt64(step.number)
        group.writesCache = true
        return true
    }

    private mutating func evict(
        _ id: Int,
        _ step: inout PlaceStep,
        _ group: inout PlaceGroup
    ) -> Bool {
        let isClaimed = group.durable.claims[id].isPresent
        guard budget.evictions > 0, !group.cache.rows[id].isAbsent,
            !isClaimed || !rules.holds(.claimedIsNotEvicted)
        else { return false }
        budget.evictions -= 1
        group.cache.rows[id] = PlaceRow()
        group.cache.log[id] |= 1 << UInt64(step.number)
        if !isClaimed { step.account.words[id] = .absent }
        group.writesCache = true
        step.removed |= 1 << UInt8(id)
        return true
    }
}

extension PlaceStep {
    func numbered(_ number: PlaceNumber) -> Self {
        var step = Self(command: command, number: number, account: account)
        step.writesState = writesState
        return step
    }
}
