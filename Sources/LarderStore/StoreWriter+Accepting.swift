import LarderModel

/// How modifiers come into the queue: each a command over both files.
extension StoreWriter {
    /// Accepts all of them that were not accepted before, or nothing; in their order.
    func accept(
        _ new: [NewModifier],
        _ copied: CopiedBodies,
        isCacheGone: Bool,
        now: Timestamp
    ) throws(StoreError) -> Entrance<[Acceptance]> {
        var known: [Acceptance?] = []
        for modifier in new {
            switch try state.existing(modifier) {
            case .done(let acceptance): known.append(acceptance)
            case .refused(let error): return .refused(error)
            }
        }
        let fresh = zip(new, known).filter { $0.1 == nil }.map(\.0)
        let aims = fresh.flatMap { modifier in
            modifier.changes.map { change in
                Aim(name: TargetName(modifier.scope, change.id), isShared: change.isOfSharedRow)
            }
        }
        let found = try bases(of: aims, copied, isCacheGone: isCacheGone, now: now)
        guard found.large.isEmpty else { return .needs(found.large) }
        if let error = try state.refusal(of: fresh, found.entries) {
            try forget(found)
            return .refused(error)
        }
        var acceptances: [Acceptance] = []
        for (modifier, known) in zip(new, known) {
            if let known {
                acceptances.append(known)
                continue
            }
            let revision = try revisions.next()
            let number = try state.accept(modifier, found.entries, revision, now: now)
            acceptances.append(.accepted(number, revision))
        }
        try cover(aims, found, isCacheGone: isCacheGone)
        return .done(acceptances)
    }

    /// Puts a dead letter at the end of the queue; nil when there is none of this number.
    func retry(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        sharing: (EntryID) -> Bool,
        _ copied: CopiedBodies,
        isCacheGone: Bool,
        now: Timestamp
    ) throws(StoreError) -> Entrance<ModifierNumber?> {
        guard let row = try state.find(number), row.isSettled, row.scope == scope.text else {
            return .done(nil)
        }
        var aims: [Aim] = []
        for target in try state.targets(of: number) {
            guard target.scope == scope.text, let id = try? EntryID(stored: target.id) else {
                return .done(nil)
            }
            aims.append(Aim(name: TargetName(scope, id), isShared: sharing(id)))
        }
        let found = try bases(of: aims, copied, isCacheGone: isCacheGone, now: now)
        guard found.large.isEmpty else { return .needs(found.large) }
        switch try state.revive(number, aims, found.entries, try revisions.next()) {
        case .refused(let error):
            try forget(found)
            return .refused(error)
        case .done(let revived):
            try cover(aims, found, isCacheGone: isCacheGone)
            return .done(revived)
        }
    }

    /// Says in memory what is targeted; of a copy the cache has no row.
    private func cover(
        _ aims: [Aim],
        _ found: FoundBases,
        isCacheGone: Bool
    ) throws(StoreError) {
        let index = shared.claims
        for aim in aims {
            let (scope, id) = (aim.name.scope, aim.name.id)
            let isNew = !index.covers(scope, id)
            let isFollowing = aim.isShared && !index.isCopy(scope, id)
            apply {
                index.insert(scope, id)
                index.addTargets(scope, id, 1)
                if aim.isShared { index.follow(scope, id) }
            } undoing: {
                index.addTargets(scope, id, -1)
                if isFollowing { index.unfollow(scope, id) }
                if isNew { index.remove(scope, id) }
            }
        }
        guard !isCacheGone else { return }
        for aim in aims where aim.isShared && !aim.name.id.isEntity {
            try cache.removeQuietly(aim.name.scope, aim.name.id)
        }
    }

    /// Gives up what was written for a command that is refused.
    private func forget(_ found: FoundBases) throws(StoreError) {
        for entry in found.entries.values { try forget(entry.body) }
    }
}
