package import LarderModel
package import LarderStore
package import LarderWire

/// Evicting by hand.
package struct Eviction: EnginePart {
    let context: EngineContext

    /// Evicts the rows of one scope or several that a command names, or says what it would evict.
    ///
    /// Protected rows are skipped and counted; pinned ones too, unless the command includes them.
    package func evict(
        _ command: EvictCommand,
        _ scopes: RowScopes,
        client: ClientTag? = nil
    ) async throws(Problem) -> EvictReport {
        var command = command
        if case .keys(let keys, let origin) = command.selection {
            let origin = try Entities(context: context).origin(origin, for: nil)
            command.selection = .ids(keys.map { EntryID(EntityName($0, of: origin)) })
        }
        let run = EvictionRun(context: context, scopes: scopes, command: command, client: client)
        return try await storing { () async throws(StoreError) in
            try await store.flushTouches()
            return try await run.run()
        }
    }
}

/// One eviction over the API, in pages, so that it needs little memory and lets other writes by.
private struct EvictionRun {
    let context: EngineContext
    let scopes: RowScopes
    let command: EvictCommand
    let client: ClientTag?
    var report = EvictReport(evicted: 0, bytes: 0, skipped: 0, ids: [])

    private var isDryRun: Bool { command.isDryRun }

    consuming func run() async throws(StoreError) -> EvictReport {
        var filter = RowFilter(scopes)
        switch command.selection {
        case .ids(let ids):
            try await evict(ids)
        case .keys:
            preconditionFailure("keys are ids by now")
        case .prefix(let prefix):
            filter.prefix = prefix
            try await evict(filter)
        case .origin(let origin):
            filter.origin = origin
            try await evict(filter)
        case .olderThan(let age):
            filter.storedBefore = context.clock.now().advanced(by: .zero - age)
            try await evict(filter)
        case .toBytes(let size):
            try await evict(filter, downTo: size.bytes)
        case .all:
            try await evict(filter)
        }
        return report
    }

    private mutating func evict(_ ids: [EntryID]) async throws(StoreError) {
        guard case .one(let scope) = scopes else {
            // No index has ids alone: one pass over the rows finds all of them.
            return try await evict(RowFilter(scopes), onlyIDs: Set(ids))
        }
        var seen: Set<EntryID> = []
        let names = ids.filter { seen.insert($0).inserted }
        let candidates = try await context.store.read { reader throws(StoreError) in
            var candidates: [EvictionCandidate] = []
            for id in names {
                if let candidate = try reader.candidate(scope, id) { candidates.append(candidate) }
            }
            return candidates
        }
        // One of them may be both: pinned, and cached while the pin has no bytes.
        for id in names {
            let kept = try await context.store.read { reader throws(StoreError) in
                try reader.claimRow(scope, id)
            }
            if let kept { try await take(kept) }
        }
        try await take(candidates)
    }

    /// Every row of the filter, page after page in the order of ids, which an index has; of these
    /// only those of some ids, where they are given.
    private mutating func evict(
        _ filter: RowFilter,
        onlyIDs ids: Set<EntryID>? = nil
    ) async throws(StoreError) {
        try await evictClaimed(filter, onlyIDs: ids)
        var cursor: RowCursor?
        while true {
            let after = cursor
            let page = try await context.store.read { reader throws(StoreError) in
                let limit = Limits.evictionBatchRowsMax
                return try reader.candidates(filter, order: .id, after: after, limit: limit)
            }
            guard let last = page.last else { return }
            cursor = last.cursor
            try await take(page.filter { ids?.contains($0.id) ?? true })
        }
    }

    /// The claimed rows of the filter, before the cache's: what is unpinned is protected no more.
    private mutating func evictClaimed(
        _ filter: RowFilter,
        onlyIDs ids: Set<EntryID>?
    ) async throws(StoreError) {
        var cursor: RowCursor?
        while true {
            let after = cursor
            let page = try await context.store.read { reader throws(StoreError) in
                try reader.claimRows(filter, after: after, limit: Limits.evictionBatchRowsMax)
            }
            guard let last = page.last else { return }
            cursor = last.cursor
            for row in page where ids?.contains(row.id) ?? true { try await take(row) }
        }
    }

    /// What is targeted stays; a pin without bytes is no entry.
    private mutating func take(_ row: ClaimRow) async throws(StoreError) {
        let hasBytes = row.hasEntry && row.kind != .tombstone
        guard !row.isTargeted, command.includesPinned || !row.isPinned else {
            report.skipped += hasBytes ? 1 : 0
            return
        }
        if !isDryRun {
            let scope = context.store.key(for: row.scope)
            guard try await context.store.pins.evict(scope, row.id, client: client) else { return }
        }
        guard hasBytes else { return }
        report.evicted += 1
        report.bytes += row.size
        if report.ids.count < Limits.evictedIDsMax { report.ids.append(row.id) }
    }

    /// The least recently used, page after page, as long as the cache holds more than `goal` bytes.
    private mutating func evict(
        _ filter: RowFilter,
        downTo goal: Int64
    ) async throws(StoreError) {
        var cursor: RowCursor?
        let before = context.store.totals.bytes
        while true {
            let after = cursor
            let page = try await context.store.read { reader throws(StoreError) in
                try reader.candidates(filter, after: after, limit: Limits.evictionBatchRowsMax)
            }
            guard let last = page.last else { return }
            cursor = last.cursor
            var left = before - report.bytes - goal
            let wanted = page.prefix { candidate in
                defer { left -= isProtected(candidate) ? 0 : candidate.size }
                return left > 0
            }
            try await take(Array(wanted))
            if wanted.count < page.count { return }
        }
    }

    private mutating func take(_ candidates: [EvictionCandidate]) async throws(StoreError) {
        var receipt = EvictionReceipt()
        if isDryRun {
            receipt.evicted = candidates.filter { !isProtected($0) }
            receipt.skipped = candidates.count - receipt.evicted.count
        } else {
            receipt = try await context.store.evict(candidates, client: client)
        }
        report.evicted += receipt.evicted.count
        report.bytes += receipt.bytes
        report.skipped += receipt.skipped
        let room = Limits.evictedIDsMax - report.ids.count
        report.ids += receipt.evicted.prefix(room).map(\.id)
    }

    private func isProtected(_ candidate: EvictionCandidate) -> Bool {
        context.store.isProtected(candidate)
    }
}
