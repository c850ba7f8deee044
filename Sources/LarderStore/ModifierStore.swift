package import LarderModel

/// The modifier queue in `state.db`; each step is one synced transaction.
package struct ModifierStore: Sendable {
    let store: Store
    private var file: StateFile { store.stateFile }
    private var shared: SharedCacheState { store.shared }

    /// Accepts all of the modifiers, or none; returns the outcome of each, in their order.
    ///
    /// A known id with the same digest is the modifier that exists already; with another digest it
    /// throws `modifierExists`. Throws `queueFull` if the modifiers do not fit.
    package func accept(
        _ new: [NewModifier],
        now: Timestamp,
        seeing: SeenValues.Reader? = nil
    ) async throws(StoreError) -> [Acceptance] {
        try file.refuseWhileFull("accept a modifier")
        return try await store.submit(now: now, promotes: true, cache: .readsBase) {
            writer throws(StoreError) in
            try writer.accepting.accept(new, now: now, seeing)
        }
    }

    /// The send step, unless `deciding` keeps the modifier back; it is called once or more often.
    ///
    /// Of a modifier that has not been sent, `joining` says before that which others are joined to it.
    package func send(
        _ number: ModifierNumber,
        deciding: @escaping @Sendable (DepartingModifier) -> SendDecision = { _ in
            .send(etag: nil)
        },
        joining: @escaping JoinedModifiers.Decision = { _ in nil }
    ) async throws(StoreError) -> DepartingModifier? {
        try await file.settle(cache: .optional) { writer throws(StoreError) in
            try writer.departing.send(number, joining: joining, deciding: deciding)
        }
    }

    @discardableResult
    package func update(_ change: ModifierUpdate) async throws(StoreError) -> ModifierTransition? {
        try await file.settle { writer throws(StoreError) in
            try writer.joining.update(change)
        }
    }

    package func settle(_ settlements: [Settlement], now: Timestamp) async throws(StoreError) {
        try await file.settle(cache: .optional) { writer throws(StoreError) in
            try writer.settling.settle(settlements, now: now)
        }
    }

    /// Gives rows the revision of a new step without changing them, and tells their watchers.
    ///
    /// Watchers also hear of an id that has no row.
    package func renew(
        _ rows: [(TargetName, Change.Event)],
        seenBy viewer: Scope
    ) async throws(StoreError) {
        try await store.commits.submit(cache: .optional) { writer throws(StoreError) in
            try writer.entries.renew(rows, seenBy: viewer)
        }
    }

    /// Has those that are unsettled and can be read leave the queue, all of them in one.
    ///
    /// `deciding` says of each how, on the writer's thread, once or more often. Before that,
    /// `naming` tells the ids of what a confirmed one has created, if it `createsIDs`. `joined` are
    /// those that are joined to the first of `numbers`, and settle directly after it.
    package func settle(
        _ numbers: [ModifierNumber],
        joined: [ModifierNumber] = [],
        now: Timestamp,
        createsIDs: Bool = false,
        naming: @escaping @Sendable (WholeModifier, [StoredTemporary]) -> IDRenaming? = { _, _ in
            nil
        },
        deciding: @escaping @Sendable (WholeModifier) -> Settlement
    ) async throws(StoreError) -> [DepartedModifier] {
        try await file.settling { () async throws(StoreError) in
            try await store.submit(now: now, promotes: createsIDs, cache: .optional) {
                writer throws(StoreError) in
                try writer.settling.settle(
                    numbers,
                    joined: joined,
                    now: now,
                    naming: naming,
                    deciding: deciding
                )
            }
        }
    }

    /// A row was read after the step that wanted it.
    package func readEnded(_ name: TargetName, upTo revision: Revision) async throws(StoreError) {
        try await file.settle { writer throws(StoreError) in
            try writer.settling.endRead(name, revision)
        }
    }

    /// Makes dead letters of unreadable modifiers; watchers get `problem`, which is JSON.
    package func failUnreadable(
        _ numbers: [ModifierNumber],
        problem: [UInt8] = [],
        now: Timestamp
    ) async throws(StoreError) {
        let settlements = numbers.map { number in
            let outcome = Settlement.Outcome.failed(.unreadable) { _, _ in LostView() }
            var settlement = Settlement(number: number, outcome: outcome)
            settlement.problem = problem
            return settlement
        }
        try await settle(settlements, now: now)
    }

    package var hasTargets: Bool { !shared.residency.isEmpty }

    package func isTarget(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        (shared.residency.place(scope, id)?.targets ?? 0) > 0
    }

    /// Scopes whose unsettled changes show on a row.
    ///
    /// These are the row's own scope, or for a shared row the scopes of all its keepers.
    package func viewers(
        of id: EntryID,
        in scope: ScopeKey
    ) async throws(StoreError) -> [ScopeKey] {
        guard scope.scope == .shared else { return [scope] }
        return try await store.read { reader throws(StoreError) in
            let connection = try reader.stateReader().connection
            let keepers = try connection.statement(DurableStatement.keepers.sql, (":id", id.text))
            return try keepers.all { $0.scope(EntryColumn.scope).map(reader.key(for:)) }
        }
    }

    /// Settles what waited for an answer of rows: the origin gave one that is not stored.
    package func noteAnswer(
        for ids: [EntryID],
        in scope: ScopeKey,
        fence: AnswerFence?,
        now: Timestamp
    ) async throws(StoreError) {
        guard ids.contains(where: { isTarget(scope, $0) }) else { return }
        try await file.settle { writer throws(StoreError) in
            try writer.sharing.answered(ids, in: scope, fence: fence, now: now)
        }
    }

    package func drop(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        now: Timestamp
    ) async throws(StoreError) -> Bool {
        try await file.settle { writer throws(StoreError) in
            try writer.deadLetters.drop(number, of: scope, now: now)
        }
    }

    /// Puts a dead letter at the end of the queue, in its next round.
    ///
    /// Nil when the scope has no dead letter of this number. `sharing` says which targets have
    /// answers that all users share, and `variants` where the variants of a target are.
    package func retry(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        sharing: @escaping @Sendable (EntryID) -> Bool,
        variants: @escaping @Sendable (EntryID) -> VariantPlaces? = { _ in nil },
        seeing: SeenValues.Reader? = nil,
        now: Timestamp
    ) async throws(StoreError) -> RequeuedModifier? {
        try file.refuseWhileFull("accept a modifier")
        return try await store.submit(now: now, promotes: true, cache: .readsBase) {
            writer throws(StoreError) in
            try writer.deadLetters.retry(number, of: scope, sharing, variants, seeing, now: now)
        }
    }

    /// Gives a modifier that waits, or a dead letter, the changes and the request of `new`.
    ///
    /// Number, state, times and lane stay; `new` says what else it depends on. Nil when the scope
    /// has no such modifier. `variants` says where the variants of a target are. Throws `otherIDs`
    /// and `idNamed` for temporary ids, and `queueFull` if it does not fit.
    package func edit(
        _ number: ModifierNumber,
        to new: NewModifier,
        isDeadLetter: Bool,
        seeing look: SeenValues.Reader? = nil,
        variants: @escaping @Sendable (EntryID) -> VariantPlaces? = { _ in nil },
        now: Timestamp
    ) async throws(StoreError) -> EditedModifier? {
        try file.refuseWhileFull("edit a modifier")
        return try await store.submit(now: now, promotes: true, cache: .readsBase) {
            writer throws(StoreError) in
            try writer.editing.edit(
                number,
                to: new,
                isDeadLetter: isDeadLetter,
                seeing: look,
                variants,
                now: now
            )
        }
    }

    /// Corrects the moments of modifiers and pinned rows after a step of the wall clock.
    ///
    /// ``UncountedTime`` has the rule. Call it before the queue is read at start.
    package func correctMoments(now: Timestamp) async throws(StoreError) {
        // Read together with `now`, and not after the wait for the writer.
        let uptime = store.configuration.uptime()
        try await store.commits.submit(promotes: true, cache: .readsBase) {
            writer throws(StoreError) in
            let last = try writer.state.connection.integer("SELECT max(number) FROM modifier")
            let newest = ModifierNumber(last ?? 0)
            let uncounted = try writer.cache.clock.note(now: now, uptime: uptime, last: newest)
            try writer.state.clampMoments(now: now)
            try writer.cache.clock.clampMoments(now: now)
            switch uncounted {
            case .step(let step):
                guard step >= Limits.clockStepMin else { return }
                try writer.state.shiftMoments(by: step, now: now)
            case .restart(let since, let last):
                try writer.state.shiftDeadlines(since: since, upTo: last, now: now)
            }
        }
    }

    /// Does the same at the end of the daemon: the next start counts from there.
    package func noteClocks(now: Timestamp) async throws(StoreError) {
        guard store.configuration.uptime() != nil else { return }
        try await correctMoments(now: now)
    }

    package func setPaused(
        _ scope: ScopeKey,
        _ lane: Lane,
        _ isPaused: Bool
    ) async throws(StoreError) {
        try await file.settle { writer throws(StoreError) in
            try writer.state.modifiers.setPaused(scope, lane, isPaused)
        }
    }

    package var totals: QueueTotals {
        var totals = shared.residency.queueTotals
        totals.maxModifiers = store.configuration.queue.maxModifiers
        totals.maxBytes = store.configuration.queue.maxBytes
        return totals
    }

    package var hasDeadLetters: Bool { shared.residency.hasDeadLetters }

    /// Has `tell` called with those that an answer has settled, once that is on disk.
    package func whenLeft(_ tell: @escaping @Sendable ([ModifierNumber]) -> Void) {
        shared.residency.modifiersLeft.set(tell)
    }

    /// Has `tell` called with what got its real ids, once that is on disk and before a later
    /// modifier is accepted.
    package func whenRenamed(_ tell: @escaping @Sendable (RenamedModifiers) -> Void) {
        shared.residency.modifiersRenamed.set(tell)
    }
}
