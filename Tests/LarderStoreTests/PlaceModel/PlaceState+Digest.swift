extension PlaceState {
    var digest: UInt64 {
        var digest = PlaceDigest()
        digest.take(durable)
        if let halfDurable { digest.take(halfDurable) }
        digest.take(UInt8(versions.count), halfDurable == nil ? 0 : 1, published, next)
        for version in versions { digest.take(version) }
        digest.take(overlay)
        digest.take(synced.first, synced.second, fences.first, fences.second)
        if let group {
            digest.take(group.done, group.last, group.writesCache ? 1 : 0, group.isSeen ? 1 : 0)
            digest.take(group.durable)
            digest.take(group.cache)
            digest.take(group.overlay)
            for step in group.steps {
                digest.take(step.number, step.writesState ? 1 : 0, step.rows, step.removed)
                digest.take(step.account)
            }
        }
        for reader in readers { digest.take(reader) }
        digest.take(fetch.phase.rawValue, fetch.id, fetch.setOut, fetch.content.bits)
        digest.take(
            origin.first.bits,
            origin.second.bits,
            flags(applied) | flags(isAccepted) << 2 | flags(settled) << 4,
            nextWord,
            told.first.rawValue << 4 | told.second.rawValue,
            toldNumber,
            floors.first,
            floors.second
        )
        digest.take(account)
        for moment in moments { digest.take(moment) }
        if let watched { digest.take(watched) }
        digest.take(budget)
        return digest.value | 1
    }

    private func flags(_ pair: PlacePair<Bool>) -> UInt8 {
        (pair.first ? 1 : 0) | (pair.second ? 2 : 0)
    }
}

extension PlaceDigest {
    fileprivate mutating func take(_ durable: PlaceDurable) {
        take(
            durable.modifiers.first.accept,
            durable.modifiers.first.confirmed,
            durable.modifiers.second.accept,
            durable.modifiers.second.confirmed,
            durable.number,
            durable.synced,
            durable.syncedGeneration
        )
        take(durable.log.first)
        take(durable.log.second)
        take(durable.claims.first)
        take(durable.claims.second)
    }

    private mutating func take(_ claim: PlaceClaim) {
        take(claim.saved.bits | (claim.isPresent ? 1 << 32 : 0) | (claim.isPinned ? 1 << 33 : 0))
    }

    fileprivate mutating func take(_ cache: PlaceCache) {
        take(cache.rows.first.bits | cache.rows.second.bits << 32)
        take(cache.log.first)
        take(cache.log.second)
        take(cache.number, cache.generation)
    }

    fileprivate mutating func take(_ overlay: PlaceOverlay) {
        take(
            overlay.changes.first.accept,
            overlay.changes.first.confirmed,
            overlay.changes.first.end,
            overlay.changes.second.accept,
            overlay.changes.second.confirmed,
            overlay.changes.second.end
        )
        take(overlay.claims.first)
        take(overlay.claims.second)
    }

    private mutating func take(_ claim: PlaceClaimed) {
        take(claim.isClaimed ? 1 : 0, claim.gone, claim.mark, claim.isToPut ? 1 : 0, claim.put)
    }

    fileprivate mutating func take(_ account: PlaceAccount) {
        take(
            account.words.first.bits,
            account.words.second.bits,
            account.changes.first.accept,
            account.changes.first.confirmed,
            account.changes.second.accept,
            account.changes.second.confirmed,
            account.fences.first,
            account.fences.second
        )
    }

    fileprivate mutating func take(_ moment: PlaceMoment) {
        take(
            moment.number,
            moment.own.first.bits,
            moment.own.second.bits,
            moment.other.first.bits,
            moment.other.second.bits
        )
    }

    fileprivate mutating func take(_ reader: PlaceReader) {
        take(
            reader.phase.rawValue,
            reader.hasTransaction ? 1 : 0,
            reader.number,
            reader.wanted,
            reader.told,
            reader.seen,
            reader.early == nil ? 0 : 1
        )
        take(reader.snapshot.first.bits | reader.snapshot.second.bits << 32)
        take(reader.shown.first.bits | reader.shown.second.bits << 32)
        if let early = reader.early { take(early) }
    }

    fileprivate mutating func take(_ budget: PlaceBudget) {
        take(
            budget.fetches | budget.moves << 4,
            budget.deletions | budget.puts << 4,
            budget.pins | budget.evictions << 4,
            budget.expiries | budget.checkpoints << 4,
            budget.crashes | budget.losses << 4,
            budget.cacheFails | budget.stateFails << 4,
            budget.reads
        )
    }
}
