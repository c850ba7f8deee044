import LarderModel

extension CacheWriter {
    /// Evicts what has to go so that the total fits the budget, in the put's own transaction.
    func makeRoom(for size: Int64, keeping kept: Set<RowKey>, now: Timestamp) throws(StoreError) {
        guard state.totals.bytes > state.totals.budget else {
            state.totals.isFull = false
            return
        }
        try flushTouches()
        let budget = state.totals.budget
        let isFromFront = state.positions.isEmpty
        try evict(downTo: budget, rows: .max, keeping: kept, now: now)
        if state.totals.bytes > budget, !isFromFront {
            // Rows that were passed may go by now.
            state.positions = [:]
            try evict(downTo: budget, rows: .max, keeping: kept, now: now)
        }
        guard state.totals.bytes <= budget else {
            throw .noRoom(bytes: size)
        }
        state.isShrinking = state.totals.bytes > lowWatermarkBytes
        state.totals.isFull = false
    }

    /// One step of the way down to the low watermark: at most 256 rows.
    func shrinkStep(now: Timestamp) throws(StoreError) {
        try flushTouches()
        let before = state.totals.evictions
        try evict(
            downTo: lowWatermarkBytes,
            rows: Limits.evictionBatchRowsMax,
            keeping: [],
            now: now
        )
        let isDone = state.totals.bytes <= lowWatermarkBytes || state.totals.evictions == before
        if isDone { state.isShrinking = false }
    }

    /// Evicts rows in the order of ``nextOrder(except:share:)``, never a protected one.
    private func evict(
        downTo goal: Int64,
        rows: Int,
        keeping kept: Set<RowKey>,
        now: Timestamp
    ) throws(StoreError) {
        let share = configuration.queue.part(of: state.totals.budget, users: 2)
        var done: Set<EvictionOrder> = []
        var step: Revision?
        var (evicted, inStep) = (0, 0)
        while state.totals.bytes > goal, evicted < rows,
            let order = nextOrder(except: done, share: share)
        {
            guard let victim = try nextVictim(order, keeping: kept, now: now) else {
                done.insert(order)
                continue
            }
            if inStep == Limits.evictionBatchRowsMax { (step, inStep) = (nil, 0) }
            let reason = order == .expired ? EvictionReason.expired : .lru
            guard try evict(victim, reason, nil, &step) else { continue }
            evicted += 1
            inStep += 1
            state.totals.evictions += 1
            if order == .expired {
                state.totals.expired += 1
            } else if state.totals.isPressed {
                state.totals.diskEvictions += 1
            }
        }
    }

    /// The order in which the next row goes: expired blobs first, then rows of a user above the
    /// share while there are other users, then the least recently used of all.
    ///
    /// Where the disk is short, blobs, which cannot be fetched again, go last of each.
    private func nextOrder(except done: Set<EvictionOrder>, share: Int64) -> EvictionOrder? {
        func next(of owner: Int64?) -> EvictionOrder? {
            let fetched: [EvictionOrder] = state.totals.isPressed ? [.fetched(of: owner)] : []
            return (fetched + [.used(of: owner)]).first { !done.contains($0) }
        }
        if !done.contains(.expired) { return .expired }
        return next(of: state.owners.largest(above: share) { next(of: $0) != nil })
    }

    /// The next row to go in an order; nil where there is none left.
    private func nextVictim(
        _ order: EvictionOrder,
        keeping kept: Set<RowKey>,
        now: Timestamp
    ) throws(StoreError) -> RowKey? {
        var position = state.positions[order] ?? EvictionPosition()
        position.beginAgainIfDue(after: state.totals.evictions)
        let rows = candidates(order, after: position, now: now)
        defer {
            rows.reset()
            state.positions[order] = position
        }
        while try rows.step() {
            let key = RowKey(rows.integer(0))
            position.move(to: key, lastUsed: rows.integer(1), expiresAt: rows.integer(2))
            if !order.leavesOut(rows.integer(2)), !kept.contains(key), try !isProtected(key) {
                return key
            }
            position.pass()
        }
        return nil
    }

    private func candidates(
        _ order: EvictionOrder,
        after position: EvictionPosition,
        now: Timestamp
    ) -> SQLiteStatement {
        switch order {
        case .expired:
            let rows = statements[.expired]
            rows.bind(1, now.milliseconds)
            rows.bind(2, position.expiresAt)
            rows.bind(3, position.key.number)
            return rows
        case .fetched(let owner):
            let rows = statements[owner == nil ? .oldestWithKind : .oldestOfOwnerWithKind]
            rows.bind(1, position.lastUsed)
            if let owner { rows.bind(2, owner) }
            return rows
        case .used(let owner):
            let rows = statements[owner == nil ? .oldest : .oldestOfOwner]
            rows.bind(1, position.lastUsed)
            if let owner { rows.bind(2, owner) }
            return rows
        }
    }

