import LarderModel
import LarderNormalize

struct Settling: WriterPart {
    let writer: StoreWriter

    func settle(_ settlements: [Settlement], now: Timestamp) throws(StoreError) {
        for settlement in settlements { _ = try settle(settlement, now: now) }
    }

    func settle(
        _ numbers: [ModifierNumber],
        joined: [ModifierNumber],
        now: Timestamp,
        naming: (WholeModifier, [StoredTemporary]) -> IDRenaming?,
        deciding: (WholeModifier) -> Settlement
    ) throws(StoreError) -> CommandResult<[DepartedModifier]> {
        var departed: [DepartedModifier] = []
        for number in numbers { try joining.part(groupOf: number, leaving: numbers + joined) }
        for (place, number) in numbers.enumerated() {
            let group = place == 0 ? [number] + joined : [number]
            var found: Set<ModifierNumber> = []
            for number in group { found.formUnion(try acceptedBefore(number, deciding)) }
            let beneath = found.sorted() + group.dropLast()
            let read = beneath.isEmpty ? [:] : try bases(of: group.last ?? number, now)
            for number in beneath + group.suffix(1) {
                // Each is read after those before it have changed base.
                guard var whole = try state.reader.queue.modifier(number) else { continue }
                let made = try state.temporaries.waiting(madeBy: number)
                if !made.isEmpty, let renaming = naming(whole, made) {
                    let scope = shared.key(for: whole.modifier.scope)
                    let large = try self.renaming.rename(renaming, scope, now: now)
                    guard large.isEmpty else { return .needs(large) }
                    whole = try state.reader.queue.modifier(number) ?? whole
                }
                guard let settled = try settle(deciding(whole), read, now: now) else { continue }
                departed.append(
                    DepartedModifier(
                        whole: whole,
                        variants: settled.variants,
                        waits: settled.waits,
                        revision: settled.revision
                    )
                )
            }
        }
        return .done(departed)
    }

    /// The modifiers that were answered 202 before, and that a confirmed one settles with it.
    ///
    /// Their effects go into base beneath its own, so that they never show over it (case 7). Each
    /// takes those before it along, too.
    private func acceptedBefore(
        _ number: ModifierNumber,
        _ deciding: (WholeModifier) -> Settlement
    ) throws(StoreError) -> Set<ModifierNumber> {
        guard try (state.memory.totals.byState[.accepted] ?? 0) > 0 else { return [] }
        var found: Set<ModifierNumber> = []
        var open = [number]
        while let later = open.popLast() {
            guard let whole = try state.reader.queue.modifier(later) else { continue }
            let settlement = deciding(whole)
            guard settlement.isConfirmed, !settlement.isShown else { continue }
            let scope = (":scope", shared.key(for: whole.modifier.scope).text)
            for id in settlement.changed() {
                let rows = try state.queue(
                    .acceptedBefore,
                    scope,
                    (":id", id.text),
                    (":number", later.value)
                )
                let numbers = try rows.all { ModifierNumber($0.integer(ChangeColumn.modifier)) }
                open += numbers.filter { found.insert($0).inserted }
            }
        }
        return found
    }

    private func bases(
        of number: ModifierNumber,
        _ now: Timestamp
    ) throws(StoreError) -> [TargetName: TargetBase] {
        var bases: [TargetName: TargetBase] = [:]
        for name in try targetNames(of: number, isOpen: true) {
            bases[name] = try promotion.base(of: name, now: now)
        }
        return bases
    }

