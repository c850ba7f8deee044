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
            let existing = try state.modifiers.existing(modifier)
            guard existing?.digest ?? modifier.digest == modifier.digest else {
                return .refused(.modifierExists)
            }
            known.append(existing?.acceptance)
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
        for (modifier, known) in zip(new, known) {
            if let known {
                acceptances.append(known)
                continue
            }
            let step = Step(revision: try revisions.next(), now: now)
            let aims = seen[modifier.id] ?? []
            var modifier = modifier
            modifier.dependsOn += try state.temporaries.creators(of: modifier)
            let number = try state.modifiers.accept(modifier, aims, found.entries, step)
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
        for (modifier, acceptance) in zip(new, acceptances) where acceptance.isNew {
            var seen: [(EntryID, SeenValues)] = []
            for change in modifier.changes where !change.isImplied {
                let name = TargetName(modifier.scope, change.id)
                let values = try self.seen(name, change.effect, acceptance.number, look)
                if let values { seen.append((change.id, values)) }
            }
            try state.seen.noteFirst(seen, by: acceptance.number, modifier.scope)
        }
        // The values that they see are known only now; the error undoes the step.
        for scope in Set(fresh.map(\.scope)) {
            if let error = try state.modifiers.refusal(of: scope, since: before) { throw error }
        }
        return .done(acceptances)
    }

    /// Stores what a modifier sees of a target, unless that takes too long for a step.
    func see(
        _ name: TargetName,
        _ effect: [UInt8],
        _ number: ModifierNumber,
        _ look: SeenValues.Reader?
    ) throws(StoreError) {
        let seen = try seen(name, effect, number, look)
        try state.seen.note(seen, of: name.id, by: number)
    }

    private func seen(
        _ name: TargetName,
        _ effect: [UInt8],
        _ number: ModifierNumber,
        _ look: SeenValues.Reader?
    ) throws(StoreError) -> SeenValues? {
        guard let look, let target = try state.reader.seenTarget(name, before: number) else {
            return nil
        }
        let reader = try state.reader
        let body = { [reader] in (try? reader.requestBody(of: $0))?.bytes }
        return look(name.id, target, effect, body)
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
            guard aim.isShared else { continue }
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
