import LarderModel

struct CacheEviction {
    let cache: CacheWriter
    private var totals: StoreTotals { cache.state.totals }

    typealias Removal = (scope: Scope?, id: EntryID?, kind: EntryKind?, revision: Revision)

    func makeRoom(for size: Int64, keeping kept: Set<RowKey>, now: Timestamp) throws(StoreError) {
        let budget = totals.budget
        if totals.bytes > budget {
            try cache.flushTouches()
            let isFromFront = cache.state.positions.isEmpty
            try evict(downTo: budget, keeping: kept, now: now)
            if totals.bytes > budget, !isFromFront {
                // Rows that eviction has passed over may be evictable by now.
                cache.state.positions = [:]
                try evict(downTo: budget, keeping: kept, now: now)
            }
            guard totals.bytes <= budget else { throw .noRoom(bytes: size) }
            cache.state.isShrinking = totals.bytes > cache.room.lowWatermarkBytes
        }
        cache.state.totals.isFull = false
    }

    func shrinkStep(now: Timestamp) throws(StoreError) {
        try cache.flushTouches()
        let (before, goal) = (totals.evictions, cache.room.lowWatermarkBytes)
        try evict(downTo: goal, rows: Limits.evictionBatchRowsMax, now: now)
        if totals.bytes <= goal || totals.evictions == before { cache.state.isShrinking = false }
    }

    private func evict(
        downTo goal: Int64,
        rows: Int = .max,
        keeping kept: Set<RowKey> = [],
        now: Timestamp
    ) throws(StoreError) {
        let share = cache.configuration.queue.part(of: totals.budget, users: 2)
        var done: Set<EvictionOrder> = []
        var step: Revision?
        var evicted = 0
        while totals.bytes > goal, evicted < rows, let order = nextOrder(except: done, share) {
            guard let victim = try nextVictim(order, keeping: kept, now: now) else {
                done.insert(order)
                continue
            }
            if evicted.isMultiple(of: Limits.evictionBatchRowsMax) { step = nil }
            let reason = order == .expired ? EvictionReason.expired : .lru
            guard try evict(victim, reason, nil, &step) else { continue }
            evicted += 1
            cache.state.totals.evictions += 1
            if order == .expired {
                cache.state.totals.expired += 1
            } else if totals.isPressed {
                cache.state.totals.diskEvictions += 1
            }
        }
    }

    /// Chooses the order in which the next row is evicted.
    ///
    /// Expired blobs go first. Rows of a user above the share are next, while there are other
    /// users. The least recently used of all rows come last. Blobs cannot be fetched again. So
    /// while the disk is short, other rows go first in each order.
    private func nextOrder(except done: Set<EvictionOrder>, _ share: Int64) -> EvictionOrder? {
        func next(of owner: Int64?) -> EvictionOrder? {
            let fetched: [EvictionOrder] = totals.isPressed ? [.fetched(of: owner)] : []
            return (fetched + [.used(of: owner)]).first { !done.contains($0) }
        }
        if !done.contains(.expired) { return .expired }
        return next(of: cache.state.owners.largest(above: share) { next(of: $0) != nil })
    }