    /// Settles one modifier; returns the variants of its targets, or nil if it was settled before.
    ///
    /// `read` is what targets were before others were settled in the same step.
    ///
    /// The store works out each new base from the present one, and the cache shows it if there is a
    /// cache. No 2xx changes a shared row: the modifier then waits for an answer that does (case
    /// 29). An answer for a document shows the entities in it, so entities that only effects name
    /// wait with their documents.
    private func settle(
        _ settlement: Settlement,
        _ read: [TargetName: TargetBase] = [:],
        now: Timestamp
    ) throws(StoreError) -> (variants: [VariantRow], waits: Bool, revision: Revision)? {
        guard let row = try state.modifiers.row(settlement.number), !row.isSettled else {
            return nil
        }
        // A later modifier has confirmed it, while its own step was on the way here.
        let isRepeated = settlement.isConfirmed && !settlement.isShown && !settlement.endsWait
        guard !row.isAnswered || !isRepeated else { return ([], waits: true, revisions.last) }
        let step = Step(revision: try revisions.next(), now: now)
        if !settlement.isConfirmed, let scope = Scope(text: row.scope) {
            try renaming.fail(madeBy: settlement.number, shared.key(for: scope))
        }
        var (names, waiting, implied): ([TargetName], [TargetName], [TargetName]) = ([], [], [])
        let changes = try state.targets.of(settlement.number)
        let isAnswer = settlement.isConfirmed && !settlement.isShown && !row.isAnswered
        for target in changes {
            guard let name = target.name, !target.isEnded else { continue }
            let isOfShared = try isAnswer ? sharing.place(of: name) != name : false
            switch (isOfShared, target.isImplied) {
            case (false, _): names.append(name)
            case (true, true): implied.append(name)
            case (true, false):
                // Users read the shared row, so a stale mark makes the next read fetch it again.
                try markStale(shared.sharedName(name.id))
                try isCounted(target, name, now) ? names.append(name) : waiting.append(name)
            }
        }
        if waiting.isEmpty { names += implied } else { waiting += implied }
        // Entities that an effect takes out of a list are as they were.
        let others = changes.contains(where: \.isImplied) ? settlement.changed() : []
        let removed = Set(changes.filter(\.isImplied).compactMap(\.name))
            .filter { !others.contains($0.id) }
        let views = try state.views.views(of: names)
        let targets = try outcomes(of: names, settlement, read, views, now)
        let changed = try entities(of: targets, besides: settlement.number, now)
        for name in names + waiting where isAnswer && !removed.contains(name) {
            try forgetETag(of: name)
        }
        let waits = !waiting.isEmpty
        try state.targets.settle(settlement, row, changes, targets, views, waits: waits, step)
        try promotion.fill(now: now)
        for (name, before) in changed {
            let after = try promotion.base(of: name, now: now)
            try noteChange(of: name, by: settlement, from: before, to: after)
        }
        var variants: [VariantRow] = []
        for rows in settlement.variants {
            let found = try variantRows(in: [rows.places])
            variants += found
            for row in found where settlement.isConfirmed { try settle(row, rows.update, step) }
        }
        try forgetTargets(names, step.revision)
        if settlement.isReadAgain, !row.isAnswered {
            let gone = settlement.isDeletion ? targets.filter(\.result.isTombstone) : []
            for name in names.unique + waiting where !removed.contains(name) {
                let isDeleted = gone.contains { $0.name == name }
                try isDeleted ? endRead(name, step.revision) : wantRead(name, step.revision)
            }
        }
        guard case .failed = settlement.outcome else { return (variants, waits, step.revision) }
        for name in changes.compactMap(\.name) {
            shared.residency.addDeadLetters(name.scope, name.id, 1)
            onRollBack { [index = shared.residency] in index.addDeadLetters(name.scope, name.id, -1)
            }
        }
        return (variants, false, step.revision)
    }

    /// Whether a read has changed the base on which an effect counts since it was first sent: base
    /// may have the effect already, and must not show it twice (case 29).
    private func isCounted(
        _ target: TargetChange,
        _ name: TargetName,
        _ now: Timestamp
    ) throws(StoreError) -> Bool {
        guard let sent = target.sent else { return false }
        return try sent != shared.configuration.sentBases.mark(promotion.base(of: name, now: now))
    }

