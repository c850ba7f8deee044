package import LarderModel

/// What is kept for good.
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

    /// Keeps what is cached under an id, or has it wait when there is an `origin` to fetch it from.
    ///
    /// What it says is synced when it returns. With `adoptsShared`, what is shared counts as cached
    /// where the scope itself has nothing.
    package func pin(
        _ scope: ScopeKey,
        _ id: EntryID,
        origin: OriginName?,
        adoptsShared: Bool = false,
        now: Timestamp
    ) async throws(StoreError) -> PinOutcome {
        try await kept.pin(scope, id, origin: origin, adoptsShared: adoptsShared, now: now)
    }

    /// Takes a pin's mark away; false when it was not pinned.
    package func unpin(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) async throws(StoreError) -> Bool {
        try await kept.unpin(scope, id, now: now)
    }

    /// Takes a pin away with its entry, or what is released; false when there
    /// was none, or unsettled changes target it.
    package func evictKept(
        _ scope: ScopeKey,
        _ id: EntryID,
        client: ClientTag? = nil
    ) async throws(StoreError) -> Bool {
        try await kept.drop(scope, id, client: client)
    }

    /// Stores an entry and pins it, both or neither; synced when it returns.
    package func putPinned(
        _ new: NewEntry,
        now: Timestamp,
        if condition: WriteCondition? = nil
    ) async throws(StoreError) -> PutReceipt {
        let limit = maxEntryBytes
        guard Int64(new.entry.body.byteCount) <= limit else {
            throw .tooLarge(bytes: Int64(new.entry.body.byteCount), limit: limit)
        }
        return try await kept.putPinned(new, now: now, if: condition)
    }

    /// Says of a pin that has no bytes why it has none.
    package func setTrouble(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ state: PinState,
        _ trouble: PinTrouble
    ) async throws(StoreError) {
        try await kept.setTrouble(scope, id, state, trouble)
    }

    /// Whether an id is pinned, whatever the pin's state.
    package func isPinned(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        shared.kept.place(scope, id)?.isPinned == true
    }

    /// What is known of an id's pin; nil when there is none.
    package func pin(_ scope: ScopeKey, _ id: EntryID) async throws(StoreError) -> Pin? {
        try await read { reader throws(StoreError) in try reader.keptReader().pin(scope, id) }
    }

    /// A page of a scope's pins in the order of their ids.
    package func pins(
        of scope: ScopeKey,
        after cursor: String?,
        limit: Int
    ) async throws(StoreError) -> [Pin] {
        try await read { reader throws(StoreError) in
            try reader.keptReader().pins(of: scope, after: cursor, limit: limit)
        }
    }

    /// A page of the pins that are to be fetched as soon as their origins answer, in the order of
    /// their numbers.
    package func wantedPins(after number: Int64) async throws(StoreError) -> [Pin] {
        try await read { reader throws(StoreError) in
            let limit = Limits.pageRowsMax
            return try reader.keptReader().wantedPins(after: number, limit: limit)
        }
    }

    package var pinTotals: PinTotals { shared.kept.pinTotals }

    /// Has `tell` called whenever a pin has got what it waited for, or wants it again as its bytes
    /// were damaged.
    package func whenPinsHaveNews(_ tell: @escaping @Sendable () -> Void) {
        shared.kept.whenNews(tell)
    }
}
