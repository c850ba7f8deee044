import LarderModel
import LarderNormalize

struct Accepting: WriterPart {
    let writer: StoreWriter

    /// Accepts all of them that were not accepted before, or nothing; in their order.
    func accept(
        _ new: [NewModifier],
        now: Timestamp,
        _ look: SeenValues.Reader? = nil
    ) throws(StoreError) -> CommandResult<[Acceptance]> {
        var known: [Acceptance?] = []
        for modifier in new {
            let earlier: Submission? =
                try modifier.isIDMade
                ? nil : state.reader.queue.submission(of: modifier.id, modifier.scope)
            guard earlier?.digest ?? modifier.digest == modifier.digest else {
                return .refused(.modifierExists)
            }
            known.append(earlier.map { .existing($0.number, $0.revision, isSettled: $0.isSettled) })
        }
        let fresh = zip(new, known).filter { $0.1 == nil }.map(\.0)
        guard try state.temporaries.areAsFound(fresh) else { return .refused(.otherIDs) }
        var seen: [ModifierID: [WriteTarget]] = [:]
        for modifier in fresh { seen[modifier.id] = try resolved(modifier.aims, now) }
        let aims = fresh.flatMap { seen[$0.id] ?? [] }
        let found = try promotion.bases(of: aims, now: now)
        guard found.large.isEmpty else { return .needs(found.large) }
        try state.modifiers.forgetOldAnswers(for: fresh)
        if let error = try state.modifiers.refusal(of: fresh, aims, found) {
            try forget(found)
            return .refused(error)
        }
        let before = try state.memory.queue
        var acceptances: [Acceptance] = []
        var unread: [TargetName: Target] = look == nil ? [:] : unreadTargets(aims, found)
        // The changes whose targets are read when they are in the file.
        var open: [(number: ModifierNumber, scope: ScopeKey, changes: [(EntryID, [UInt8])])] = []
        for (modifier, known) in zip(new, known) {
            if let known {
                acceptances.append(known)
                continue
            }
            let step = Step(revision: try revisions.next(), now: now)
            let aims = seen[modifier.id] ?? []
            var modifier = modifier
            modifier.dependsOn += try state.temporaries.creators(of: modifier)
            let changes = see(&modifier, &unread, look)
            let number = try state.modifiers.accept(modifier, aims, found.entries, step)
            if !changes.isEmpty { open.append((number, modifier.scope, changes)) }
            try state.temporaries.add(modifier, number, now)
            // The next of them may have the same targets.
            for aim in aims { claim(aim.name) }
            let places = modifier.changes.map(\.variants)
            // If this read fails, the acceptance lists no variants. Later reads still show them.
            let variants = (try? settling.variantRows(in: places)) ?? []
            acceptances.append(
                .accepted(
                    number,
                    step.revision,
                    variants: variants,
                    dependsOn: modifier.dependsOn
                )
            )
        }
        try cover(aims, found, now)
        for (number, scope, changes) in open { try see(changes, of: number, scope, look) }
        // The values that they see are known only now; the error undoes the step.
        for scope in Set(fresh.map(\.scope)) {
            if let error = try state.modifiers.refusal(of: scope, since: before) { throw error }
        }
        return .done(acceptances)
    }

    /// The targets of which `state.db` has nothing yet, as they are once their bases are in it.
    private func unreadTargets(
        _ aims: [WriteTarget],
        _ found: FoundBases
    ) -> [TargetName: Target] {
        var targets: [TargetName: Target] = [:]
        for aim in aims where !aim.isShared && found.rows[aim.name] == nil {
            targets[aim.name] = Target(found.entries[aim.name])
        }
        return targets
    }

    /// Has a new modifier keep what it sees of such targets; returns its changes of the others.
    private func see(
        _ modifier: inout NewModifier,
        _ unread: inout [TargetName: Target],
        _ look: SeenValues.Reader?
    ) -> [(EntryID, [UInt8])] {
        guard let look else { return [] }
        var others: [(EntryID, [UInt8])] = []
        for place in modifier.changes.indices where !modifier.changes[place].isImplied {
            let change = modifier.changes[place]
            let isRepeated = modifier.changes.contains { $0.id == change.id && $0 != change }
            if !isRepeated, let target = unread[TargetName(modifier.scope, change.id)] {
                modifier.changes[place].seen = look(change.id, target, change.effect) { _ in nil }
            } else {
                others.append((change.id, change.effect))
            }
        }
        // A later modifier sees this change in the file.
        for change in modifier.changes { unread[TargetName(modifier.scope, change.id)] = nil }
        return others
    }

    /// Stores what a modifier sees of targets, unless that takes too long for a step.
    func see(
        _ changes: [(EntryID, [UInt8])],
        of number: ModifierNumber,
        _ scope: ScopeKey,
        _ look: SeenValues.Reader?
    ) throws(StoreError) {
        guard let look else { return }
        let (reader, most) = (try state.reader, Limits.seenChangesMax)
        let body = { [reader] in (try? reader.requestBody(of: $0))?.bytes }
        var seen: [(EntryID, SeenValues)] = []
        for (id, effect) in changes {
            let name = TargetName(scope, id)
            guard let target = try reader.smallTarget(name, before: number, changesMax: most),
                let values = look(id, target, effect, body)
            else { continue }
            seen.append((id, values))
        }
        try state.seen.note(seen, by: number)
    }

    /// Aims with which of them keep the shared row, of those that may.
    func resolved(_ aims: [WriteTarget], _ now: Timestamp) throws(StoreError) -> [WriteTarget] {
        var resolved = aims
        for place in aims.indices where aims[place].isShared {
            let name = aims[place].name
            resolved[place].isShared = try sharing.seesShared(name, orHidden: true, now: now)
        }
        return resolved
    }

    /// Marks targets in the index, and fills the rows that come with them.
    func cover(_ aims: [WriteTarget], _ found: FoundBases, _ now: Timestamp) throws(StoreError) {
        for aim in aims {
            claim(aim.name)
            change(aim.name) { $0.targets += 1 }
            guard aim.isShared else {
                sharing.countBeforeOwnEntry(aim.name)
                continue
            }
            try sharing.noteKeeper(aim.name)
            let place = aim.base(in: shared)
            if found.entries[place] != nil { try hiding.takeMarks(of: place) }
            change(place) { $0.targets += 1 }
        }
        promotion.addGarbage(aims.map(\.name))
        if !writer.isCacheLeftOut {
            for aim in aims { try promotion.holdVariants(of: aim.base(in: shared)) }
        }
        try promotion.fill(now: now)
    }

    func forget(_ found: FoundBases) throws(StoreError) {
        for entry in found.entries.values { try bodies.forget(entry.body) }
    }
}

extension NewModifier {
    var aims: [WriteTarget] {
        changes.map { change in
            WriteTarget(name: TargetName(scope, change.id), isShared: change.isOfSharedRow)
        }
    }
}
