package import LarderAPI
import LarderJSON
package import LarderModel
package import LarderStore
import LarderWire

package struct Eviction: EnginePart {
    let context: EngineContext

    /// Evicts the rows of one scope or several that a command names, or says what it would evict.
    ///
    /// Protected rows are skipped and counted; pinned ones too, unless the command includes them.
    package func evict(
        _ command: EvictOrder,
        _ scopes: RowScopes,
        client: ClientTag? = nil
    ) async throws(Problem) -> EvictReport {
        let run = EvictionRun(context: context, scopes: scopes, command: command, client: client)
        return try await storingAll { () async throws(StoreError) in
            try await store.flushTouches()
            return try await run.run()
        }
    }
}

private struct EvictionRun {
    let context: EngineContext
    let scopes: RowScopes
    let command: EvictOrder
    let client: ClientTag?
    var report = EvictReport()

    consuming func run() async throws(StoreError) -> EvictReport {
        var filter = RowFilter(scopes)
        var goal: Int64?
        switch command.selection {
        case .ids(let ids):
            try await evict(ids)
            return report
        case .prefix(let prefix): filter.prefix = prefix
        case .origin(let origin): filter.origin = origin
        case .olderThan(let age):
            filter.storedBefore = context.clock.now().advanced(by: .zero - age)
        case .toBytes(let size): goal = size.bytes
        case .all: break
        }
        try await evict(filter, downTo: goal)
        return report
    }

    private mutating func evict(_ ids: [EntryID]) async throws(StoreError) {
        guard case .one(let scope) = scopes else {
            // No index has ids alone: one pass over the rows finds all of them.
            return try await evict(RowFilter(scopes), onlyIDs: Set(ids))
        }
        let names = ids.unique
        let candidates = try await context.store.read { reader throws(StoreError) in
            var candidates: [EntryID: EvictionCandidate] = [:]
            for id in names { candidates[id] = try reader.lists.candidate(scope, id) }
            return candidates
        }
        var waiting: [EvictionCandidate] = []
        for id in names {
            let kept = try await context.store.read { reader throws(StoreError) in
                try reader.lists.claimRow(scope, id)
            }
            if let kept {
                // Ids go in the order of their names, in whichever file their rows are.
                try await take(waiting)
                waiting = []
                try await take(kept)
            }
            // An id may be in both: pinned, and cached while the pin has no bytes.
            if let candidate = candidates[id] { waiting.append(candidate) }
        }
        try await take(waiting)
    }

    /// Evicts the rows of a filter, page by page in the order of the index on ids.
    ///
    /// With `ids`, it evicts only those of them. With `goal`, it evicts the least recently used
    /// rows, while the cache holds more bytes than that.
    private mutating func evict(
        _ filter: RowFilter,
        onlyIDs ids: Set<EntryID>? = nil,
        downTo goal: Int64? = nil
    ) async throws(StoreError) {
        if goal == nil { try await evictClaimed(filter, onlyIDs: ids) }
        let order = goal == nil ? RowOrder.id : .used
        let before = context.store.totals.bytes
        var cursor: RowCursor?
        while true {
            let after = cursor
            let page = try await context.store.read { reader throws(StoreError) in
                let limit = Limits.evictionBatchRowsMax
                return try reader.lists.candidates(filter, order: order, after: after, limit: limit)
            }
            guard let last = page.last else { return }
            cursor = last.cursor
            var wanted = page[...]
            if let goal {
                var left = before - report.accountedBytes - goal
                let skipped = try await context.store.skipped(page)
                let end = page.indices.first { index in
                    guard left > 0 else { return true }
                    left -= skipped.contains(index) ? 0 : page[index].size
                    return false
                }
                wanted = page.prefix(end ?? page.count)
            }
            try await take(wanted.filter { ids?.contains($0.id) ?? true })
            if wanted.count < page.count { return }
        }
    }

    /// The durable rows of the filter, before those of the cache: unpinning ends their protection.
    private mutating func evictClaimed(
        _ filter: RowFilter,
        onlyIDs ids: Set<EntryID>?
    ) async throws(StoreError) {
        var cursor: RowCursor?
        while true {
            let after = cursor
            let page = try await context.store.read { reader throws(StoreError) in
                try reader.lists.claimRows(filter, after: after, limit: Limits.evictionBatchRowsMax)
            }
            guard let last = page.last else { return }
            cursor = last.cursor
            for row in page where ids?.contains(row.name.id) ?? true { try await take(row) }
        }
    }

    /// A targeted row stays, and so does each row that a pinned or targeted one needs.
    ///
    /// A pin without bytes does not count as an entry.
    private mutating func take(_ row: DurableRow) async throws(StoreError) {
        let hasBytes = row.hasEntry && row.kind != .tombstone
        guard !row.isTargeted, !row.isNeeded, command.includesPinned || !row.isPinned else {
            report.skipped += hasBytes ? 1 : 0
            return
        }
        if !command.isDryRun {
            let (scope, id) = (row.name.scope, row.name.id)
            let isEvicted = try await context.store.pins.evict(
                scope,
                id,
                includesPinned: command.includesPinned,
                client: client
            )
            guard isEvicted else { return }
            context.refreshes.unpinned(id, scope, context)
        }
        guard hasBytes else { return }
        report.evicted += 1
        report.accountedBytes += row.size
        report.add(row.name.id)
    }

