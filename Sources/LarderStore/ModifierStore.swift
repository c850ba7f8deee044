import LarderModel

/// The three durable steps of modifiers: accept, send, settle, each one command of the writer.
///
/// What a modifier targets is kept by a ``KeptStore``: its base is a kept row from accept on, and
/// nothing else is the entry. Invariants, beside those:
///
/// 1. An id is targeted in ``KeptIndex`` from before the commit of what targets it until after that
///    in which its last unsettled change is settled.
/// 2. What is accepted is one transaction of `state.db`: the modifiers, their changes, the base of
///    each target. What is settled is one: the new bases, the modifiers gone or dead.
/// 3. What `cache.db` has of it follows in the same command; where it cannot, it is swept later.
///
/// What a crash leaves. In an accept: chunks that no row names (swept; not accepted) → all of it,
/// and shadows (accepted; swept at start). In a settlement: nothing (not settled) → all of it, and a
/// shared row that is not asked for again before it is stale.
final class ModifierStore: Sendable {
    let kept: KeptStore
    var file: StateFile { kept.file }

    init(_ kept: KeptStore) {
        self.kept = kept
    }

    // MARK: Accept

    /// Accepts all of them, or none; in their order.
    func accept(_ new: [NewModifier], now: Timestamp) async throws(StoreError) -> [Acceptance] {
        let names = new.flatMap { modifier in
            modifier.changes.map { TargetName(modifier.scope, $0.id) }
        }
        return try await entering(names, now) { writer, copied, isCacheGone throws(StoreError) in
            try writer.accept(new, copied, isCacheGone: isCacheGone, now: now)
        }
    }

    /// Puts a dead letter at the end of the queue; nil when there is none of this number.
    func retry(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        sharing: @escaping @Sendable (EntryID) -> Bool,
        now: Timestamp
    ) async throws(StoreError) -> ModifierNumber? {
        let names = try await targets(of: [number])
        return try await entering(names, now) { writer, copied, isCacheGone throws(StoreError) in
            try writer.retry(
                number,
                of: scope,
                sharing: sharing,
                copied,
                isCacheGone: isCacheGone,
                now: now
            )
        }
    }

    /// Carries a command out in the turns of its targets, once the large bodies are copied that it
    /// needs.
    private func entering<Value: Sendable>(
        _ names: [TargetName],
        _ now: Timestamp,
        _ command:
            @escaping @Sendable (StoreWriter, StoreWriter.CopiedBases, _ isCacheGone: Bool)
            throws(StoreError) -> StoreWriter.Entrance<Value>
    ) async throws(StoreError) -> Value {
        try file.refuseWhileFull("accept a modifier")
        return try await kept.turns.inTurns(keys(of: names)) { () async throws(StoreError) in
            var copied: StoreWriter.CopiedBases = [:]
            do throws(StoreError) {
                for _ in 0..<Limits.keptRoundsMax {
                    let bases = copied
                    let entrance = try await kept.withCache { writer, isGone throws(StoreError) in
                        try command(writer, bases, isGone)
                    }
                    switch entrance {
                    case .done(let value): return value
                    case .refused(let error): throw error
                    case .needs(let large):
                        for base in large { abandon(copied.removeValue(forKey: base.name)) }
                        try await copy(large, into: &copied, now)
                    }
                }
                throw .overloaded
            } catch {
                for copy in copied.values { abandon(copy) }
                throw error
            }
        }
    }

    /// Copies leased bodies; one that is damaged goes, so that nothing is known of it.
    private func copy(
        _ large: [StoreWriter.LargeBase],
        into copied: inout StoreWriter.CopiedBases,
        _ now: Timestamp
    ) async throws(StoreError) {
        defer { for base in large { kept.giveBack(base.body) } }
        for base in large {
            do throws(StoreError) {
                let upload = try await kept.carrier.copy(
                    base.body,
                    to: .state,
                    as: .base,
                    for: base.entry,
                    in: base.name.scope,
                    now: now
                )
                copied[base.name] = (base.body, upload)
            } catch .badChunk {
                copied[base.name] = (base.body, nil)
            }
        }
    }

    private func abandon(_ copy: (source: ChunkedBody, upload: UploadID?)?) {
        if let upload = copy?.upload { kept.carrier.abandon(.uploaded(upload)) }
    }

    // MARK: Settle

    /// Settles all of them in one transaction; those that were settled before are left out of the
    /// receipt.
    func settle(
        _ settlements: [Settlement],
        now: Timestamp
    ) async throws(StoreError) -> SettleReceipt {
        let names = try await targets(of: settlements.map(\.number))
        return try await kept.turns.inTurns(keys(of: names)) { () async throws(StoreError) in
            do throws(StoreError) {
                return try await settle(settlements, isCacheLeftOut: false, now)
            } catch {
                guard kept.isOfCache(error) else { throw error }
                // Without the cache nobody reads what it has.
                kept.shared.kept.hasShadows = true
                return try await settle(settlements, isCacheLeftOut: true, now)
            }
        }
    }

    private func settle(
        _ settlements: [Settlement],
        isCacheLeftOut: Bool,
        _ now: Timestamp
    ) async throws(StoreError) -> SettleReceipt {
        try await file.settling { [commits = file.commits] () async throws(StoreError) in
            try await commits.submit { writer throws(StoreError) in
                try writer.settle(settlements, isCacheLeftOut: isCacheLeftOut, now: now)
            }
        }
    }

    private func targets(
        of numbers: [ModifierNumber]
    ) async throws(StoreError) -> [TargetName] {
        let rows = try await file.queue.submit { writer throws(StoreError) in
            var rows: [(scope: String, id: String)] = []
            for number in numbers { rows += try writer.targets(of: number) }
            return rows
        }
        return rows.compactMap { target in
            guard let scope = Scope(text: target.scope),
                let id = try? EntryID(stored: target.id)
            else { return nil }
            return TargetName(kept.shared.key(for: scope), id)
        }
    }

    /// The turns that whoever changes targets takes: theirs, and those of the shared rows behind
    /// them.
    private func keys(of names: [TargetName]) -> [KeptKey] {
        let shared = kept.shared.key(for: .shared)
        return names.flatMap { [KeptKey($0.scope, $0.id), KeptKey(shared, $0.id)] }
    }
}
