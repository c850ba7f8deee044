package import LarderModel

/// The modifier queue in `state.db`; see ``ModifierStore``.
///
/// Each step is one synced transaction, all of it or nothing, and is answered after the commit.
extension CacheStore {
    // MARK: Steps

    /// Accepts all of them, or none; what each came to, in their order.
    ///
    /// The same id with the same digest as before is the same modifier, with another one it throws
    /// `modifierExists`; throws `queueFull` for what does not fit.
    package func accept(
        _ new: [NewModifier],
        now: Timestamp
    ) async throws(StoreError) -> [Acceptance] {
        try await kept.accept(new, now: now)
    }

    /// Counts an attempt: from now on bytes may have left; false for what is settled.
    package func send(_ number: ModifierNumber) async throws(StoreError) -> Bool {
        try await stateFile.settle { writer throws(StoreError) in try writer.send(number) }
    }

    /// Writes down what a modifier's row says from now on; what it said before, nil for what is
    /// settled.
    @discardableResult
    package func update(
        _ change: ModifierUpdate
    ) async throws(StoreError) -> ModifierTransition? {
        try await stateFile.settling { () async throws(StoreError) in
            try await commits.submit { writer throws(StoreError) in
                try writer.state.update(change, try writer.revisions.next())
            }
        }
    }

    /// Has modifiers leave the queue, all of them in one.
    package func settle(
        _ settlements: [Settlement],
        now: Timestamp
    ) async throws(StoreError) -> SettleReceipt {
        try await kept.settle(settlements, now: now)
    }

    /// Makes dead letters of modifiers that nobody can read; their rows stay as they are.
    ///
    /// `problem` is what watchers are told, as JSON.
    package func buryUnreadable(
        _ numbers: [ModifierNumber],
        problem: [UInt8] = [],
        now: Timestamp
    ) async throws(StoreError) {
        let settlements = numbers.map { number in
            let outcome = Settlement.Outcome.dead(.unreadable) { _, _ in LostView() }
            var settlement = Settlement(number: number, outcome: outcome)
            settlement.problem = problem
            return settlement
        }
        _ = try await kept.settle(settlements, now: now)
    }

    // MARK: Dead letters

    /// Drops a dead letter; false when the scope has none of this number.
    package func dropDeadLetter(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        now: Timestamp
    ) async throws(StoreError) -> Bool {
        try await stateFile.settling { () async throws(StoreError) in
            try await commits.submit { writer throws(StoreError) in
                let step = try writer.revisions.next()
                return try writer.state.dropDeadLetter(number, of: scope, step, now: now)
            }
        }
    }

    /// Puts a dead letter at the end of the queue, in its next round; its new number, or nil when
    /// the scope has none of this one.
    ///
    /// `sharing` says of which targets the answers are everybody's.
    package func retryDeadLetter(
        _ number: ModifierNumber,
        of scope: ScopeKey,
        sharing: @escaping @Sendable (EntryID) -> Bool,
        now: Timestamp
    ) async throws(StoreError) -> ModifierNumber? {
        try await kept.retry(number, of: scope, sharing: sharing, now: now)
    }

    // MARK: Lanes

    /// Remembers for good that nothing is sent from a lane, or that it is again.
    package func setPaused(
        _ scope: ScopeKey,
        _ lane: Lane,
        _ isPaused: Bool
    ) async throws(StoreError) {
        try await stateFile.settle { writer throws(StoreError) in
            try writer.setPaused(scope, lane, isPaused)
        }
    }

    package func pausedLanes() async throws(StoreError) -> [(scope: Scope, lane: Lane)] {
        try await read { reader throws(StoreError) in try reader.keptReader().pausedLanes() }
    }

    // MARK: Reads

    /// A page of the unsettled modifiers after `number`, in the order of their numbers; those that
    /// cannot be read are among them.
    ///
    /// `isKnown` says of an effect's bytes whether there is such an effect; without it all are.
    package func unsettledModifiers(
        after number: ModifierNumber?,
        limit: Int = Limits.pageRowsMax,
        isKnown: (@Sendable ([UInt8]) -> Bool)? = nil
    ) async throws(StoreError) -> [FoundModifier] {
        try await read { reader throws(StoreError) in
            try reader.keptReader().unsettled(
                after: number?.value ?? 0,
                limit: limit,
                isKnown: isKnown
            )
        }
    }

    /// A page of the modifiers that a filter names, in the order of their numbers.
    package func modifiers(
        _ filter: ModifierFilter,
        after number: ModifierNumber?,
        limit: Int
    ) async throws(StoreError) -> [FoundModifier] {
        try await read { reader throws(StoreError) in
            try reader.keptReader().modifiers(filter, after: number?.value ?? 0, limit: limit)
        }
    }

    /// The answers by which modifiers died, with at most `bytesMax` bytes of each body.
    package func lastAnswers(
        of numbers: [ModifierNumber],
        bytesMax: Int
    ) async throws(StoreError) -> [ModifierNumber: (status: Int, body: [UInt8], at: Timestamp?)] {
        guard !numbers.isEmpty else { return [:] }
        return try await read { reader throws(StoreError) in
            var answers: [ModifierNumber: (status: Int, body: [UInt8], at: Timestamp?)] = [:]
            for number in numbers {
                answers[number] = try reader.keptReader().answer(of: number, bytesMax: bytesMax)
            }
            return answers
        }
    }