    /// Notes that a target is to be read; of many the oldest are left to the next client.
    private func wantRead(_ name: TargetName, _ revision: Revision) throws(StoreError) {
        let scope = (":scope", name.scope.text)
        try state.queue[.wantRead].run(scope, (":id", name.id.text), (":rev", revision.number))
        // The statement sorts all rows of the user, so it does not run at each step.
        let isDue = try state.noteRead(of: name.scope)
        if isDue { try state.queue[.dropRead].run(scope, (":max", Limits.wantedReadsMax)) }
    }

    /// Notes that a target needs no read.
    func endRead(_ name: TargetName, _ revision: Revision) throws(StoreError) {
        try state.queue(.endRead, of: name).run((":rev", revision.number))
    }

    func forgetTargets(_ names: [TargetName], _ step: Revision) throws(StoreError) {
        let index = shared.residency
        for name in names {
            let place = try sharing.place(of: name)
            if place != name { try state.targets.raise(place, to: step) }
            try entries.raiseTombstone(atURLOf: name, to: step)
            afterCommit {
                index.change(name) { $0.targets -= 1 }
                if place != name { index.change(place) { $0.targets -= 1 } }
            }
        }
        for name in names.unique { try sharing.removeIdleKeeper(name) }
    }

    func variantRows(in places: [VariantPlaces?]) throws(StoreError) -> [VariantRow] {
        var rows: [VariantRow] = []
        for case let places? in places {
            var found: [EntryID: ScopeKey] = [:]
            let page = VariantPage(prefix: places.prefix)
            for scope in places.scopes.reversed() {
                if !shared.residency.isEmpty {
                    for id in try state.rows.variants(page, in: scope) { found[id] = scope }
                }
                let cached = try cacheIfAny?.rows.variants(page, in: scope) ?? []
                for row in cached where row.kind != .variants { found[row.id] = scope }
            }
            rows += found.map { VariantRow(id: $0.key, place: $0.value) }
        }
        return rows
    }

    /// Notes that a settled modifier has changed base, for those that were sent on the base before
    /// and those that have seen it.
    ///
    /// To these modifiers base is as it was: no read has changed it.
    private func noteChange(
        of name: TargetName,
        by settlement: Settlement,
        from before: TargetBase,
        to after: TargetBase
    ) throws(StoreError) {
        let later = try state.queue(.seenChanges, of: name)
        later.bind(":number", settlement.number.value)
        let waiting = try later.all { row in
            StoredChange(row).map { (ModifierNumber(row.integer(ChangeColumn.modifier)), $0) }
        }
        for (number, change) in waiting {
            guard let seen = settlement.reseeing(change, before, after) else { continue }
            try state.seen.note([(name.id, seen)], by: number)
        }
        try noteChange(of: name, from: before, to: after)
    }

    /// Notes that base has changed, for modifiers that were sent on the base before.
    ///
    /// To these modifiers base is as it was: no read has changed it. With `kept`, a read has, but
    /// not in these members: it counts for modifiers of others.
    func noteChange(
        of name: TargetName,
        from before: TargetBase,
        to after: TargetBase,
        except kept: TouchedMembers = .all
    ) throws(StoreError) {
        var sent: [(change: Int64, noted: [UInt8]?, effect: [UInt8])] = []
        for target in try [name] + sharing.targets(on: name) {
            sent += try state.queue(.sentChanges, of: target).all { row in
                (
                    row.integer(ChangeColumn.change), row.bytesOrNil(ChangeColumn.sent),
                    Array(row.bytes(ChangeColumn.effect))
                )
            }
        }
        guard !sent.isEmpty else { return }
        let bases = shared.configuration.sentBases
        let (old, new) = (bases.mark(before), bases.mark(after))
        for (change, noted, effect) in sent
        where noted == old && bases.touched(effect).isSubset(of: kept) {
            try state.queue[.noteSent].run((":change", change), (":sent", new))
        }
    }