    private func nextVictim(
        _ order: EvictionOrder,
        keeping kept: Set<RowKey>,
        now: Timestamp
    ) throws(StoreError) -> RowKey? {
        var position = cache.state.positions[order] ?? EvictionPosition()
        position.beginAgainIfDue(after: totals.evictions)
        let rows = candidates(order, after: position, now: now)
        defer {
            rows.reset()
            cache.state.positions[order] = position
        }
        while try rows.step() {
            position.move(to: rows)
            let key = position.key
            if !order.leavesOut(rows.integer(VictimColumn.kind)), !kept.contains(key),
                try !isProtected(key)
            {
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
        let (name, owner): (CacheStatement, Int64?) =
            switch order {
            case .expired: (.expired, nil)
            case .fetched(let owner):
                (owner == nil ? .oldestWithKind : .oldestOfOwnerWithKind, owner)
            case .used(let owner): (owner == nil ? .oldest : .oldestOfOwner, owner)
            }
        let rows = cache.statements[name]
        if order == .expired {
            let (end, key) = (position.expiresAt, position.key.number)
            rows.bind((":now", now.milliseconds), (":expires_at", end), (":key", key))
        } else {
            rows.bind(":used", position.lastUsed)
        }
        if let owner { rows.bind(":owner", owner) }
        return rows
    }

    private func isProtected(_ key: RowKey) throws(StoreError) -> Bool {
        if cache.shared.residency.isGarbage(key) { return false }
        if cache.shared.isProtected(key) { return true }
        guard cache.shared.protectsAny else { return false }
        return try cache.references.isReferred(to: key) { cache.shared.isProtected($0) }
    }

    @discardableResult func remove(_ key: RowKey) throws(StoreError) -> Removal? {
        cache.noteChange(of: key)
        let entry = cache.statements(.deleteEntry, (":key", key.number))
        defer { entry.reset() }
        var removal: Removal = (nil, nil, nil, Revision(0))
        var (body, skeleton): (Int64?, Int64?)
        if try entry.step() {
            body = entry.integerOrNil(EntryColumn.body)
            skeleton = entry.integerOrNil(EntryColumn.skeleton)
            removal.scope = entry.scope(EntryColumn.scope)
            removal.id = entry.entryID(EntryColumn.id)
            removal.kind = EntryKind(rawValue: entry.integer(EntryColumn.kind))
            var numbers = RowNumbers(entry)
            removal.revision = numbers.revision(EntryColumn.rev)
        }
        entry.reset()
        let recency = cache.statements(.deleteRecency, (":key", key.number))
        defer { recency.reset() }
        // A row of recency alone is damage; it goes too, or eviction would meet it for ever.
        guard try recency.step() else { return nil }
        let (size, owner) = (try cache.rowSize(recency, "size"), recency.integer("owner"))
        recency.reset()
        if owner == OwnerTotals.shared { try cache.hiding.unhide(key) }
        try cache.answers.letGo(of: key, removal.kind, body: body, skeleton: skeleton)
        cache.count(-size, of: owner)
        cache.state.totals.entries -= 1
        return removal
    }

    /// Takes a row away and logs that; false where there was none.
    ///
    /// `step` is the revision of its batch.
    @discardableResult func evict(
        _ key: RowKey,
        _ reason: EvictionReason,
        _ client: ClientTag?,
        _ step: inout Revision?
    ) throws(StoreError) -> Bool {
        // No watcher is told of garbage: no reader has seen it since its id became durable.
        let isGarbage = cache.shared.residency.isGarbage(key)
        guard let row = try remove(key), !isGarbage else { return false }
        guard let scope = row.scope, let id = row.id, let kind = row.kind, kind != .variants else {
            return true
        }
        let revision = if let step { step } else { try cache.nextRevision() }
        step = revision
        try cache.log.append(Change(revision, scope, .evict(id, reason, client: client)))
        let name = TargetName(cache.shared.key(for: scope), id)
        try evictTombstone(atURLOf: name, before: row.revision, reason, client, &step)
        return true
    }

    /// Evicts the tombstone at an entity's own URL, as the entity was evicted.
    ///
    /// With the entity the URL told a later state. A tombstone from before that state would tell
    /// the deletion again, with an earlier revision.
    func evictTombstone(
        atURLOf entity: TargetName,
        before revision: Revision,
        _ reason: EvictionReason,
        _ client: ClientTag?,
        _ step: inout Revision?
    ) throws(StoreError) {
        guard let name = entity.id.entity, let url = cache.shared.origins.ownID(name),
            let found = try cache.rows.find(entity.scope, url), found.kind == .tombstone,
            found.revision < revision
        else { return }
        try evict(found.key, reason, client, &step)
    }

    /// Deletes an id's blob, or evicts its other row; nil where there was none.
    func delete(
        _ scope: ScopeKey,
        _ id: EntryID,
        client: ClientTag? = nil
    ) throws(StoreError) -> RemovalReceipt? {
        guard let found = try cache.rows.find(scope, id) else { return nil }
        let revision = try cache.nextRevision()
        switch found.kind {
        case .blob:
            try remove(found.key)
            let cause = ChangeCause(.client, client: client)
            try cache.log.append(Change(revision, scope.scope, .delete(id, cause)))
        case .fetched, .tombstone, .variants, .entity:
            var step: Revision? = revision
            try evict(found.key, .request, client, &step)
        }
        return RemovalReceipt(kind: found.kind, revision: revision)
    }

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
            cache.state.totals.evictions += 1
            cache.state.totals.evictedByRequest += 1
        }
        return receipt
    }

