import LarderModel
import LarderNormalize

/// How modifiers leave the queue: a command over both files.
extension StoreWriter {
    /// Settles those that are not settled yet, each in its step.
    func settle(
        _ settlements: [Settlement],
        now: Timestamp
    ) throws(StoreError) -> SettleReceipt {
        var receipt = SettleReceipt(revision: revisions.last)
        for settlement in settlements {
            guard let (step, _) = try settle(settlement, now) else { continue }
            receipt.settled.append(settlement.number)
            receipt.revision = step
        }
        return receipt
    }

    /// The same of modifiers that can be read: `deciding` says how each of them leaves the queue.
    func settle(
        _ numbers: [ModifierNumber],
        now: Timestamp,
        deciding: (WholeModifier) -> Settlement
    ) throws(StoreError) -> [DepartedModifier] {
        var departed: [DepartedModifier] = []
        for number in numbers {
            guard let whole = try state.reader.queue.openModifier(number),
                let (_, variants) = try settle(deciding(whole), now)
            else { continue }
            departed.append(DepartedModifier(whole: whole, variants: variants))
        }
        return departed
    }

    /// Has one modifier leave the queue; its step and the variants of its targets, or nil where it is
    /// settled.
    ///
    /// What becomes of each base is worked out from what it is now, and shown by the cache as far as
    /// there is one.
    private func settle(
        _ settlement: Settlement,
        _ now: Timestamp
    ) throws(StoreError) -> (step: Revision, variants: [VariantRow])? {
        guard let row = try state.find(settlement.number), !row.isSettled else { return nil }
        let step = try revisions.next()
        let ready = try prepare(settlement, now)
        try markSharedStale(ready)
        guard try state.settle(ready, step, now: now) else { return nil }
        for name in ready.targets.map(\.name).unique {
            if ready.keepsBase(of: name) {
                try raise(name.scope, name.id, to: step)
            } else {
                try show(name.scope, name.id, now: now)
            }
        }
        var variants: [VariantRow] = []
        for rows in settlement.variants {
            for row in try variantRows(rows, now) {
                variants.append(row)
                guard case .confirmed = settlement.outcome else { continue }
                try settle(row, rows.update, at: step, now)
            }
        }
        for (name, _) in ready.targets {
            afterCommit { [index = shared.claims] in index.addTargets(name.scope, name.id, -1) }
        }
        return (step, variants)
    }

    private func variantRows(
        _ rows: VariantRows,
        _ now: Timestamp
    ) throws(StoreError) -> [VariantRow] {
        let query = VariantQuery(prefix: rows.prefix, scopes: rows.scopes, shownAt: now)
        let claims = shared.claims.isEmpty ? nil : try state.connection
        return try query.rows(claims: claims, cache: try cacheIfAny?.connection)
    }

    /// Counts an attempt and says that bytes may leave, with all that is sent; nil for what is settled,
    /// or cannot be read.
    func send(_ number: ModifierNumber) throws(StoreError) -> DepartingModifier? {
        guard try state.send(number), let whole = try state.reader.queue.openModifier(number) else {
            return nil
        }
        let scope = shared.key(for: whole.modifier.scope)
        var bases: [EntryID: TargetBase] = [:]
        for id in whole.modifier.targets {
            guard let saved = try state.entry(scope, id), let entry = saved.entry else { continue }
            bases[id] =
                saved.goneStatus.map { .deleted(entry.tombstone($0)) }
                ?? TargetBase(entry, saved.chunked == nil ? saved.inline : nil)
        }
        return DepartingModifier(whole: whole, bases: bases)
    }

    /// Works out what becomes of each target, one change after the other.
    private func prepare(
        _ settlement: Settlement,
        _ now: Timestamp
    ) throws(StoreError) -> StateWriter.ReadySettlement {
        var ready = StateWriter.ReadySettlement(
            number: settlement.number,
            outcome: settlement.outcome.state,
            reason: settlement.outcome.reason,
            answer: settlement.answer,
            problem: settlement.problem,
            targets: []
        )
        var bases: [TargetName: TargetBase] = [:]
        for target in try state.targets(of: settlement.number) {
            guard let scope = Scope(text: target.scope), let id = try? EntryID(stored: target.id)
            else { continue }
            let name = TargetName(shared.key(for: scope), id)
            let base: TargetBase
            if let known = bases[name] {
                base = known
            } else {
                base = try self.base(of: name, now: now)
            }
            let (fate, next) = try fate(of: name, base, settlement.outcome, now)
            ready.targets.append((name, fate))
            bases[name] = next ?? base
        }
        return ready
    }

