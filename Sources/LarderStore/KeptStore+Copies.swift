import LarderModel
import LarderNormalize

/// How copies of shared rows are brought up to date, and how they go.
extension KeptStore {
    /// Stores an answer for a shared row in the copies of that; false when who follows it has changed
    /// meanwhile.
    func putIntoCopies(
        _ new: NewEntry,
        _ now: Timestamp,
        _ fence: AnswerFence?
    ) async throws(StoreError) -> Bool {
        let (scope, id) = (new.scope, new.entry.id)
        let followers = shared.kept.followers(scope, id)
        return try await turns.inTurns(([scope] + followers).map { KeptKey($0, id) }) {
            () async throws(StoreError) in
            guard shared.kept.followers(scope, id) == followers else { return false }
            for follower in followers { await put(new, intoCopyOf: follower, now, fence) }
            return true
        }
    }

    /// One that cannot take it stays as it is: it is one user's, and keeps it from nobody else.
    func put(
        _ new: NewEntry,
        intoCopyOf follower: ScopeKey,
        _ now: Timestamp,
        _ fence: AnswerFence?
    ) async {
        var copy = new
        copy.scope = follower
        do throws(StoreError) {
            guard let found = try await find(follower, new.entry.id) else { return }
            copy.body = try await carrier.duplicate(copy, to: .state, as: .base, now: now)
            guard let fenced = try await fenced(copy, by: fence, now) else { return }
            copy = fenced
            _ = try await put(copy, into: found, now)
        } catch {
            if copy.body.upload != new.body.upload { carrier.abandon(copy.body) }
            findings.tell("a copy of \(new.entry.id) was not brought up to date: \(error.message)")
        }
    }

    /// Takes a copy away that nothing targets or pins any more, so that its user sees the shared row
    /// again; true when it stays for now.
    ///
    /// What a confirmed write has made of it stays, if `mayWait`, until the origin has said so of the
    /// shared row too, or has not for a while. What its user sees anew is a change of theirs.
    func release(
        _ copy: KeptRow,
        mayWait: Bool,
        now: Timestamp
    ) async throws(StoreError) -> Bool {
        let (scope, id) = (shared.key(for: copy.scope), copy.id)
        let original = shared.key(for: .shared)
        let keys = [KeptKey(scope, id), KeptKey(original, id)]
        return try await turns.inTurns(keys) { () async throws(StoreError) in
            let found = try await state.submit { writer throws(StoreError) in
                try writer.entry(scope, id)
            }
            guard let found, found.isReleased, found.isShared else { return false }
            let behind = try await sharedEntry(original, id, now)
            if mayWait, found.isAhead(of: behind?.entry, now) { return true }
            let event = found.change(to: behind?.entry, id)
            let difference = id.isEntity ? found.held.difference(to: held(behind)) : .nothing
            try await revisions.step { (step) async throws(StoreError) in
                // Its user has seen the copy's revision, which is later than that of what is behind it.
                try await cache.submit { writer throws(StoreError) in
                    try writer.raise(original, id, to: step)
                }
                try await file.settle { writer throws(StoreError) in
                    guard try writer.removeReleased(scope, id) else { return }
                    guard !id.isEntity else {
                        let name = TargetName(scope, id)
                        return try writer.log(difference, of: name, step, ChangeCause(.network))
                    }
                    try writer.log(event.map { Change(step, scope.scope, $0) })
                }
            }
            shared.kept.remove(scope, id)
            return false
        }
    }

    private func sharedEntry(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ now: Timestamp
    ) async throws(StoreError) -> CacheWriter.Takeable? {
        let row = try await cache.submit { writer throws(StoreError) in
            try writer.base(scope, id, now: now)
        }
        row?.giveBack(to: shared, cache)
        return row
    }

    private func held(_ row: CacheWriter.Takeable?) -> HeldEntity {
        guard let row, case .inline(let bytes) = row.body else { return .unknown }
        return KeptBase(row.entry, bytes).held
    }
}

extension StateWriter.KeptEntry {
    /// What it says of an entity.
    fileprivate var held: HeldEntity { entry.map { KeptBase($0, inline).held } ?? .unknown }

    /// Whether it says what the shared row does not say yet.
    fileprivate func isAhead(of original: Entry?, _ now: Timestamp) -> Bool {
        guard let entry, entry.storedAt <= now,
            now.since(entry.storedAt) < Limits.waitingCopyTime
        else { return false }
        return original.map { $0.storedAt < entry.storedAt } ?? true
    }

    /// What its user sees change when the shared row shows in its place; nil for nothing.
    fileprivate func change(to original: Entry?, _ id: EntryID) -> Change.Event? {
        let isDeleted = goneStatus != nil || entry?.kind == .tombstone
        switch (entry, original) {
        case (nil, nil): return nil
        case (.some, nil): return .evict(id, .lru, client: nil)
        case (_, let original?) where original.kind == .tombstone:
            return isDeleted ? nil : .delete(id, ChangeCause(.network))
        case (let entry, let original?):
            let isSame = !isDeleted && entry?.body == original.body
            return isSame ? nil : .put(id, ChangeCause(.network))
        }
    }
}
