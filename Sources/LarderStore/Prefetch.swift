package import LarderModel

/// A set of entries that are fetched in advance and pinned together.
package struct PrefetchSet: Equatable, Sendable {
    package let number: Int64
    package let scope: Scope
    package let name: PrefetchName
    package let madeAt: Timestamp
    package let expiresAt: Timestamp?
    package let refresh: Duration?
    /// When its queries of entities were last evaluated.
    package let queriedAt: Timestamp
    package let estimatedBytes: Int64
    package let unknownSizes: Int

    init?(_ row: SQLiteStatement) {
        guard let scope = row.scope("scope"), scope.uid != nil,
            let name = row.text("name").flatMap({ try? PrefetchName($0) })
        else { return nil }
        var numbers = RowNumbers(row)
        (self.scope, self.name) = (scope, name)
        number = row.integer("prefetch")
        madeAt = numbers.moment("made_at")
        expiresAt = numbers.momentOrNil("expires_at")
        queriedAt = numbers.moment("queried_at")
        estimatedBytes = row.integer("estimated_bytes")
        unknownSizes = numbers.count("unknown_sizes")
        refresh = row.refreshTime("refresh")
    }
}

package struct NewPrefetchSet: Sendable {
    package let name: PrefetchName
    package let definition: [UInt8]
    package let expiresAt: Timestamp?
    package let refresh: Duration?
    package let estimatedBytes: Int64
    package let unknownSizes: Int

    package init(
        _ name: PrefetchName,
        definition: [UInt8],
        expiresAt: Timestamp?,
        refresh: Duration?,
        estimatedBytes: Int64,
        unknownSizes: Int
    ) {
        (self.name, self.definition, self.expiresAt) = (name, definition, expiresAt)
        (self.refresh, self.estimatedBytes, self.unknownSizes) =
            (refresh, estimatedBytes, unknownSizes)
    }
}

package struct NewPrefetchItem: Sendable {
    package let id: EntryID
    /// The place of an entity in the order of uses; nil if no query has selected it.
    package let used: Int64?

    package init(_ id: EntryID, used: Int64? = nil) {
        (self.id, self.used) = (id, used)
    }
}

/// Numbers of the entries of a set's list.
package struct PrefetchCounts: Equatable, Sendable {
    package var items = 0
    /// Number of entries whose bytes are kept.
    package var held = 0
    /// Numbers of entries that are still to be fetched, by their origins; nil: of no known origin.
    package var waiting: [OriginName?: Int] = [:]
    /// The bodies of those that are held.
    package var bytes: Int64 = 0

    package var waitingCount: Int { waiting.values.reduce(0, +) }
}

/// An item of a set whose bytes are not kept.
package struct MissingItem: Equatable, Sendable {
    package let id: EntryID
    package let origin: OriginName?
    /// Nil while it waits for its origin.
    package let trouble: PinTrouble?
    /// Whether it has a pin: one that could not be pinned is tried again.
    package let isPinned: Bool
}

/// The tables `prefetch` and `prefetch_item` of `state.db`, written.
struct PrefetchRows {
    let state: StateWriter
    private var connection: SQLiteConnection { state.connection }
    private var reader: PrefetchReader {
        PrefetchReader(state: state.reader, count: state.memory.pins.sets)
    }

    func set(_ scope: ScopeKey, _ name: PrefetchName) throws(StoreError) -> PrefetchSet? {
        try reader.sets(.one(scope)).first { $0.name == name }
    }

    /// Makes a set or gives it a new list.
    ///
    /// An entry that is only in the old list stays until the new list is fetched, if it is held.
    func put(
        _ new: NewPrefetchSet,
        _ items: [NewPrefetchItem],
        _ scope: ScopeKey,
        now: Timestamp
    ) throws(StoreError) {
        let found = try set(scope, new.name)
        let uid = scope.scope.uid ?? 0
        let others = try reader.itemCount(of: uid, besides: found?.number)
        let sum = others + Int64(items.count)
        guard sum <= Limits.prefetchItemsPerUserMax else { throw .tooManySets }
        let bytes = try reader.listBytes(of: uid, besides: found?.number)
        guard bytes + Int64(new.definition.count) <= Limits.prefetchListBytesPerUserMax else {
            throw .tooManySets
        }
        if found == nil {
            let count = try reader.sets(.user(uid)).count
            guard count < Limits.prefetchSetsPerUserMax else { throw .tooManySets }
            state.memory.pins.sets += 1
        }
        try connection.statement(
            """
            INSERT INTO prefetch (scope, name, definition, made_at, expires_at, refresh, queried_at,
                estimated_bytes, unknown_sizes)
            VALUES (:scope, :name, :definition, :now, :expires_at, :refresh, :now, :bytes, :unknown)
            ON CONFLICT (scope, name) DO UPDATE SET definition = :definition, made_at = :now,
                expires_at = :expires_at, refresh = :refresh, queried_at = :now,
                estimated_bytes = :bytes, unknown_sizes = :unknown
            """
        ).run(
            (":scope", scope.text),
            (":name", new.name.text),
            (":definition", new.definition),
            (":now", now.milliseconds),
            (":expires_at", new.expiresAt?.milliseconds),
            (":refresh", new.refresh.map { Int64($0 / .milliseconds(1)) }),
            (":bytes", new.estimatedBytes),
            (":unknown", new.unknownSizes)
        )
        guard let set = try set(scope, new.name) else { return }
        try replaceItems(of: set, by: items, scope)
    }

