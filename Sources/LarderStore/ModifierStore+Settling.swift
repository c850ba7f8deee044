import LarderModel
import LarderNormalize

/// How modifiers leave the queue.
extension ModifierStore {
    /// Settles all of them in one transaction; those that were settled before are left out of the
    /// receipt.
    ///
    /// What becomes of each base is worked out from what it is then, in the targets' turns.
    func settle(
        _ settlements: [Settlement],
        now: Timestamp,
        finish: () async -> Void = {}
    ) async throws(StoreError) -> SettleReceipt {
        let targets = try await targets(of: settlements)
        let names = Set(targets.values.joined())
        let shared = kept.shared.key(for: .shared)
        let keys = names.flatMap { [KeptKey($0.scope, $0.id), KeptKey(shared, $0.id)] }
        return try await kept.turns.inTurns(keys) { () async throws(StoreError) in
            var bases = try await bases(of: names)
            let ready = try await prepare(settlements, targets, &bases, now)
            do throws(StoreError) {
                await markSharedStale(settlements, targets, shared)
                let (settled, revision) = try await kept.revisions.steps(ready.count) {
                    (steps) async throws(StoreError) in
                    let settled = try await file.settle { writer throws(StoreError) in
                        try writer.settle(ready, steps, now: now)
                    }
                    await finish()
                    return (settled, steps.last ?? kept.revisions.last)
                }
                for number in settled {
                    for name in targets[number] ?? [] {
                        index.addTargets(name.scope, name.id, -1)
                    }
                }
                for settlement in ready where !settled.contains(settlement.number) {
                    abandon([settlement])
                }
                // A copy has none: behind it stands the shared row.
                let mirrors = ready.filter { settled.contains($0.number) }
                    .flatMap { $0.mirrors(at: revision) }
                kept.postMirrors(
                    mirrors.filter { !index.isCopy($0.scope, EntryID($0.name)) }
                )
                return SettleReceipt(settled: settled, revision: revision)
            } catch {
                abandon(ready)
                throw error
            }
        }
    }

    private func abandon(_ settlements: [StateWriter.ReadySettlement]) {
        for target in settlements.flatMap(\.targets) {
            if let body = target.fate.body { kept.carrier.abandon(body) }
        }
    }

    private func targets(
        of settlements: [Settlement]
    ) async throws(StoreError) -> [ModifierNumber: [TargetName]] {
        let numbers = settlements.map(\.number)
        let rows = try await file.queue.submit { writer throws(StoreError) in
            var rows: [ModifierNumber: [(scope: String, id: String)]] = [:]
            for number in numbers { rows[number] = try writer.targets(of: number) }
            return rows
        }
        return rows.mapValues { targets in
            targets.compactMap { target in
                guard let scope = Scope(text: target.scope),
                    let id = try? EntryID(stored: target.id)
                else { return nil }
                return TargetName(kept.shared.key(for: scope), id)
            }
        }
    }

    private func bases(
        of names: Set<TargetName>
    ) async throws(StoreError) -> [TargetName: KeptBase] {
        let rows = try await file.queue.submit { writer throws(StoreError) in
            var rows: [TargetName: StateWriter.KeptEntry] = [:]
            for name in names { rows[name] = try writer.entry(name.scope, name.id) }
            return rows
        }
        var bases: [TargetName: KeptBase] = [:]
        for (name, row) in rows {
            let base = try await kept.base(row)
            bases[name] = await withEntities(base, name)
        }
        return bases
    }

    /// An answer's base with its entities as they are now, where the cache has a mirror of it.
    private func withEntities(_ base: KeptBase, _ name: TargetName) async -> KeptBase {
        guard case .value(let entry, _?) = base, entry.kind == .fetched, kept.shared.rules.hasAny
        else { return base }
        let scope = name.scope
        let shown = try? await kept.cache.submit { writer throws(StoreError) in
            try writer.rebuiltMirror(of: entry, scope)
        }
        guard let shown = shown ?? nil else { return base }
        return .value(shown.entry, shown.answer.bytes)
    }