    private mutating func take(_ candidates: [EvictionCandidate]) async throws(StoreError) {
        var receipt = EvictionReceipt()
        if command.isDryRun {
            let skipped = try await context.store.skipped(candidates)
            receipt.evicted = candidates.indices
                .filter { !skipped.contains($0) }.map { candidates[$0] }
            receipt.skipped = skipped.count
        } else {
            receipt = try await context.store.evict(candidates, client: client)
        }
        report.evicted += receipt.evicted.count
        report.accountedBytes += receipt.bytes
        report.skipped += receipt.skipped
        for candidate in receipt.evicted { report.add(candidate.id) }
    }
}

extension EvictReport {
    fileprivate mutating func add(_ id: EntryID) {
        if ids.count < Limits.evictedIDsMax { ids.append(id.description) }
    }
}

/// An eviction with checked values.
package struct EvictOrder: Equatable, Sendable {
    /// Which entries are evicted: one way at a time.
    package enum Selection: Equatable, Sendable {
        /// 1 to ``Limits/evictIDsMax`` entries and entities.
        case ids([EntryID])
        case prefix(String)
        case origin(OriginName)
        /// Entries that were stored or confirmed longer ago.
        case olderThan(Duration)
        /// The least recently used, until the accounted size is at most this.
        case toBytes(ByteSize)
        case all
    }

    package var selection: Selection
    /// Tells what would be evicted, and evicts nothing.
    package var isDryRun = false
    /// Whether pinned entries are unpinned and evicted too.
    package var includesPinned = false

    package init(_ selection: Selection) {
        self.selection = selection
    }

    package init(_ command: EvictCommand) throws(Problem) {
        var found: [Selection] = []
        if let ids = command.ids {
            try ids.checkCount("ids", in: 1...Limits.evictIDsMax)
            found.append(
                .ids(try ids.map { text throws(Problem) in try EntryID(command: text, of: "ids") })
            )
        }
        if let prefix = command.prefix {
            found.append(.prefix(try EntryID.prefix(command: prefix)))
        }
        if let origin = try OriginName?(command: command.origin) { found.append(.origin(origin)) }
        if let age = command.olderThan { found.append(.olderThan(age)) }
        if let size = command.toBytes { found.append(.toBytes(try Self.size(size))) }
        if let all = command.all {
            guard all else { throw Problem(.badRequest, "all: false selects nothing") }
            found.append(.all)
        }
        guard let selection = found.first, found.count == 1 else {
            throw Problem(
                .badRequest,
                found.isEmpty ? "nothing is selected" : "more than one selection is given",
                hint: "Give exactly one of ids, prefix, origin, older_than, to_bytes and all."
            )
        }
        self.selection = selection
        isDryRun = command.dryRun ?? false
        includesPinned = command.includePinned ?? false
    }

    /// A text with a unit, or a number of bytes.
    private static func size(_ json: RawJSON) throws(Problem) -> ByteSize {
        let value = (try? JSONValue(parsing: json.bytes)) ?? .null
        if let bytes = value.integer {
            guard bytes >= 0 else {
                throw Problem(.badRequest, "to_bytes: \(bytes) is less than 0")
            }
            return ByteSize(bytes: bytes)
        }
        guard let text = value.string else {
            throw Problem(
                .badRequest,
                "'to_bytes' is \(value.kindText), a size or a whole number is needed"
            )
        }
        return try Problem.checking("to_bytes") { () throws(ModelError) in
            try ByteSize(unit: text)
        }
    }
}

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
        let sets = try await storing(await store.prefetches.remove(scopes))
        context.prefetches.removed(sets, .removed, context)
        var command = EvictOrder(.all)
        command.includesPinned = true
        var isInUse = false
        // Maintenance moves the target of a removed modifier to the cache, where it is evicted.
        for _ in 0..<Limits.purgeRoundsMax {
            let evicted = try await Eviction(context: context).evict(command, scopes)
            report.entries += evicted.evicted
            report.accountedBytes += evicted.accountedBytes
            isInUse = evicted.skipped > 0
            try await storing(await store.maintain())
            guard evicted.evicted > 0 else { break }
        }
        // A credential that is just being saved would come into the table after the removal.
        try await context.credentials.inTurn(of: scopes.uid) { () async throws(Problem) in
            try await storing(await store.forget(scopes))
            context.credentials.remove { scopes.covers($0.scope) }
        }
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
                    try await modifiers.remove(
                        id,
                        scope,
                        discarding: true,
                        cancellation: cancellation
                    )
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