    private func outcomes(
        of names: [TargetName],
        _ settlement: Settlement,
        _ read: [TargetName: TargetBase],
        _ views: [ViewBefore],
        _ now: Timestamp
    ) throws(StoreError) -> [(name: TargetName, result: TargetOutcome)] {
        var targets: [(name: TargetName, result: TargetOutcome)] = []
        var bases: [TargetName: TargetBase] = [:]
        for view in views { bases[view.name] = view.target?.ownBase }
        for name in names {
            let known = bases[name]
            var base = if let known { known } else { try promotion.base(of: name, now: now) }
            if let read = read[name] { base = base.read(with: read) }
            let hasOthers = try state.targets.hasOthers(name, settlement.number)
            let isLeft = settlement.isConfirmed ? try sharing.place(of: name) != name : false
            let (result, next) =
                try isLeft ? (.keep, nil) : result(of: name, base, settlement.outcome, now)
            targets.append((name, result))
            // A read may have changed base by it before.
            if hasOthers, settlement.isShown || settlement.isConfirmed && !isLeft {
                try noteChange(of: name, by: settlement, from: base, to: next ?? base)
            }
            bases[name] = next ?? base
        }
        return targets
    }

    /// Entities that results contain and that other modifiers target, with the base of each.
    private func entities(
        of targets: [(name: TargetName, result: TargetOutcome)],
        besides number: ModifierNumber,
        _ now: Timestamp
    ) throws(StoreError) -> [(name: TargetName, base: TargetBase)] {
        var found: [(name: TargetName, base: TargetBase)] = []
        for case (_, .answer(_, let entities)) in targets {
            for id in entities.ids {
                let name = TargetName(entities.scope, id)
                let targets = shared.residency.place(name.scope, id)?.targets ?? 0
                guard targets > 0, try state.targets.hasOthers(name, number) else { continue }
                found.append((name, try promotion.base(of: name, now: now)))
            }
        }
        return found
    }

    /// Targets of a modifier's changes, one for each change, or with `isOpen` one for each not
    /// ended.
    ///
    /// Unreadable changes are left out.
    func targetNames(of number: ModifierNumber, isOpen: Bool) throws(StoreError) -> [TargetName] {
        try state.targets.of(number).compactMap { isOpen && $0.isEnded ? nil : $0.name }
    }

    private func result(
        of name: TargetName,
        _ base: TargetBase,
        _ outcome: Settlement.Outcome,
        _ now: Timestamp
    ) throws(StoreError) -> (result: TargetOutcome, base: TargetBase?) {
        switch outcome {
        case .cancelled: return (.keep, nil)
        case .failed(_, let view): return (.lost(view(name.id, base)), nil)
        case .confirmed(let update):
            let said = update(name.id, base)
            switch said {
            case .keep: return (.keep, nil)
            case .markStale: return (.markStale, nil)
            case .tombstone(let status):
                let entry = base.tombstone(name.id, status, now)
                return (.tombstone(entry), .deleted(entry))
            case .put(let entry, let bytes), .derived(let entry, let bytes):
                if var entities = try entities(of: name, entry, bytes, now) {
                    if case .derived = said { entities.isMade = true }
                    return (.answer(entry, entities), TargetBase(entry, bytes))
                }
                let isRead = entry.body.isJSON || name.id.isEntity
                let body = try bodies.linkable(bytes, name, in: .state, as: .base)
                return (.put(entry, body), TargetBase(entry, isRead ? bytes : nil))
            }
        }
    }

    /// The entities in a confirmed modifier's result for a normalized answer, or for one that had
    /// no entity before.
    ///
    /// Nil if the answer is to be stored whole. Other waiting modifiers of the entities show in it
    /// as before.
    private func entities(
        of name: TargetName,
        _ entry: Entry,
        _ bytes: [UInt8],
        _ now: Timestamp
    ) throws(StoreError) -> NewEntities? {
        guard let origin = entry.origin, entry.body.isJSON,
            let split = shared.origins.split(name.id, origin, bytes)
        else { return nil }
        let isNormalized = try state.rows.entry(name)?.normalized != nil
        guard isNormalized || !split.keys.isEmpty else { return nil }
        let entities = NewEntities(
            split,
            of: origin,
            in: name.scope,
            fetch: revisions.last,
            cause: ChangeCause(.modifier)
        )
        for id in entities.ids { try state.rows.makeRow(TargetName(name.scope, id)) }
        try promotion.fill(now: now)
        return entities
    }

