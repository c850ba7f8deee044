import LarderModel
import LarderNormalize

/// Stores, confirms and deletes entries in the file where their row lives.
///
/// Each command writes an evictable row to `cache.db` and a durable row to `state.db`.
///
/// Terms:
///
/// - An id is *durable* while ``ResidencyIndex`` has it, because `state.db` has a row of it.
/// - Such a row is *pinned*, or *targeted* by unsettled changes. A row that is neither any more,
///   but is not synced in `cache.db` yet, is *released*.
/// - The row in `state.db` is *saved*: it is the last word of its origin, or of the client.
/// - A row that `cache.db` has under a durable id is *garbage*, which maintenance removes.
/// - An entity is durable while a durable row refers to it, and a variant while its URL is.
/// - A *keeper* is a durable row of a user that has no entry, because its user sees the shared row
///   under its id. That row is durable while it has keepers.
///
/// Invariants:
///
/// 1. The writer saves and syncs a new state of a durable row before any client hears of it.
/// 2. No reader reads garbage: it reads a durable id from `state.db`, and from `cache.db` only if
///    nothing is saved of the id (5).
/// 3. A reader reads the changes that target an id with its base, from `state.db`, in one
///    transaction.
/// 4. The index has an id from before the commit that makes its row until after the commit that
///    removes it. The id is targeted there until after the commit of the changes' result.
/// 5. A pin without a saved entry leaves its id to the cache. A target without a saved entry has no
///    row in the cache: nothing is known of it.
/// 6. The accounted size of rows that are pinned and not targeted never grows beyond
///    `pins.max_bytes`. A targeted row takes what the server says.
/// 7. A shared row is durable while it has keepers, and has the marks of all of them together.
/// 8. A released row leaves `state.db` once it is written to `cache.db`, and synced there.
/// 9. The index has the targets of a dead letter from before the commit that makes it. They leave
///    the index after the commit that drops the dead letter or puts it back in the queue.
/// 10. The sums in memory are those of the rows. Each row counts once in a total, and once in the
///    share of its user. A shared row counts in the share of its payer, and so do the rows that
///    come with it.
struct EntryWriter: WriterPart {
    let writer: StoreWriter

    func put(
        _ new: NewEntry,
        fence: AnswerFence?,
        now: Timestamp
    ) throws(StoreError) -> CommandResult<PutReceipt> {
        if let receipt = try putEvictable(new, fence: fence, now: now) {
            return .done(receipt)
        }
        let touched = fence?.touched(new.scope, new.entry.id) ?? .none
        guard let fence, touched != .none else { return try take(new, fence: fence, now: now) }
        defer { try? bodies.forget(new.body) }
        guard let mix = try mixing.mix(of: new, touched, now: now) else {
            fence.used(.nothing)
            let found = try durable(new.name)
            let revision =
                if let found, found.hasEntry { found.revision } else { try revisions.next() }
            return .done(PutReceipt(revision: revision, isNew: false, isSame: true))
        }
        fence.used(.rest)
        return try mixing.changing(new.name, touched, now: now) { () throws(StoreError) in
            try take(mix, fence: fence, now: now)
        }
    }

    /// Stores an entry whatever has been written since its request.
    ///
    /// `step` is the revision of the step that it is a part of, if that has one.
    func take(
        _ new: NewEntry,
        fence: AnswerFence?,
        step: Revision? = nil,
        now: Timestamp
    ) throws(StoreError) -> CommandResult<PutReceipt> {
        let (scope, id, name) = (new.scope, new.entry.id, new.name)
        var found = try promotion.durableRow(for: new, now: now)
        if let row = found { found = try sharing.refuseForPins(new, row) }
        let destination = try self.destination(of: new, found)
        let isRefused = destination.refusal != nil && found?.hasBytes == true
        if !isRefused, let large = bodies.large(new, to: destination.file, as: .answer) {
            return .needs([large])
        }
        defer { try? bodies.forget(new.body) }
        if let found, let error = destination.refusal {
            try tellRefusal(of: new, found, error)
            if isRefused { return .refused(error) }
        }
        if found?.isPinned == true, new.entry.kind == .tombstone,
            scope == shared.sharedScope || found?.keepsShared == true
        {
            let needs = try sharing.keepForPins(new, now)
            guard needs.isEmpty else { return .needs(needs) }
            found = try state.rows.find(name)
        }
        let ready = try bodies.ready(new, in: destination.file, as: .answer)
        if found?.isLeftToCache == true, new.entry.kind == .tombstone,
            scope != shared.sharedScope
        {
            try state.pins.setTrouble(name, .failed, PinTrouble(deleted: new.entry.status))
        }
        guard let found, destination.file == .state else {
            if found != nil { shared.residency.removeGarbage([RowKey(scope, id)]) }
            let receipt = try cache.rows.put(ready, now: now)
            try hiding.noteStored(new, in: .cache, by: fence)
            return .done(receipt)
        }
        let viewers = try sharing.viewers(of: name)
        let receipt = try put(ready, into: found, step)
        try hiding.noteStored(new, in: .state, by: fence)
        guard new.entry.kind != .variants else { return .done(receipt) }
        let answered = receipt.isSame ? nil : receipt.revision
        try sharing.answered(name, viewers, isMix: new.isMix, at: answered, now: now)
        return .done(receipt)
    }

