import LarderModel
import LarderNormalize

/// How modifiers leave the queue: a command over both files.
extension StoreWriter {
    /// Settles those that are not settled yet, each in its step; what becomes of each base is worked
    /// out from what it is then.
    ///
    /// What the cache has of it follows, as far as there is one.
    func settle(
        _ settlements: [Settlement],
        isCacheLeftOut: Bool,
        now: Timestamp
    ) throws(StoreError) -> SettleReceipt {
        var settled: [ModifierNumber] = []
        var revision = revisions.last
        for settlement in settlements {
            guard let row = try state.find(settlement.number), !row.isSettled else { continue }
            let step = try steps.next()
            let ready = try prepare(settlement, isCacheLeftOut: isCacheLeftOut, now)
            if !isCacheLeftOut { try markSharedStale(ready) }
            guard try state.settle(ready, step, now: now) else { continue }
            if !isCacheLeftOut {
                try mirror(ready, at: step)
                if case .confirmed = settlement.outcome {
                    for variant in settlement.variants { try settle(variant, at: step, now) }
                }
            }
            settled.append(settlement.number)
            revision = step
            for (name, _) in ready.targets {
                afterCommit { [index = shared.kept] in index.addTargets(name.scope, name.id, -1) }
            }
        }
        return SettleReceipt(settled: settled, revision: revision)
    }

    /// Works out what becomes of each target, one change after the other.
    private func prepare(
        _ settlement: Settlement,
        isCacheLeftOut: Bool,
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
        var bases: [TargetName: KeptBase] = [:]
        for target in try state.targets(of: settlement.number) {
            guard let scope = Scope(text: target.scope), let id = try? EntryID(stored: target.id)
            else { continue }
            let name = TargetName(shared.key(for: scope), id)
            let base: KeptBase
            if let known = bases[name] {
                base = known
            } else {
                base = try self.base(of: name, isCacheLeftOut: isCacheLeftOut)
            }
            let (fate, next) = try fate(of: name, base, settlement.outcome, now)
            ready.targets.append((name, fate))
            bases[name] = next ?? base
        }
        return ready
    }

    private func fate(
        of name: TargetName,
        _ base: KeptBase,
        _ outcome: Settlement.Outcome,
        _ now: Timestamp
    ) throws(StoreError) -> (fate: StateWriter.TargetFate, base: KeptBase?) {
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
                let body = try linkable(bytes, name, as: .base)
                return (.put(entry, body), KeptBase(entry, isRead ? bytes : nil))
            }
        }
    }

    /// What a target is now; of an answer with its entities as they are, where the cache has a
    /// mirror of it.
    private func base(
        of name: TargetName,
        isCacheLeftOut: Bool
    ) throws(StoreError) -> KeptBase {
        let kept = try state.entry(name.scope, name.id)
        guard let kept, let entry = kept.entry else { return .unknown }
        if let status = kept.goneStatus { return .deleted(entry.tombstone(status)) }
        let isNormalized = entry.kind == .fetched && entry.body.isJSON && shared.rules.hasAny
        if isNormalized, !isCacheLeftOut,
            let shown = try cache.rebuiltMirror(of: entry, name.scope)
        {
            return KeptBase(shown.entry, shown.answer.bytes)
        }
        guard let chunked = kept.chunked else { return KeptBase(entry, kept.inline) }
        return KeptBase(entry, entry.body.isJSON ? try bytes(of: chunked) : nil)
    }

    /// What others read of a shared row is asked for again.
    private func markSharedStale(_ settlement: StateWriter.ReadySettlement) throws(StoreError) {
        guard settlement.outcome == .confirmed else { return }
        let original = shared.key(for: .shared)
        for (name, _) in settlement.targets where shared.kept.isCopy(name.scope, name.id) {
            try cache.markStale(original, name.id)
            guard shared.kept.covers(original, name.id) else { continue }
            if let row = try state.find(original, name.id) { try state.markStale(row) }
        }
    }

    /// Has a variant say what a confirmed modifier has made of it, unless changes of its own show there,
    /// or it is not known what that is.
    private func settle(
        _ variant: SettledVariant,
        at step: Revision,
        _ now: Timestamp
    ) throws(StoreError) {
        let (scope, id) = (variant.place, variant.id)
        let kept = try state.find(scope, id)
        let base =
            if let kept, !kept.isLeftToCache {
                try self.base(of: TargetName(scope, id), isCacheLeftOut: false)
            } else {
                try cachedBase(scope, id, now)
            }
        var new: NewEntry?
        switch kept?.isTargeted == true ? .keep : variant.update(base) {
        case .put(let entry, let bytes) where bytes.count <= Limits.inlineBodyBytesMax:
            new = NewEntry(scope: scope, entry: entry, body: .inline(bytes))
        case .tombstone(let status):
            let tombstone = base.tombstone(id, status, now)
            new = NewEntry(scope: scope, entry: tombstone, body: .inline([]))
        case .keep, .markStale, .put: break
        }
        guard var new else {
            if let kept { try state.markStale(kept) }
            return try cache.markStale(scope, id)
        }
        new.entry.revision = step
        guard let kept, !kept.isLeftToCache else {
            _ = try cache.put(new, given: step, now: now)
            return
        }
        do throws(StoreError) {
            _ = try state.put(new, isNews: false)
        } catch .pinsFull {
            try state.markStale(kept)
        }
    }

    private func cachedBase(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ now: Timestamp
    ) throws(StoreError) -> KeptBase {
        guard let row = try cache.base(scope, id, now: now) else { return .unknown }
        switch row.body {
        case .inline(let bytes): return KeptBase(row.entry, bytes)
        case .chunked(let body):
            defer { _ = shared.leases.giveBack(body.number) }
            return KeptBase(row.entry, row.entry.body.isJSON ? try bytes(of: body) : nil)
        }
    }

    /// Has the cache's rows of entities say what their bases do; a copy has none: behind it stands the
    /// shared row.
    private func mirror(
        _ settlement: StateWriter.ReadySettlement,
        at revision: Revision
    ) throws(StoreError) {
        for (name, fate) in settlement.targets where !shared.kept.isCopy(name.scope, name.id) {
            guard case .put(var entry, .inline(let bytes)) = fate else { continue }
            entry.revision = revision
            guard let entity = MirroredEntity(entry, bytes, in: name.scope) else { continue }
            try cache.mirror(entity, now: entity.storedAt)
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

extension KeptBase {
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