    /// Marks rows stale: those of the ids in the scopes, and a page of what begins with its prefix.
    ///
    /// Returns the next page; nil after the last one.
    func markStale(
        _ id: EntryID?,
        of digest: Digest?,
        in scopes: [ScopeKey],
        _ page: VariantPage?
    ) throws(StoreError) -> VariantPage? {
        var names = id.map { id in scopes.map { TargetName($0, id) } } ?? []
        var last: [EntryID] = []
        for case let page? in [page] {
            for scope in scopes {
                var ids = shared.residency.isEmpty ? [] : try state.rows.variants(page, in: scope)
                let cached = try cacheIfAny?.rows.variants(page, in: scope) ?? []
                for found in [ids, cached.map(\.id)] where found.count >= Limits.pageRowsMax {
                    last += found.suffix(1)
                }
                ids += cached.filter { $0.kind != .variants }.map(\.id)
                names += ids.map { TargetName(scope, $0) }
            }
        }
        for name in names.unique {
            try markStale(name, of: digest)
            if try durable(name)?.hasEntry == true { try state.noteChange(of: name) }
        }
        return last.map(\.text).min().flatMap { page?.after($0) }
    }

    private func markStale(_ name: TargetName, of digest: Digest? = nil) throws(StoreError) {
        if let row = try durable(name), row.hasEntry {
            guard digest == nil || digest == row.digest else { return }
            return try state.targets.markStale(row)
        }
        try cacheIfAny?.rows.run(.markStale, name, of: digest)
    }

    /// An entity's own URL gives another answer once a modifier of the entity was applied.
    private func forgetETag(of entity: TargetName) throws(StoreError) {
        guard let name = entity.id.entity, let url = shared.origins.ownID(name) else { return }
        let place = TargetName(try sharing.place(of: entity).scope, url)
        if let row = try durable(place), row.hasEntry {
            return try state.targets.forgetValidators(row)
        }
        try cacheIfAny?.rows.run(.forgetValidators, place)
    }

    /// Gives a variant the result of a confirmed modifier.
    ///
    /// The variant keeps its state if it has changes of its own, or if the result is unknown.
    private func settle(
        _ variant: VariantRow,
        _ update: (VariantRow, TargetBase) -> BaseUpdate,
        _ step: Step
    ) throws(StoreError) {
        let (scope, id, now) = (variant.place, variant.id, step.now)
        let name = TargetName(scope, id)
        let row = try durable(name)
        var new: NewEntry?
        if row?.isTargeted != true {
            let base = try promotion.base(of: name, now: now)
            switch update(variant, base) {
            case .put(let entry, let bytes), .derived(let entry, let bytes):
                guard bytes.count <= Limits.inlineBodyBytesMax else { break }
                new = NewEntry(scope: scope, entry: entry, body: .inline(bytes))
            case .tombstone(let status):
                let tombstone = base.tombstone(id, status, now)
                new = NewEntry(scope: scope, entry: tombstone, body: .inline([]))
            case .keep, .markStale: break
            }
        }
        guard var new else { return try markStale(name) }
        new.entry.revision = step.revision
        guard let row, !row.isLeftToCache else {
            _ = try cacheIfAny?.rows.put(new, given: step.revision, now: now)
            return
        }
        do throws(StoreError) {
            try state.rows.put(new, isUpdate: false)
        } catch .pinsFull {
            try markStale(name)
        }
    }
}

extension Settlement {
    var isConfirmed: Bool { if case .confirmed = outcome { true } else { false } }
}

extension Settlement.Outcome {
    var state: ModifierState {
        switch self {
        case .confirmed: .confirmed
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }
}