    /// Gives a set the entities that its queries select now.
    func queried(
        _ set: PrefetchSet,
        _ items: [NewPrefetchItem],
        _ scope: ScopeKey,
        now: Timestamp
    ) throws(StoreError) {
        // Another command may have replaced or removed it meanwhile.
        guard try self.set(scope, set.name) == set else { return }
        try connection.statement("UPDATE prefetch SET queried_at = :now WHERE prefetch = :set")
            .run((":now", now.milliseconds), (":set", set.number))
        // The user may have more entries in other sets by now. A list does not become shorter for
        // their old lists: it stays as it is until those have ended.
        let others = try reader.itemCount(of: scope.scope.uid ?? 0, besides: set.number)
        let most = max(0, Limits.prefetchItemsPerUserMax - Int(others))
        guard try min(items.count, reader.counts(set.number).items) <= most else { return }
        try replaceItems(of: set, by: Array(items.prefix(most)), scope)
    }

    private func replaceItems(
        of set: PrefetchSet,
        by items: [NewPrefetchItem],
        _ scope: ScopeKey
    ) throws(StoreError) {
        try connection.statement("UPDATE prefetch_item SET leaving = 1 WHERE prefetch = :set")
            .run((":set", set.number))
        let put = try connection.prepare(
            """
            INSERT INTO prefetch_item (prefetch, scope, id, used) VALUES (:set, :scope, :id, :used)
            ON CONFLICT (scope, id, prefetch) DO UPDATE
                SET leaving = 0, problem = NULL, reason = NULL, used = :used
            """
        )
        for item in items {
            try put.run(
                (":set", set.number),
                (":scope", scope.text),
                (":id", item.id.text),
                (":used", item.used)
            )
        }
        try connection.statement(
            """
            DELETE FROM prefetch_item WHERE prefetch = :set AND leaving = 1
                AND NOT EXISTS (SELECT 1 FROM claim AS pin WHERE pin.scope = prefetch_item.scope
                    AND pin.id = prefetch_item.id AND pinned_at IS NOT NULL
                    AND \(PrefetchReader.isHeld))
            """
        ).run((":set", set.number))
        for item in try reader.missing(set.number) where item.trouble != nil {
            try state.pins.wantAgain(TargetName(scope, item.id))
        }
    }

    /// Removes a set; its entries become ordinary ones.
    func remove(_ set: PrefetchSet) throws(StoreError) {
        try connection.statement("DELETE FROM prefetch WHERE prefetch = :set")
            .run((":set", set.number))
        state.memory.pins.sets -= 1
    }

    /// The old list of a set ends once the new one is fetched; returns what leaves the set.
    func endOldList(of set: Int64) throws(StoreError) -> [EntryID] {
        let ids = try reader.leaving(set)
        guard !ids.isEmpty, try reader.counts(set).waitingCount == 0 else { return [] }
        try connection.statement("DELETE FROM prefetch_item WHERE prefetch = :set AND leaving = 1")
            .run((":set", set))
        return ids
    }

    /// Has some or all entries pinned again that could not be.
    func retry(_ set: Int64, all: Bool) throws(StoreError) {
        try connection.statement(
            """
            UPDATE prefetch_item SET problem = NULL, reason = NULL
            WHERE item IN (SELECT item FROM prefetch_item
                WHERE prefetch = :set AND leaving = 0 AND problem IS NOT NULL
                ORDER BY random() LIMIT :limit)
            """
        ).run(
            (":set", set),
            (":limit", all ? Limits.prefetchItemsMax : Limits.prefetchStepRowsMax)
        )
    }

    func setTrouble(_ set: Int64, _ name: TargetName, _ trouble: PinTrouble) throws(StoreError) {
        try connection.statement(
            """
            UPDATE prefetch_item SET problem = :problem, reason = :reason
            WHERE scope = :scope AND id = :id AND prefetch = :set
            """,
            of: name
        ).run((":problem", trouble.problem), (":reason", trouble.reason), (":set", set))
    }