    func skipped(_ candidates: [EvictionCandidate]) throws(StoreError) -> Set<Int> {
        var skipped: Set<Int> = []
        for (index, candidate) in candidates.enumerated() where try isSkipped(candidate) {
            skipped.insert(index)
        }
        return skipped
    }

    private func isSkipped(_ candidate: EvictionCandidate) throws(StoreError) -> Bool {
        if try isProtected(candidate.key) { return true }
        let found = cache.statements(.find, (":key", candidate.key.number))
        return try found.first { $0.integer(EntryColumn.rev) } != candidate.revision.number
    }

    // MARK: Sweeping

    /// Removes some of the entities that nothing refers to any more and no client has read by key.
    func sweepStep() throws(StoreError) {
        let batch = cache.state.orphans.suffix(Limits.evictionBatchRowsMax)
        cache.state.orphans.removeLast(batch.count)
        try cache.flushTouches()
        var step: Revision?
        for orphan in Set(batch) where !cache.shared.isProtected(orphan) {
            if try isUnreferred(orphan), try evict(orphan, .lru, nil, &step) {
                cache.state.totals.evictions += 1
            }
        }
    }

    private func isUnreferred(_ key: RowKey) throws(StoreError) -> Bool {
        let sql = """
            SELECT 1 FROM entry JOIN recency USING (key)
            WHERE key = :key AND id < '\(EntryID.firstOfEntries)' AND direct = 0
                AND NOT EXISTS (SELECT 1 FROM reference WHERE child = :key)
            """
        return try cache.connection.statement(sql, (":key", key.number)).step()
    }
}

enum EvictionOrder: Hashable {
    /// Blobs past their ttl, those that expired first.
    case expired
    /// Answers of origins, the least recently used first: those of an owner, or all.
    case fetched(of: Int64?)
    /// Rows, the least recently used first: those of an owner, or all.
    case used(of: Int64?)

    func leavesOut(_ kind: Int64) -> Bool {
        if case .fetched = self { kind == EntryKind.blob.rawValue } else { false }
    }
}

/// How far eviction has looked in an order: it passes rows that must stay, and goes on after them.
///
/// It begins again at the front, and finds rows that may go now, after one eviction for every
/// ``Limits/passedRowsPerEviction`` rows that it has passed.
struct EvictionPosition {
    private(set) var key = RowKey(.min)
    private(set) var lastUsed = Int64.min
    /// Used by ``EvictionOrder/expired`` alone.
    private(set) var expiresAt = Int64.min
    private var passed: Int64 = 0
    private var evictions: Int64 = 0

    mutating func move(to row: SQLiteStatement) {
        key = RowKey(row.integer(VictimColumn.key))
        lastUsed = row.integer(VictimColumn.lastUsed)
        expiresAt = row.integer(VictimColumn.expiresAt)
    }

    mutating func pass() { passed += 1 }

    mutating func beginAgainIfDue(after count: Int64) {
        guard (count - evictions) * Limits.passedRowsPerEviction >= passed else { return }
        self = EvictionPosition()
        evictions = count
    }
}