    func putEvictable(
        _ new: NewEntry,
        fence: AnswerFence?,
        now: Timestamp
    ) throws(StoreError) -> PutReceipt? {
        let (scope, id) = (new.scope, new.entry.id)
        guard new.isLinkableInCache, !shared.residency.covers(scope, id),
            shared.residency.isEmpty || id.urlOfVariant == nil,
            fence?.covers(scope, id) != true
        else { return nil }
        let receipt = try cache.rows.put(new, now: now)
        try hiding.noteStored(new, in: .cache, by: fence)
        return receipt
    }

    func destination(
        of new: NewEntry,
        _ found: DurableRow?
    ) throws(StoreError) -> (file: BodyFile, refusal: StoreError?) {
        guard let found else { return (.cache, nil) }
        guard new.entry.kind != .tombstone else {
            return (found.isLeftToCache ? .cache : .state, nil)
        }
        let refusal = try refusal(of: new, found)
        return (refusal == nil ? .state : .cache, refusal)
    }

    func refusal(
        of new: NewEntry,
        _ found: DurableRow,
        entityGrowth: Int64 = 0
    ) throws(StoreError) -> StoreError? {
        guard StateBudget.hasToFit(found, as: .answer) else { return nil }
        let isChunked = new.body.isUploaded || new.entry.body.byteCount > Limits.inlineBodyBytesMax
        let size = new.entry.rowSize(in: new.scope, isChunked: isChunked) + entityGrowth
        do throws(StoreError) {
            let payer = found.payer
            try state.budget.checkRoom(for: size, new.scope, replacing: found, paidBy: payer)
            return nil
        } catch .pinsFull(let bytes, let limit) {
            return .pinsFull(bytes: bytes, limit: limit)
        }
    }

    func tellRefusal(
        of new: NewEntry,
        _ found: DurableRow,
        _ error: StoreError
    ) throws(StoreError) {
        if !found.hasBytes || new.entry.kind == .fetched {
            try state.pins.setTrouble(new.name, .tooLarge, PinTrouble(error))
        }
        // The saved tombstone is no longer true.
        if !found.hasBytes, found.hasEntry, let row = try state.rows.find(new.name) {
            try state.rows.clear(row)
        }
    }

    private func put(
        _ new: NewEntry,
        into found: DurableRow,
        _ step: Revision? = nil
    ) throws(StoreError) -> PutReceipt {
        if !found.hasEntry { try hiding.takeMarks(of: new.name) }
        let wasHidden = try state.rows.endHiding(found, since: new.start)
        sharing.noteOwnEntry(found)
        var new = new
        guard new.entry.kind != .tombstone else {
            // The bytes of a pin stay; a base is a tombstone from then on.
            let revision = try revisions.next()
            new.entry.revision = revision
            guard try state.pins.writeTombstone(new) else {
                return try state.rows.put(new, wasHidden: wasHidden)
            }
            return PutReceipt(revision: revision, isNew: false, isSame: false)
        }
        let hasBytes = try state.rows.matches(found, new)
        let isSame = !wasHidden && found.hasEntry && found.goneStatus == nil && hasBytes
        if isSame {
            new.entry.revision = found.revision
        } else {
            new.entry.revision = if let step { step } else { try revisions.next() }
        }
        var receipt = try state.rows.put(new, wasHidden: wasHidden)
        if !found.hasEntry { try noteReplaced(&receipt, new.name) }
        return receipt
    }

    func noteReplaced(_ receipt: inout PutReceipt, _ name: TargetName) throws(StoreError) {
        let row = try cacheIfAny?.rows.find(name.scope, name.id)
        if let row, row.kind != .tombstone { receipt.isNew = false }
    }

