package import LarderModel

/// What is said of kept rows, and what is due for them; see ``KeptStore``.
extension CacheStore {
    /// Whether `state.db` has a row under an id, or is about to have one or to give it away.
    package func isKept(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        shared.kept.covers(scope, id)
    }

    /// Whether a scope's row is a copy of the shared one under its id: modifiers target it, or have
    /// done so, and each answer for the shared row goes into it too.
    package func isCopy(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        shared.kept.isCopy(scope, id)
    }

    /// The scopes that have a copy of a row, which is a shared one's.
    package func copies(of id: EntryID, in scope: ScopeKey) -> [ScopeKey] {
        shared.kept.followers(scope, id)
    }

    /// Takes away every row of `cache.db` that a kept one has replaced, if some may have stayed.
    func sweepShadows() async throws(StoreError) {
        guard shared.kept.hasShadows else { return }
        // Whoever fails to take one away from now on says so again.
        shared.kept.hasShadows = false
        do throws(StoreError) {
            var last: Int64 = 0
            while true {
                let after = last
                let page = try await read { reader throws(StoreError) in
                    let limit = Limits.evictionBatchRowsMax
                    return try reader.keptReader().rows(after: after, limit: limit)
                }
                guard let end = page.last else { return }
                last = end.number
                try await kept.sweepShadows(of: page)
            }
        } catch {
            shared.kept.hasShadows = true
            throw error
        }
    }

    /// Gives the cache what nothing keeps any more, a batch at a time.
    func giveBackReleased() async throws(StoreError) {
        guard !shared.kept.isEmpty else { return }
        var waiting = 0
        var last: Int64 = 0
        while true {
            let after = last
            let page = try await read { reader throws(StoreError) in
                try reader.keptReader().released(after: after, limit: Limits.releasedBatchRowsMax)
            }
            guard let end = page.last else { return }
            last = end.number
            for copy in page where copy.isShared {
                let mayWait = waiting < Limits.waitingCopiesMax
                if try await kept.release(copy, mayWait: mayWait, now: now()) { waiting += 1 }
            }
            let owned = page.filter { !$0.isShared }
            guard !owned.isEmpty else { continue }
            guard try await kept.giveBack(owned, now: now()) else { return }
        }
    }
}