    // MARK: Pins

    func keeps(_ name: TargetName) throws(StoreError) -> Bool {
        try !reader.keepers(of: name.id, in: name.scope.scope).isEmpty
    }

    func setPrefetched(_ row: DurableRow, _ isPrefetched: Bool) throws(StoreError) {
        try state.statements[.setPrefetched].run(
            (":key", row.number),
            (":prefetched", isPrefetched)
        )
    }

    /// A client or a set has pinned a row; `found` is the row before.
    func notePinned(
        _ name: TargetName,
        since found: DurableRow?,
        for reason: PinReason
    ) throws(StoreError) {
        let isOther =
            switch reason {
            case .client: found?.isPrefetched == true
            case .set: found?.isPinned != true
            case .itself: false
            }
        guard isOther, let row = try state.rows.find(name) else { return }
        try setPrefetched(row, reason == .set)
    }

    /// Pins that no client has asked for and that no set keeps any more.
    func released() throws(StoreError) -> [TargetName] {
        try connection.statement(
            """
            SELECT scope, id FROM claim INDEXED BY claim_prefetched
            WHERE prefetched = 1 AND NOT EXISTS (SELECT 1 FROM prefetch_item AS item
                JOIN prefetch USING (prefetch)
                WHERE item.scope = claim.scope AND item.id = claim.id)
            ORDER BY claim LIMIT \(Limits.prefetchStepRowsMax)
            """
        ).all { row in
            guard let scope = row.scope("scope"), let id = row.entryID("id") else { return nil }
            return TargetName(state.shared.key(for: scope), id)
        }
    }
}

/// Sets of entries that are fetched in advance.
package struct PrefetchStore: Sendable {
    let store: Store
    private var file: StateFile { store.stateFile }

    /// Makes a set or gives it a new list, synced when it returns.
    ///
    /// Throws `tooManySets` if the user has as many as may be.
    package func put(
        _ new: NewPrefetchSet,
        _ items: [NewPrefetchItem],
        _ scope: ScopeKey,
        now: Timestamp
    ) async throws(StoreError) {
        try file.refuseWhileFull("prefetch")
        try await store.commits.submit(cache: .optional) { writer throws(StoreError) in
            try writer.state.prefetches.put(new, items, scope, now: now)
        }
    }

    package func queried(
        _ set: PrefetchSet,
        _ items: [NewPrefetchItem],
        now: Timestamp
    ) async throws(StoreError) {
        let scope = store.key(for: set.scope)
        try await store.commits.submit(cache: .optional) { writer throws(StoreError) in
            try writer.state.prefetches.queried(set, items, scope, now: now)
        }
    }

    /// Removes sets; returns those that were there.
    package func remove(
        _ scopes: RowScopes,
        where isMeant: @escaping @Sendable (PrefetchSet) -> Bool = { _ in true }
    ) async throws(StoreError) -> [PrefetchSet] {
        try await file.settle(cache: .optional) { writer throws(StoreError) in
            let rows = try writer.state.prefetches
            let sets = try writer.state.reader.prefetches.sets(scopes).filter(isMeant)
            for set in sets { try rows.remove(set) }
            return sets
        }
    }

    /// Ends the old list of a set if the new one is fetched; returns what leaves the set.
    package func endOldList(of set: PrefetchSet) async throws(StoreError) -> [EntryID] {
        try await file.settle(cache: .optional) { writer throws(StoreError) in
            try writer.state.prefetches.endOldList(of: set.number)
        }
    }

    /// Has some or all entries of a set pinned again that could not be.
    package func retry(_ set: PrefetchSet, all: Bool) async throws(StoreError) {
        guard
            try await read({ reader throws(StoreError) in
                try reader.hasUnpinnable(set.number)
            })
        else { return }
        try await file.settle { writer throws(StoreError) in
            try writer.state.prefetches.retry(set.number, all: all)
        }
    }

    /// Unpins some rows that no set keeps any more; none: there are no more of them.
    package func release() async throws(StoreError) -> [TargetName] {
        try await file.settle(cache: .optional) { writer throws(StoreError) in
            try writer.pinning.releasePrefetched()
        }
    }

    package func setTrouble(
        _ set: PrefetchSet,
        _ id: EntryID,
        _ trouble: PinTrouble
    ) async throws(StoreError) {
        let name = TargetName(store.key(for: set.scope), id)
        try await file.settle { writer throws(StoreError) in
            try writer.state.prefetches.setTrouble(set.number, name, trouble)
        }
    }
}