    func refresh(
        _ confirmed: Entry,
        in scope: ScopeKey,
        fence: AnswerFence?,
        isUse: Bool,
        now: Timestamp
    ) throws(StoreError) -> RefreshOutcome {
        let name = TargetName(scope, confirmed.id)
        // A write was confirmed after this request started, so its answer may be out of date
        // (P-06).
        guard fence?.covers(scope, name.id) != true else { return .gone }
        guard shared.residency.covers(scope, name.id),
            let outcome = try state.rows.refresh(confirmed, in: scope)
        else { return try cache.rows.refresh(confirmed, in: scope, isUse: isUse) }
        if case .refreshed = outcome {
            try sharing.answered(name, try sharing.viewers(of: name), at: nil, now: now)
        }
        return outcome
    }

    func delete(
        _ name: TargetName,
        client: ClientTag?
    ) throws(StoreError) -> CommandResult<RemovalReceipt?> {
        let (scope, id) = (name.scope, name.id)
        guard let found = try durable(name) else {
            return .done(try cache.eviction.delete(scope, id, client: client))
        }
        if found.isTargeted { return .refused(.targeted) }
        if try state.reader.isKept(found) { return .refused(.pinned) }
        let event: Change.Event? =
            switch found.kind {
            case nil, .variants: nil
            case .blob: .delete(id, ChangeCause(.client, client: client))
            case .fetched, .tombstone, .entity: .evict(id, .request, client: client)
            }
        try removeDurable(found)
        guard let kind = found.kind else {
            return .done(try cache.eviction.delete(scope, id, client: client))
        }
        let revision = try revisions.next()
        if let event { try tellRemoval(of: found, event, revision) }
        return .done(RemovalReceipt(kind: kind, revision: revision))
    }

    func removeDurable(_ found: DurableRow, isCounted: Bool = true) throws(StoreError) {
        let name = found.name
        try hiding.hideShared(found)
        try state.rows.remove(found)
        if found.keepsShared, isCounted { try state.keepers.countKeepers(of: name.id) }
        if name.scope == shared.sharedScope { try sharing.forgetKeepers(of: name.id) }
        change(name) { ($0.isPinned, $0.isGivenUp) = (false, true) }
        afterCommit { [index = shared.residency] in index.removeGivenUp(name) }
    }

    /// Tells watchers that a durable row is removed, and leaves nothing of it in the cache.
    ///
    /// A tombstone at an evicted entity's own URL goes too, if it is from before the row.
    func tellRemoval(
        of found: DurableRow,
        _ event: Change.Event,
        _ revision: Revision
    ) throws(StoreError) {
        let name = found.name
        try state.views.log(Change(revision, name.scope.scope, event))
        guard let cache = try cacheIfAny else { return }
        try cache.rows.removeQuietly(name.scope, name.id)
        guard case .evict(_, let reason, let client) = event else { return }
        var step: Revision? = revision
        try cache.eviction
            .evictTombstone(atURLOf: name, before: found.revision, reason, client, &step)
    }

    /// Raises the tombstone at an entity's own URL, if nothing is known of the entity.
    ///
    /// The URL told what the writes of the entity made of it. Without them it tells the deletion
    /// again.
    func raiseTombstone(atURLOf entity: TargetName, to step: Revision) throws(StoreError) {
        guard let name = entity.id.entity, let url = shared.origins.ownID(name),
            try durable(sharing.place(of: entity))?.hasEntry != true
        else { return }
        for place in shared.places(of: entity.scope).map({ TargetName($0, url) }) {
            let saved = try durable(place)?.kind
            let cached = try cacheIfAny?.rows.find(place.scope, url)?.kind
            if (saved ?? cached) == .tombstone { try raise(place, to: step) }
        }
    }

    /// Raises the revision of a row, in whichever file it is.
    func raise(_ name: TargetName, to revision: Revision) throws(StoreError) {
        try state.targets.raise(name, to: revision)
        try cacheIfAny?.rows.raise(name.scope, name.id, to: revision)
    }

    /// Gives rows the revision of a new step without changing them, and tells their watchers.
    ///
    /// Watchers also hear of an id that has no row.
    func renew(_ rows: [(TargetName, Change.Event)], seenBy viewer: Scope) throws(StoreError) {
        let revision = try revisions.next()
        var cached: [Change] = []
        for (name, event) in rows {
            let change = Change(revision, viewer, event)
            if let found = try durable(name) {
                try state.targets.setTargeted(found.isTargeted, found, revision)
                try state.noteChange(of: found.name)
                try state.views.log(change)
            } else {
                try cache.rows.raise(name.scope, name.id, to: revision)
                try hiding.hideSaved(name)
                cached.append(change)
            }
        }
        if !cached.isEmpty { try cache.log.append(together: cached) }
    }
}