    private func fate(
        of name: TargetName,
        _ base: TargetBase,
        _ outcome: Settlement.Outcome,
        _ now: Timestamp
    ) throws(StoreError) -> (fate: StateWriter.TargetFate, base: TargetBase?) {
        switch outcome {
        case .cancelled:
            return (.keep, nil)
        case .dead(_, let view):
            return (.lost(view(name.id, base)), nil)
        case .confirmed(let update):
            switch update(name.id, base) {
            case .keep: return (.keep, nil)
            case .markStale: return (.markStale, nil)
            case .tombstone(let status):
                let entry = base.tombstone(name.id, status, now)
                return (.tombstone(entry), .deleted(entry))
            case .put(let entry, let bytes):
                let isRead = entry.body.isJSON || name.id.isEntity
                let body = try linkable(bytes, name, in: .state, as: .base)
                return (.put(entry, body), TargetBase(entry, isRead ? bytes : nil))
            }
        }
    }

    /// What others read of a shared row is asked for again.
    private func markSharedStale(_ settlement: StateWriter.ReadySettlement) throws(StoreError) {
        guard settlement.outcome == .confirmed else { return }
        let original = shared.key(for: .shared)
        for (name, _) in settlement.targets where shared.claims.isCopy(name.scope, name.id) {
            try markStale(original, name.id)
        }
    }

    private func markStale(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        try cacheIfAny?.markStale(scope, id)
        guard let row = try claimed(scope, id) else { return }
        try state.markStale(row)
        noteShown(scope, id)
    }

    /// Has a variant say what a confirmed modifier has made of it, unless changes of its own show there,
    /// or it is not known what that is.
    private func settle(
        _ variant: VariantRow,
        _ update: (VariantRow, TargetBase) -> BaseUpdate,
        at step: Revision,
        _ now: Timestamp
    ) throws(StoreError) {
        let (scope, id) = (variant.place, variant.id)
        let row = try claimed(scope, id)
        let name = TargetName(scope, id)
        var new: NewEntry?
        if row?.isTargeted != true {
            let base = try base(of: name, now: now)
            switch update(variant, base) {
            case .put(let entry, let bytes) where bytes.count <= Limits.inlineBodyBytesMax:
                new = NewEntry(scope: scope, entry: entry, body: .inline(bytes))
            case .tombstone(let status):
                let tombstone = base.tombstone(id, status, now)
                new = NewEntry(scope: scope, entry: tombstone, body: .inline([]))
            case .keep, .markStale, .put: break
            }
        }
        guard var new else { return try markStale(scope, id) }
        new.entry.revision = step
        guard let row, !row.isLeftToCache else {
            _ = try cacheIfAny?.put(new, given: step, now: now)
            return
        }
        do throws(StoreError) {
            _ = try state.put(new, isNews: false)
            try show(scope, id, now: now)
        } catch .pinsFull {
            try markStale(scope, id)
        }
    }
}

extension StateWriter.ReadySettlement {
    /// Whether a target's base stays what it is.
    fileprivate func keepsBase(of name: TargetName) -> Bool {
        targets.allSatisfy { target in
            switch target.fate {
            case .keep, .lost: true
            case .put, .tombstone, .markStale: target.name != name
            }
        }
    }
}

extension Settlement.Outcome {
    fileprivate var state: ModifierState {
        switch self {
        case .confirmed: .confirmed
        case .dead: .dead
        case .cancelled: .cancelled
        }
    }

    fileprivate var reason: ModifierReason? {
        if case .dead(let reason, _) = self { reason } else { nil }
    }
}

extension TargetBase {
    fileprivate func tombstone(_ id: EntryID, _ status: Int, _ now: Timestamp) -> Entry {
        let origin: OriginName? =
            switch self {
            case .unknown: nil
            case .deleted(let entry), .value(let entry, _), .entity(let entry, _): entry.origin
            }
        var entry = Entry(
            id: id,
            kind: .tombstone,
            status: status,
            storedAt: now,
            revision: Revision(0),
            body: BodySummary(of: [], isJSON: false)
        )
        entry.origin = origin
        return entry
    }
}
