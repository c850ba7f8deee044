import LarderModel
package import LarderStore
package import LarderWire

/// Takes away all that is kept of a user: writes, pins, entries, history and logged changes.
package struct Purge: EnginePart {
    let context: EngineContext

    /// When this returns, no row of either file has the user's data.
    ///
    /// SQLite overwrites the freed pages later.
    ///
    /// Throws `already-sent` while a write is on its way to its origin; what was taken away by then
    /// is gone.
    package func run(
        _ scopes: RowScopes,
        interest: Interest = Interest()
    ) async throws(Problem) -> PurgeReport {
        var report = PurgeReport()
        let modifiers = Modifiers(context: context)
        report.modifiers += try await remove(.unsettled, scopes, interest)
        report.modifiers += try await remove(.one(.dead), scopes, interest)
        for (scope, lane) in try await pausedLanes(of: scopes) {
            try await modifiers.setLane(lane, scope, isPaused: false)
        }
        var command = EvictCommand(.all)
        command.includesPinned = true
        // Housekeeping moves the target of a removed modifier to the cache, where it is evicted.
        for _ in 0..<Limits.purgeRoundsMax {
            let evicted = try await Eviction(context: context).evict(command, scopes)
            report.entries += evicted.evicted
            report.bytes += evicted.bytes
            try await storing { () async throws(StoreError) in try await store.maintain() }
            guard evicted.evicted > 0 else { break }
        }
        try await storing { () async throws(StoreError) in try await store.forget(scopes) }
        return report
    }

    /// Gives up, or drops, all writes of a selection; how many.
    private func remove(
        _ selection: ModifierListCommand.Selection,
        _ scopes: RowScopes,
        _ interest: Interest
    ) async throws(Problem) -> Int {
        let modifiers = Modifiers(context: context)
        var command = ModifierListCommand()
        command.selection = selection
        var removed = 0
        while true {
            let page = try await modifiers.list(command, scopes)
            guard !page.items.isEmpty else { return removed }
            let before = removed
            var left: ModifierID?
            for item in page.items {
                let scope = store.key(for: .own(uid: item.uid, account: item.account))
                do throws(Problem) {
                    try await modifiers.remove(
                        item.id,
                        scope,
                        discarding: true,
                        interest: interest
                    )
                    removed += 1
                } catch {
                    switch error.kind {
                    // The origin is being asked, or the modifier ended with one that it depended on.
                    case .alreadySent, .alreadySettled, .noSuchModifier: left = item.id
                    case _: throw error
                    }
                }
            }
            guard let left, removed == before else { continue }
            throw Problem(
                .alreadySent,
                "'\(left)' is on its way to its origin, and is not purged",
                hint: "Purge again once its attempt has ended."
            )
        }
    }

    private func pausedLanes(
        of scopes: RowScopes
    ) async throws(Problem) -> [(scope: ScopeKey, lane: Lane)] {
        let lanes = try await storing { () async throws(StoreError) in
            try await store.modifiers.pausedLanes()
        }
        return lanes.filter { scopes.covers($0.scope) }
            .map { (scope: store.key(for: $0.scope), lane: $0.lane) }
    }
}
