package import LarderAPI
import LarderModel
package import LarderStore
import LarderWire

/// Takes away all that is kept of a user: writes, pins, entries, history and logged changes.
package struct Purge: EnginePart {
    let context: EngineContext

    /// Removes the data of a user: after it, no row of either file has any.
    ///
    /// SQLite overwrites the freed pages later.
    ///
    /// Throws `in-use` while a write is in flight to its origin, or a request of the user goes on.
    /// Rows that are removed by then stay removed.
    package func run(
        _ scopes: RowScopes,
        cancellation: ClientCancellation = ClientCancellation()
    ) async throws(Problem) -> PurgeReport {
        var report = PurgeReport()
        var removed: [ScopeKey: Set<ModifierID>] = [:]
        // A discarded write that may have been sent becomes a dead letter, so dead letters go
        // after.
        for selection in [ModifierListCommand.Selection.unsettled, .one(.failed)] {
            try await remove(selection, scopes, cancellation, &removed)
        }
        report.modifiers = removed.values.reduce(0) { $0 + $1.count }
        for (scope, lane) in try await storing(await store.modifiers.pausedLanes())
        where scopes.covers(scope) {
            let key = store.key(for: scope)
            try await Modifiers(context: context).setLane(lane, key, isPaused: false)
        }
        var command = EvictOrder(.all)
        command.includesPinned = true
        var isInUse = false
        // MaintenanceStep moves the target of a removed modifier to the cache, where it is evicted.
        for _ in 0..<Limits.purgeRoundsMax {
            let evicted = try await Eviction(context: context).evict(command, scopes)
            report.entries += evicted.evicted
            report.accountedBytes += evicted.accountedBytes
            isInUse = evicted.skipped > 0
            try await storing(await store.maintain())
            guard evicted.evicted > 0 else { break }
        }
        try await storing(await store.forget(scopes))
        context.credentials.remove { scopes.covers($0.scope) }
        guard !isInUse, !context.flights.isUsed(by: scopes) else {
            throw Problem(
                .inUse,
                "requests of the user go on, and what they bring is kept",
                hint: "End the user's programs, and purge again."
            )
        }
        return report
    }

    private func remove(
        _ selection: ModifierListCommand.Selection,
        _ scopes: RowScopes,
        _ cancellation: ClientCancellation,
        _ removed: inout [ScopeKey: Set<ModifierID>]
    ) async throws(Problem) {
        let modifiers = Modifiers(context: context)
        var command = ModifierListCommand()
        command.selection = selection
        var unchangedPages = 0
        while true {
            let page = try await modifiers.list(command, scopes)
            guard !page.items.isEmpty else { return }
            var left: String?
            unchangedPages += 1
            for item in page.items {
                guard let id = try? ModifierID(item.id),
                    let account = try? AccountName(item.account)
                else {
                    left = item.id
                    continue
                }
                let scope = store.key(for: .own(uid: item.user, account: account))
                do throws(Problem) {
                    try await modifiers.remove(id, scope, discarding: true, cancellation: cancellation)
                    removed[scope, default: []].insert(id)
                    unchangedPages = 0
                } catch {
                    switch error.kind {
                    // The origin is being asked, or the write ended after the page was read.
                    case .alreadySent, .alreadySettled, .noSuchModifier: left = item.id
                    case _: throw error
                    }
                }
            }
            guard let left, unchangedPages == Limits.purgeRoundsMax else { continue }
            throw Problem(
                .inUse,
                "'\(left)' is on its way to its origin, and is not purged",
                hint: "Purge again once its attempt has ended."
            )
        }
    }
}