    /// One modifier with everything that belongs to it; nil when there is none that can be read.
    package func modifier(_ number: ModifierNumber) async throws(StoreError) -> WholeModifier? {
        try await read { reader throws(StoreError) in try reader.keptReader().modifier(number) }
    }

    /// The id and the state of one that is unsettled, or a dead letter; nil where there is none.
    ///
    /// It reads neither effects nor the body, which may have 16 MiB. What cannot be read
    /// is nil.
    package func modifierHead(
        _ number: ModifierNumber
    ) async throws(StoreError) -> (id: ModifierID?, state: ModifierState?)? {
        try await read { reader throws(StoreError) in try reader.keptReader().head(of: number) }
    }

    /// A modifier with its targets as they are now, but for those of which nothing is known.
    package func modifierAndTargets(
        _ number: ModifierNumber
    ) async throws(StoreError) -> (WholeModifier, [EntryID: Target])? {
        try await read { [shared] reader throws(StoreError) in
            guard let whole = try reader.keptReader().modifier(number) else { return nil }
            let scope = shared.key(for: whole.modifier.scope)
            var targets: [EntryID: Target] = [:]
            for id in whole.modifier.targets { targets[id] = try reader.target(scope, id) }
            return (whole, targets)
        }
    }

    /// The number under which a scope's modifier stands, also one that is settled.
    package func modifierNumber(
        _ id: ModifierID,
        of scope: ScopeKey
    ) async throws(StoreError) -> ModifierNumber? {
        try await read { reader throws(StoreError) in
            try reader.keptReader().number(of: id, scope)
        }
    }

    /// What was submitted under a scope's ids, as far as it is known, settled or not.
    package func submissions(
        of ids: [ModifierID],
        _ scope: ScopeKey
    ) async throws(StoreError) -> [ModifierID: Submission] {
        try await read { reader throws(StoreError) in
            var found: [ModifierID: Submission] = [:]
            for id in ids { found[id] = try reader.keptReader().submission(of: id, scope) }
            return found
        }
    }

    /// When the first of the unsettled modifiers was accepted.
    package func oldestAcceptedAt() async throws(StoreError) -> Timestamp? {
        try await read { reader throws(StoreError) in try reader.keptReader().oldestAcceptedAt() }
    }

    package var queueTotals: QueueTotals { shared.kept.queueTotals }

    /// Whether anything is kept at all; while nothing is, nothing is targeted.
    package var hasTargets: Bool { !shared.kept.isEmpty }

    /// Whether unsettled changes target an id.
    package func isTargeted(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        (shared.kept.place(scope, id)?.targets ?? 0) > 0
    }

    /// What is remembered of one that was settled; nil where it is forgotten.
    package func settledModifier(
        _ number: ModifierNumber,
        of scope: ScopeKey
    ) async throws(StoreError) -> SettledModifier? {
        try await read { reader throws(StoreError) in
            try reader.keptReader().settled(number, of: scope)
        }
    }

    /// A body that an entry names, in one piece; nil when it was replaced.
    package func wholeBody(
        _ body: ChunkedBody,
        of scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) async throws(StoreError) -> [UInt8]? {
        guard let reader = try await openBody(body, of: scope, id, now: now) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(body.byteCount, Limits.inlineJSONBytesMax))
        while let chunk = try await reader.next() { bytes += chunk }
        return bytes
    }

    /// A page of what was settled before `number`, the last first.
    package func settledModifiers(
        of scopes: RowScopes,
        before number: Int64?,
        limit: Int
    ) async throws(StoreError) -> [SettledModifier] {
        try await read { reader throws(StoreError) in
            try reader.keptReader().history(of: scopes, before: number ?? .max, limit: limit)
        }
    }
}

extension StoreReader {
    /// What unsettled changes target, with them, as of one commit; nil for an id that nothing
    /// targets, which costs a look into memory, and then its entry is what is shown.
    ///
    /// Changes of modifiers after `last`, and what goes beyond `changesMax`, are left out.
    package func target(
        _ scope: ScopeKey,
        _ id: EntryID,
        upTo last: ModifierNumber = ModifierNumber(.max),
        changesMax: Int = .max
    ) throws(StoreError) -> Target? {
        guard let place = shared.kept.place(scope, id), place.targets > 0 else { return nil }
        try allowance.admit(changes: place.targets)
        var damaged: Digest?
        let range = ChangeRange(last: last.value, max: Int64(changesMax))
        let target = try keptReader().target(scope, id, range, &damaged)
        if let damaged { reportDamage(scope, id, damaged) }
        // What is being accepted is not there yet, what was settled is not there any more.
        return target?.changes.isEmpty == false ? target : nil
    }

    /// The body of a modifier's request with its type; nil where it has none.
    package func requestBody(
        of number: ModifierNumber
    ) throws(StoreError) -> (bytes: [UInt8], mediaType: String?)? {
        try keptReader().requestBody(of: number)
    }

    /// How many dead letters have changed an id; while there are none, this costs a look into
    /// memory.
    package func deadLetters(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Int {
        guard shared.kept.queueTotals.dead > 0 else { return 0 }
        let kept = try keptReader()
        // One transaction for all that is read at one moment, not one for each.
        if hold != .none { try kept.hold() }
        return try kept.deadLetters(scope, id)
    }
}
