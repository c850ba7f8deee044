package import LarderModel

package struct PinStore: Sendable {
    let store: Store
    private var file: StateFile { store.stateFile }
    private var residency: ResidencyIndex { store.shared.residency }

    /// Keeps what is cached under an id, or waits for it when there is an `origin` to fetch it
    /// from.
    ///
    /// The outcome is synced when the call returns. With `adoptsShared`, a shared row counts as
    /// cached if the scope itself has none.
    package func pin(
        _ scope: ScopeKey,
        _ id: EntryID,
        origin: OriginName?,
        adoptsShared: Bool = false,
        now: Timestamp
    ) async throws(StoreError) -> PinOutcome {
        try file.refuseWhileFull("pin")
        // Without the cache it can be fetched all the same.
        let cache: CommitQueue.CacheUse = origin == nil ? .required : .optional
        return try await store.submit(now: now, promotes: true, cache: cache) {
            writer throws(StoreError) in
            let name = TargetName(scope, id)
            let adopts = adoptsShared
            return try writer.pinning.pin(name, origin: origin, adoptsShared: adopts, now: now)
        }
    }

    /// Takes a pin's mark away; false when it was not pinned.
    package func unpin(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) async throws(StoreError) -> Bool {
        guard residency.covers(scope, id) else { return false }
        return try await file.settle(cache: .optional) { writer throws(StoreError) in
            try writer.pinning.unpin(TargetName(scope, id), now: now)
        }
    }

    /// Removes a released row, with `includesPinned` also a pin.
    ///
    /// False if there is no such row, or changes target it.
    package func evict(
        _ scope: ScopeKey,
        _ id: EntryID,
        includesPinned: Bool = true,
        client: ClientTag? = nil
    ) async throws(StoreError) -> Bool {
        guard residency.covers(scope, id) else { return false }
        try await store.commits.submit { writer throws(StoreError) in
            try writer.pinning.hide(TargetName(scope, id))
        }
        return try await file.settle(cache: .optional) { writer throws(StoreError) in
            let name = TargetName(scope, id)
            // Another command may have pinned it since the caller looked.
            if !includesPinned, try writer.durable(name)?.isPinned == true { return false }
            return try writer.pinning.drop(name, client: client)
        }
    }

    package func put(
        _ new: NewEntry,
        now: Timestamp,
        if condition: WriteCondition? = nil
    ) async throws(StoreError) -> PutReceipt {
        let limit = store.configuration.maxEntryBytes.bytes
        guard Int64(new.entry.body.byteCount) <= limit else {
            throw .tooLarge(bytes: Int64(new.entry.body.byteCount), limit: limit)
        }
        try file.refuseWhileFull("pin")
        return try await store.submit(
            if: condition,
            now: now,
            promotes: !residency.isEmpty,
            cache: .optional
        ) { writer throws(StoreError) in try writer.pinning.putPinned(new, now: now) }
    }

    package func setTrouble(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ state: PinState,
        _ trouble: PinTrouble
    ) async throws(StoreError) {
        try await file.settle { writer throws(StoreError) in
            try writer.state.pins.setTrouble(TargetName(scope, id), state, trouble)
        }
    }

    package func isPinned(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        residency.place(scope, id)?.isPinned == true
    }

    package func pin(_ scope: ScopeKey, _ id: EntryID) async throws(StoreError) -> Pin? {
        try await store.read { reader throws(StoreError) in
            try reader.stateReader().pin(scope, id)
        }
    }

    package func page(
        of scope: ScopeKey,
        after cursor: String?,
        limit: Int
    ) async throws(StoreError) -> [Pin] {
        try await store.read { reader throws(StoreError) in
            try reader.stateReader().pins(of: scope, after: cursor, limit: limit)
        }
    }

    package func wanted(after number: Int64) async throws(StoreError) -> [Pin] {
        try await store.read { reader throws(StoreError) in
            try reader.stateReader().pins(where: "wanted = 1", after: number)
        }
    }

    package func failed(_ state: PinState, after number: Int64) async throws(StoreError) -> [Pin] {
        try await store.read { reader throws(StoreError) in
            let condition = """
                pinned_at IS NOT NULL AND state = \(state.rawValue) AND kind IS NULL AND wanted = 0
                """
            return try reader.stateReader().pins(where: condition, after: number)
        }
    }

    package func wantAgain(_ pins: [(scope: ScopeKey, id: EntryID)]) async throws(StoreError) {
        try await file.settle { writer throws(StoreError) in
            for pin in pins { try writer.state.pins.wantAgain(TargetName(pin.scope, pin.id)) }
        }
    }

    package var totals: PinTotals {
        var totals = residency.pinTotals
        totals.maxBytes = store.configuration.pinsMaxBytes.bytes
        return totals
    }

    package func whenUpdated(_ tell: @escaping @Sendable () -> Void) { residency.whenUpdated(tell) }
}
