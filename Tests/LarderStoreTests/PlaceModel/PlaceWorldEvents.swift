/// What befalls the files, and what the origin does.
extension PlaceState {
    /// A checkpoint, which syncs what no reader of an older commit keeps it from.
    mutating func checkpoint(upTo version: Int) {
        budget.checkpoints -= 1
        versions.removeFirst(version)
        let reached = rules.holds(.onlyWhatACheckpointReached) ? versions[0] : cache
        for id in 0..<world.ids { synced[id] = reached.rows[id].written }
        var number = versions[0].number
        if rules.holds(.syncedStaysBelowFailed) {
            for id in 0..<world.ids where overlay.claims[id].isToPut {
                number = min(number, max(overlay.claims[id].mark, 1) - 1)
            }
        } else {
            number = max(number, published)
        }
        durable.synced = number
        durable.syncedGeneration = cache.generation
    }

    /// The machine stops and starts again with a commit of `cache.db` that may be an older one.
    mutating func crash(version: Int, half: Bool) {
        budget.crashes -= 1
        if half, let halfDurable { durable = halfDurable }
        versions = [versions[version]]
        start()
    }

    /// `cache.db` is gone at the start.
    mutating func crashWithLoss() {
        budget.crashes -= 1
        budget.losses -= 1
        versions = [PlaceCache(generation: cache.generation + 1)]
        floors = PlacePair(0)
        start()
    }

    /// `cache.db` is set aside while the daemon runs, with the rows that nothing claims.
    mutating func lose() {
        budget.losses -= 1
        versions = [PlaceCache(number: next, generation: cache.generation + 1)]
        synced = PlacePair(0)
        floors = PlacePair(0)
        published = next
        toldNumber = next
        for id in 0..<world.ids {
            if durable.claims[id].saved.isAbsent {
                account.words[id] = .absent
            } else {
                overlay.claims[id].isToPut = true
            }
        }
        moments.append(account.moment(next, world))
        watched = watched.map { _ in account.moment(next, world) }
        next += 1
    }

    private mutating func start() {
        overlay = PlaceOverlay()
        checkAfterCrash()
        halfDurable = nil
        group = nil
        fetch = PlaceFetch()
        fences = PlacePair(0)
        synced = PlacePair(0)
        readers = Array(repeating: PlaceReader(), count: world.readers)
        for modifier in 0..<2 {
            if durable.modifiers[modifier].confirmed > 0, !rules.holds(.confirmedOutlivesRestart) {
                durable.modifiers[modifier] = PlaceModifier()
            }
            let change = durable.modifiers[modifier]
            overlay.changes[modifier] = PlaceChange(
                accept: change.accept,
                confirmed: change.confirmed
            )
        }
        published = next
        toldNumber = next
        next += 1
        var first = versions[0]
        for id in 0..<world.ids { startRow(id, &first) }
        if first != versions[0] {
            first.number = published
            versions.append(first)
        }
        startAccount()
    }

    private mutating func startRow(_ id: Int, _ cache: inout PlaceCache) {
        let claim = durable.claims[id]
        if cache.rows[id].isHead, claim.saved.isAbsent,
            rules.holds(.headWithoutClaimGoesAtStart)
        {
            cache.rows[id] = PlaceRow()
        }
        overlay.claims[id].isClaimed = claim.isPresent
        let isSynced =
            claim.saved.written <= durable.synced
            && (durable.syncedGeneration == cache.generation
                || !rules.holds(.syncedIsOfAGeneration))
        if claim.isPresent, !claim.saved.isAbsent, !isSynced,
            claim.saved.written > cache.rows[id].written, rules.holds(.putAgainAtStart)
        {
            put(id, again: claim.saved, &cache, at: published)
        }
    }

    /// What is seen from the start on: what was saved of claimed rows, of others what is left.
    private mutating func startAccount() {
        account.fences = PlacePair(0)
        for id in 0..<world.ids {
            let claim = durable.claims[id]
            if !claim.saved.isAbsent {
                account.words[id] = claim.saved.content
            } else {
                let row = cache.rows[id]
                account.words[id] = row.isHead ? .absent : row.content
            }
        }
        for modifier in 0..<2 {
            let change = durable.modifiers[modifier]
            if account.changes[modifier].confirmed > 0, change.accept == 0,
                told[modifier] == .settled
            {
                continue
            }
            account.changes[modifier] = change
        }
        moments = [account.moment(published, world)]
        watched = watched.map { _ in moments[0] }
    }

    // MARK: The origin

    mutating func setOut(_ id: Int) {
        budget.fetches -= 1
        fetch = PlaceFetch(phase: .away, id: UInt8(id), setOut: next, content: origin[id])
        next += 1
    }

    mutating func arrive(late: Bool) {
        fetch.phase = .arrived
        if late { fetch.content = origin[Int(fetch.id)] }
        if !rules.holds(.fenceInTheWriter) {
            fetch.passed = fences[Int(fetch.id)] <= fetch.setOut
        }
    }

    mutating func originMoves(_ id: Int, deletes: Bool) {
        let modifiers = origin[id].bits & 0xF0
        if deletes {
            budget.deletions -= 1
            origin[id] = .word(PlaceContent.tombstone)
        } else {
            budget.moves -= 1
            origin[id] = PlaceContent(bits: modifiers | nextWord)
            nextWord += 1
        }
    }

    mutating func originApplies(_ modifier: Int) {
        applied[modifier] = true
        for id in 0..<world.ids where has(modifier, on: id) {
            origin[id] = origin[id].holding(modifier)
        }
    }
}
