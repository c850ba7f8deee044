import LarderModel

/// The three durable steps of modifiers over both files: accept, send, settle.
///
/// What a modifier targets is kept by a ``KeptStore``: its base is a kept row from accept on, and
/// nothing else is the entry. Invariants, beside those:
///
/// 1. An id is targeted in ``KeptIndex`` from before its base is read until after the commit in
///    which its last unsettled change is settled.
/// 2. What is accepted is one transaction of `state.db`: the modifiers, their changes, the base of
///    each target. What is settled is one: the new bases, the modifiers gone or dead.
/// 3. Bases are read and worked out in the turns of all targets, which are taken in one order.
///
/// What a crash leaves. In an accept: chunks that no row names (swept; not accepted) → all of it,
/// and shadows (accepted; swept at start). In a settlement: unnamed chunks (not settled) → all of
/// it. A shared row that was marked stale too early is asked for once more than needed.
final class ModifierStore: Sendable {
    let kept: KeptStore
    let index: KeptIndex
    private let baseReader: BaseReader
    var file: StateFile { kept.file }

    init(_ kept: KeptStore, _ baseReader: BaseReader) {
        self.kept = kept
        self.baseReader = baseReader
        index = kept.shared.kept
    }

    /// A target, and how many changes are about to target it.
    struct Aim: Sendable {
        let name: TargetName
        var isShared: Bool
        var changes = 0
    }

    // MARK: Accept

    /// Accepts all of them, or none; in their order.
    func accept(_ new: [NewModifier], now: Timestamp) async throws(StoreError) -> [Acceptance] {
        try file.refuseWhileFull("accept a modifier")
        let aims = Self.aims(new.map { modifier in (modifier.scope, modifier.changes) })
        return try await taking(aims, now) { bases throws(StoreError) in
            let verdict = try await kept.revisions.steps(new.count) {
                (revisions) async throws(StoreError) in
                let batch = StateWriter.AcceptBatch(
                    modifiers: new,
                    revisions: revisions,
                    bases: bases,
                    now: now
                )
                return try await file.queue.submit { writer throws(StoreError) in
                    try writer.accept(batch)
                }
            }
            switch verdict {
            case .refused(let error): throw error
            case .done(let acceptances):
                let known = zip(new, acceptances).filter { pair in
                    if case .existing = pair.1 { true } else { false }
                }
                let unused = Self.aims(known.map { ($0.0.scope, $0.0.changes) })
                return (acceptances, unused)
            }
        }
    }

    private static func aims(_ changes: [(ScopeKey, [NewChange])]) -> [Aim] {
        var aims: [TargetName: Aim] = [:]
        for (scope, changes) in changes {
            for change in changes {
                let name = TargetName(scope, change.id)
                aims[name, default: Aim(name: name, isShared: change.isOfSharedRow)].changes += 1
            }
        }
        return Array(aims.values)
    }

    /// Has targets in the index and their bases at hand while `commit` writes both down; it says
    /// which of them it did not need.
    private func taking<Value>(
        _ aims: [Aim],
        _ now: Timestamp,
        _ commit: ([TargetName: NewEntry]) async throws(StoreError) -> (Value, unused: [Aim])
    ) async throws(StoreError) -> Value {
        let shared = kept.shared.key(for: .shared)
        let keys = aims.flatMap { aim in
            let own = KeptKey(aim.name.scope, aim.name.id)
            return aim.isShared ? [own, KeptKey(shared, aim.name.id)] : [own]
        }
        return try await kept.turns.inTurns(keys) { () async throws(StoreError) in
            let wanted = aims.filter { mayBeInCache($0.name) }
            for aim in aims {
                index.insert(aim.name.scope, aim.name.id)
                index.addTargets(aim.name.scope, aim.name.id, aim.changes)
                if aim.isShared { index.follow(aim.name.scope, aim.name.id) }
            }
            var found = Found()
            do throws(StoreError) {
                found = try await bases(of: wanted, now)
                let (value, unused) = try await commit(found.bases)
                await release(unused)
                dropShadows(found.shadows)
                if !unused.isEmpty { abandonUnused(found, unused) }
                return value
            } catch {
                for base in found.bases.values { kept.carrier.abandon(base.body) }
                await release(aims)
                throw error
            }
        }
    }

    /// Has what the cache has of targets taken away, behind the answer.
    ///
    /// They are covered, and it is gone before anything is given back. What was not needed after
    /// all is the cache's as before.
    private func dropShadows(_ names: [TargetName]) {
        let targeted = names.filter { (index.place($0.scope, $0.id)?.targets ?? 0) > 0 }
        guard !targeted.isEmpty else { return }
        kept.postDropOfShadows(targeted.map { ($0.scope, $0.id) })
    }

    /// What an idempotent repetition has copied for nothing; what a row names is not given up.
    private func abandonUnused(_ found: Found, _ unused: [Aim]) {
        for aim in unused {
            if let body = found.bases[aim.name]?.body { kept.carrier.abandon(body) }
        }
    }

    /// Whether the cache may have the entry of an id: not where it is kept for more than a pin.
    private func mayBeInCache(_ name: TargetName) -> Bool {
        guard let place = index.place(name.scope, name.id) else { return true }
        return place.isPinned && place.targets == 0
    }

