import LarderModel

/// How modifiers come into the queue: each a command over both files.
extension StoreWriter {
    /// Accepts all of them that were not accepted before, or nothing; in their order.
    func accept(
        _ new: [NewModifier],
        _ copied: CopiedBodies,
        now: Timestamp
    ) throws(StoreError) -> Entrance<[Acceptance]> {
        var known: [Acceptance?] = []
        for modifier in new {
            let existing = try state.existing(modifier)
            guard existing?.digest ?? modifier.digest == modifier.digest else {
                return .refused(.modifierExists)
            }
            known.append(existing?.acceptance)
        }
        let fresh = zip(new, known).filter { $0.1 == nil }.map(\.0)
        var seen: [ModifierID: [Aim]] = [:]
        for modifier in fresh { seen[modifier.id] = try resolved(modifier.aims, now) }
        let aims = fresh.flatMap { seen[$0.id] ?? [] }
        let found = try bases(of: aims, copied, now: now)
        guard found.large.isEmpty else { return .needs(found.large) }
        if let error = try state.refusal(of: fresh, aims, found) {
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
            let number = try state.accept(
                modifier,
                seen[modifier.id] ?? [],
                found.entries,
                revision,
                now: now
            )
            let places = modifier.changes.map(\.variants)
            // Those that cannot be read now are seen all the same by who looks.
            let variants = (try? variantRows(in: places, now)) ?? []
            acceptances.append(.accepted(number, revision, variants: variants))
        }
        try cover(aims, found, now)
        return .done(acceptances)
    }

    /// Puts a dead letter at the end of the queue; nil when there is none of this number.
    func retry(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        _ sharing: (EntryID) -> Bool,
        _ variants: (EntryID) -> VariantPlaces?,
        _ copied: CopiedBodies,
        now: Timestamp
    ) throws(StoreError) -> Entrance<RevivedModifier?> {
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
        aims = try resolved(aims, now)
        let found = try bases(of: aims, copied, now: now)
        guard found.large.isEmpty else { return .needs(found.large) }
        if let error = try state.refusal(of: [], aims, found) {
            try forget(found)
            return .refused(error)
        }
        let step = try revisions.next()
        let revived = try state.revive(number, row, aims, found.entries, step)
        try cover(aims, found, now)
        forgetDead(aims.map(\.name))
        let rows = (try? variantRows(in: aims.map { variants($0.name.id) }, now)) ?? []
        return .done(RevivedModifier(number: revived, cause: ChangeCause(row), variants: rows))
    }

    /// Aims with which of them keep the shared row, of those that may.
    private func resolved(_ aims: [Aim], _ now: Timestamp) throws(StoreError) -> [Aim] {
        var resolved: [Aim] = []
        for var aim in aims {
            if aim.isShared { aim.isShared = try seesShared(aim.name, orHidden: true, now: now) }
            resolved.append(aim)
        }
        return resolved
    }

    /// Says in memory what is targeted, and has what belongs to it come along.
    private func cover(
        _ aims: [Aim],
        _ found: FoundBases,
        _ now: Timestamp
    ) throws(StoreError) {
        let index = shared.claims
        for aim in aims {
            let (scope, id) = (aim.name.scope, aim.name.id)
            let isNew = !index.covers(scope, id)
            index.insert(scope, id)
            index.addTargets(scope, id, 1)
            onRollBack {
                index.addTargets(scope, id, -1)
                if isNew { index.remove(scope, id) }
            }
            guard aim.isShared else { continue }
            try noteKeeper(aim.name)
            let place = aim.base(in: index)
            if found.entries[place] != nil { try takeMarks(of: place) }
            index.addTargets(place.scope, id, 1)
            onRollBack { index.addTargets(place.scope, id, -1) }
        }
        addGarbage(aims.map(\.name))
        if !isCacheLeftOut {
            for aim in aims { try holdVariants(of: aim.base(in: index)) }
        }
        try fill(now: now)
    }

    /// Gives up what was written for a command that is refused.
    private func forget(_ found: FoundBases) throws(StoreError) {
        for entry in found.entries.values { try forget(entry.body) }
    }
}

extension NewModifier {
    /// What its changes target.
    var aims: [StoreWriter.Aim] {
        changes.map { change in
            StoreWriter.Aim(name: TargetName(scope, change.id), isShared: change.isOfSharedRow)
        }
    }
}