    /// Works out what becomes of each target, one settlement after the other.
    private func prepare(
        _ settlements: [Settlement],
        _ targets: [ModifierNumber: [TargetName]],
        _ bases: inout [TargetName: KeptBase],
        _ now: Timestamp
    ) async throws(StoreError) -> [StateWriter.ReadySettlement] {
        var ready: [StateWriter.ReadySettlement] = []
        do throws(StoreError) {
            for settlement in settlements {
                ready.append(
                    StateWriter.ReadySettlement(
                        number: settlement.number,
                        outcome: settlement.outcome.state,
                        reason: settlement.outcome.reason,
                        answer: settlement.answer,
                        problem: settlement.problem,
                        targets: []
                    )
                )
                for name in targets[settlement.number] ?? [] {
                    let base = bases[name] ?? .unknown
                    let fate = try await fate(of: name, base, settlement.outcome, now)
                    ready[ready.count - 1].targets.append((name, fate.fate))
                    if let changed = fate.base { bases[name] = changed }
                }
            }
            return ready
        } catch {
            abandon(ready)
            throw error
        }
    }

    private func fate(
        of name: TargetName,
        _ base: KeptBase,
        _ outcome: Settlement.Outcome,
        _ now: Timestamp
    ) async throws(StoreError) -> (fate: StateWriter.TargetFate, base: KeptBase?) {
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
            case .put(let entry, let body):
                let new = NewEntry(scope: name.scope, entry: entry, body: body)
                let taken = try await taken(new, now)
                let isRead = entry.body.isJSON || name.id.isEntity
                let bytes: [UInt8]? = isRead ? try await self.bytes(new) : nil
                return (.put(entry, taken), KeptBase(entry, bytes))
            }
        }
    }

    /// A body where `state.db` can link it.
    private func taken(_ new: NewEntry, _ now: Timestamp) async throws(StoreError) -> NewBody {
        switch new.body {
        case .inline: try await kept.inChunks(new, as: .base, now)
        case .uploaded: try await kept.carrier.carry(new, to: .state, as: .base, now: now)
        }
    }

    private func bytes(_ new: NewEntry) async throws(StoreError) -> [UInt8] {
        switch new.body {
        case .inline(let bytes): return bytes
        case .uploaded(let upload):
            let body = ChunkedBody(
                number: upload.body,
                byteCount: new.entry.body.byteCount,
                file: upload.file
            )
            return try await kept.carrier.bytes(of: body)
        }
    }

    /// What others read of a shared row is asked for again, before the write is settled: at worst
    /// once too often.
    private func markSharedStale(
        _ settlements: [Settlement],
        _ targets: [ModifierNumber: [TargetName]],
        _ shared: ScopeKey
    ) async {
        var ids: Set<EntryID> = []
        for settlement in settlements {
            guard case .confirmed = settlement.outcome else { continue }
            for name in targets[settlement.number] ?? []
            where index.followers(shared, name.id).contains(name.scope) {
                ids.insert(name.id)
            }
        }
        guard !ids.isEmpty else { return }
        let stale = ids
        // Without the cache nobody reads it; where it is pinned it is in the other file.
        try? await kept.cache.submit { writer throws(StoreError) in
            for id in stale { try writer.markStale(shared, id) }
        }
        let pinned = stale.filter { index.covers(shared, $0) }
        guard !pinned.isEmpty else { return }
        try? await file.settle { writer throws(StoreError) in
            for id in pinned {
                if let row = try writer.find(shared, id) { try writer.markStale(row) }
            }
        }
    }
}

extension StateWriter.ReadySettlement {
    /// What the cache's rows of its entities are to say.
    fileprivate func mirrors(at revision: Revision) -> [MirroredEntity] {
        targets.compactMap { target in
            guard case .put(var entry, .inline(let bytes)) = target.fate else { return nil }
            entry.revision = revision
            return MirroredEntity(entry, bytes, in: target.name.scope)
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