    /// Takes out of the index what was put in for nothing.
    private func release(_ aims: [Aim]) async {
        for aim in aims {
            let (scope, id) = (aim.name.scope, aim.name.id)
            index.addTargets(scope, id, -aim.changes)
            // Where even that cannot be told it stays covered, which is harmless.
            try? await kept.uncoverIfGone(scope, id)
        }
    }

    /// What the cache has of targets, ready to be put into `state.db`.
    private struct Found {
        var bases: [TargetName: NewEntry] = [:]
        /// Rows of the cache that have to go once they are kept.
        var shadows: [TargetName] = []
    }

    private func bases(of aims: [Aim], _ now: Timestamp) async throws(StoreError) -> Found {
        guard !aims.isEmpty else { return Found() }
        let shared = kept.shared.key(for: .shared)
        var found = Found()
        let rows = try await cachedRows(of: aims, now)
        defer { for row in rows { row?.giveBack(to: kept.shared, kept.cache) } }
        do throws(StoreError) {
            for (aim, row) in zip(aims, rows) {
                if aim.isShared {
                    found.shadows.append(aim.name)
                    if let base = try await keptOriginal(of: aim.name, shared, now) {
                        found.bases[aim.name] = base
                        continue
                    }
                }
                guard let row else { continue }
                if !aim.isShared { found.shadows.append(aim.name) }
                do throws(StoreError) {
                    found.bases[aim.name] = try await kept.taken(
                        row,
                        aim.name.scope,
                        as: .base,
                        now
                    )
                } catch .badChunk {
                    // Its bytes are damaged: nothing is known.
                    continue
                }
            }
        } catch {
            for base in found.bases.values { kept.carrier.abandon(base.body) }
            throw error
        }
        return found
    }

    /// The cache's rows of targets, leased until they are given back.
    private func cachedRows(
        of aims: [Aim],
        _ now: Timestamp
    ) async throws(StoreError) -> [CacheWriter.Takeable?] {
        let shared = kept.shared.key(for: .shared)
        if let rows = rowsAtHand(aims, shared, now) { return rows }
        let rows = try await kept.inCache { writer throws(StoreError) in
            var rows: [CacheWriter.Takeable?] = []
            for aim in aims {
                let scope = aim.isShared ? shared : aim.name.scope
                rows.append(try writer.base(scope, aim.name.id, now: now))
            }
            return rows
        }
        return rows ?? aims.map { _ in nil }
    }

    /// The same where nobody has to be asked; nil where somebody has.
    private func rowsAtHand(
        _ aims: [Aim],
        _ shared: ScopeKey,
        _ now: Timestamp
    ) -> [CacheWriter.Takeable?]? {
        var rows: [CacheWriter.Takeable?] = []
        for aim in aims {
            let scope = aim.isShared ? shared : aim.name.scope
            guard case .found(let row) = baseReader.base(scope, aim.name.id, now: now) else {
                return nil
            }
            rows.append(row)
        }
        return rows
    }

    /// The shared row where that is kept itself, as a pin; nil when it is not.
    private func keptOriginal(
        of name: TargetName,
        _ shared: ScopeKey,
        _ now: Timestamp
    ) async throws(StoreError) -> NewEntry? {
        guard index.covers(shared, name.id) else { return nil }
        let row = try await kept.state.submit { writer throws(StoreError) in
            try writer.entry(shared, name.id)
        }
        guard let row, let entry = row.entry else { return nil }
        if let status = row.goneStatus {
            return NewEntry(scope: name.scope, entry: entry.tombstone(status), body: .inline([]))
        }
        let body: CacheWriter.Takeable.Body =
            row.chunked.map { .chunked($0) } ?? .inline(row.inline)
        return try await kept.taken(
            CacheWriter.Takeable(entry: entry, body: body),
            name.scope,
            as: .base,
            now
        )
    }

    // MARK: Dead letters

    /// Puts a dead letter at the end of the queue; nil when there is none of this number.
    func retry(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        sharing: (EntryID) -> Bool,
        now: Timestamp
    ) async throws(StoreError) -> ModifierNumber? {
        try file.refuseWhileFull("accept a modifier")
        let targets = try await file.queue.submit { writer throws(StoreError) in
            try writer.targets(of: number)
        }
        let changes: [NewChange] = targets.compactMap { target in
            guard target.scope == scope.text, let id = try? EntryID(stored: target.id) else {
                return nil
            }
            return NewChange(id: id, effect: [], isOfSharedRow: sharing(id))
        }
        guard changes.count == targets.count else { return nil }
        let names = changes.map { (name: TargetName(scope, $0.id), isShared: $0.isOfSharedRow) }
        let aims = Self.aims([(scope, changes)])
        return try await taking(aims, now) { bases throws(StoreError) in
            let verdict = try await kept.revisions.step { (step) async throws(StoreError) in
                try await file.queue.submit { writer throws(StoreError) in
                    guard let row = try writer.find(number), row.scope == scope.text else {
                        return StateWriter.Verdict<ModifierNumber?>.done(nil)
                    }
                    return try writer.revive(number, names, bases, step)
                }
            }
            switch verdict {
            case .refused(let error): throw error
            case .done(let revived): return (revived, unused: revived == nil ? aims : [])
            }
        }
    }
}