    /// Whether a row is not to be evicted: somebody needs it now, or what shows it.
    private func isProtected(_ key: RowKey) throws(StoreError) -> Bool {
        if shared.claims.isGarbage(key) { return false }
        if shared.isProtected(key) { return true }
        guard shared.protectsAny else { return false }
        return try references.isReferred(to: key) { shared.isProtected($0) }
    }

    /// Takes a row away with what belongs to it; nil where there was none.
    @discardableResult
    func remove(_ key: RowKey) throws(StoreError) -> Removal? {
        let statement = statements[.deleteEntry]
        statement.bind(1, key.number)
        defer { statement.reset() }
        noteChange(of: key)
        var removal = Removal()
        var (body, skeleton): (Int64?, Int64?)
        if try statement.step() {
            (body, skeleton) = (statement.integerOrNil(0), statement.integerOrNil(4))
            removal.scope = statement.text(1).flatMap(Scope.init(text:))
            removal.id = statement.text(2).flatMap { try? EntryID(stored: $0) }
            removal.kind = EntryKind(rawValue: statement.integer(3))
        }
        statement.reset()
        statements[.deleteRecency].bind(1, key.number)
        defer { statements[.deleteRecency].reset() }
        // A row of recency alone is damage; it goes too, or eviction would meet it for ever.
        guard try statements[.deleteRecency].step() else { return nil }
        let size = try rowSize(statements[.deleteRecency], 0)
        let owner = statements[.deleteRecency].integer(1)
        statements[.deleteRecency].reset()
        if owner == OwnerTotals.shared { try unhide(key) }
        if let body { try bodies.unlink(body, &state.bodies) }
        if let skeleton { try giveBackSkeleton(skeleton) }
        if skeleton != nil || removal.kind == .entity { try dropReferences(of: key) }
        count(-size, of: owner)
        state.totals.entries -= 1
        return removal
    }

    /// Counts bytes that the rows of an owner have more, or less.
    func count(_ added: Int64, of owner: Int64) {
        state.totals.bytes += added
        state.owners.add(added, to: owner)
    }

    /// A row's accounted size, as the file has it.
    func rowSize(_ statement: SQLiteStatement, _ column: Int32) throws(StoreError) -> Int64 {
        let size = statement.integer(column)
        guard Limits.rowBytes.contains(size) else {
            throw .corrupt(file: database.path, step: "read a row's size")
        }
        return size
    }

    /// Removes an id's row, asked for by name; what it was, or nil where there was none.
    ///
    /// A client's blob is deleted by it, what was fetched is forgotten.
    func delete(
        _ scope: ScopeKey,
        _ id: EntryID,
        client: ClientTag? = nil
    ) throws(StoreError) -> EntryKind? {
        guard let found = try find(scope, id).row else { return nil }
        switch found.kind {
        case .blob:
            try remove(found.key)
            let cause = ChangeCause(.client, client: client)
            try log(Change(try nextRevision(), scope.scope, .delete(id, cause)))
        case .fetched, .tombstone, .variants, .entity:
            try evict(found.key, .request, client)
        }
        return found.kind
    }

    /// Removes rows that were named, but for those that are protected or changed since then.
    func evict(
        _ candidates: [EvictionCandidate],
        client: ClientTag? = nil
    ) throws(StoreError) -> EvictionReceipt {
        var receipt = EvictionReceipt()
        var step: Revision?
        for candidate in candidates {
            guard try !isSkipped(candidate) else {
                receipt.skipped += 1
                continue
            }
            try evict(candidate.key, .request, client, &step)
            receipt.evicted.append(candidate)
            state.totals.evictions += 1
            state.totals.evictedByRequest += 1
        }
        return receipt
    }

    /// The positions of the candidates that an eviction by name would skip.
    func skipped(_ candidates: [EvictionCandidate]) throws(StoreError) -> Set<Int> {
        var skipped: Set<Int> = []
        for (index, candidate) in candidates.enumerated() where try isSkipped(candidate) {
            skipped.insert(index)
        }
        return skipped
    }

    private func isSkipped(_ candidate: EvictionCandidate) throws(StoreError) -> Bool {
        if try isProtected(candidate.key) { return true }
        return try revision(of: candidate.key) != candidate.revision
    }

    private func revision(of key: RowKey) throws(StoreError) -> Revision? {
        let statement = statements[.find]
        statement.bind(1, key.number)
        defer { statement.reset() }
        return try statement.step() ? Revision(statement.integer(4)) : nil
    }
}
