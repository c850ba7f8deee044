import LarderModel
import LarderNormalize

struct Pinning: WriterPart {
    let writer: StoreWriter

    /// With `adoptsShared`, where its user sees the shared row, that is kept as it is.
    func pin(
        _ name: TargetName,
        origin: OriginName?,
        adoptsShared: Bool,
        now: Timestamp
    ) throws(StoreError) -> CommandResult<PinOutcome> {
        var found = try durable(name)
        if let row = found, origin != nil, try state.pins.holdsUnseen(row) {
            try state.pins.wantAgain(name)
            found = try durable(name)
        }
        if let found, found.isPinned, found.hasBytes { return .done(.held(isNew: false)) }
        if adoptsShared, try sharing.seesShared(name, now: now) {
            return try keepShared(name, origin, now)
        }
        if found?.isLeftToCache ?? true,
            let row = try cacheIfAny?.rows.takeable(name.scope, name.id, toPin: true, now: now)
        {
            if let outcome = try take(row, name, found, now) { return outcome }
        }
        guard found?.hasBytes == true || origin != nil else { return .done(.miss) }
        return try mark(name, origin, now)
    }

    private func keepShared(
        _ name: TargetName,
        _ origin: OriginName?,
        _ now: Timestamp
    ) throws(StoreError) -> CommandResult<PinOutcome> {
        let place = shared.sharedName(name.id)
        let found = try durable(place)
        let isHere = found.map { $0.hasEntry || $0.isTargeted } ?? false
        let row =
            isHere
            ? nil : try cacheIfAny?.rows.takeable(place.scope, place.id, toPin: true, now: now)
        do throws(StoreError) {
            let size = if let row { try self.size(of: row, at: place) } else { found?.size ?? 0 }
            let uid = name.scope.scope.uid
            try state.budget.checkRoom(for: size, place.scope, replacing: found, paidBy: uid)
        } catch {
            row?.release(to: shared)
            return try tooLarge(name, row?.entry.origin ?? origin, error, now)
        }
        if let row, let large = bodies.large(row, place, as: .pin) { return .needs([large]) }
        defer { row?.release(to: shared) }
        let base = if let row { try promotion.base(row, place) } else { NewEntry?.none }
        let isHidden = try hiding.isHidden(name.id, from: name.scope)
        var isHeld = base != nil
        if let found, !isHeld, found.hasBytes { isHeld = try !state.rows.lacksPart(found) }
        isHeld = isHeld && !isHidden
        guard isHeld || origin != nil else { return .done(.miss) }
        do throws(StoreError) {
            let isNew = try state.keepers.keep(name, origin: origin, isHeld: isHeld, now: now)
            try state.keepers.promote(name.id, base, pinnedAt: now)
            if base != nil { try hiding.takeMarks(of: place) }
            setPinned(name)
            try sharing.noteKeeper(name)
            try promotion.takeVariants(of: place, now: now)
            return .done(isHeld ? .held(isNew: isNew) : .waiting(isNew: isNew))
        } catch {
            if let base { try bodies.forget(base.body) }
            return try refusal(error)
        }
    }

    private func size(
        of row: CachedRows.CachedCopy,
        at name: TargetName
    ) throws(StoreError) -> Int64 {
        let isChunked = if case .chunked = row.body { true } else { false }
        let size = row.entry.rowSize(in: name.scope, isChunked: isChunked)
        guard row.form != nil else { return size }
        return size + (try cache.answers.sizeOfReferred(by: RowKey(name.scope, name.id)))
    }

    private func tooLarge(
        _ name: TargetName,
        _ origin: OriginName?,
        _ error: StoreError,
        _ now: Timestamp
    ) throws(StoreError) -> CommandResult<PinOutcome> {
        guard case .pinsFull = error else { throw error }
        let marked = try mark(name, origin, now)
        guard case .done = marked else { return marked }
        let trouble = PinTrouble(error)
        try state.pins.setTrouble(name, .tooLarge, trouble)
        return .done(.tooLarge(trouble))
    }

    private func mark(
        _ name: TargetName,
        _ origin: OriginName?,
        _ now: Timestamp
    ) throws(StoreError) -> CommandResult<PinOutcome> {
        do throws(StoreError) {
            let (hasBytes, isNew) = try state.pins.mark(name, origin: origin, now: now)
            setPinned(name)
            return .done(hasBytes ? .held(isNew: isNew) : .waiting(isNew: isNew))
        } catch {
            return try refusal(error)
        }
    }

    /// Saves a row of the cache as a pin; nil where its bytes are damaged, and it is gone.
    private func take(
        _ row: CachedRows.CachedCopy,
        _ name: TargetName,
        _ found: DurableRow?,
        _ now: Timestamp
    ) throws(StoreError) -> CommandResult<PinOutcome>? {
        do throws(StoreError) {
            let size = try size(of: row, at: name)
            try state.budget.checkRoom(for: size, name.scope, replacing: found)
        } catch {
            row.release(to: shared)
            return try tooLarge(name, row.entry.origin, error, now)
        }
        if let large = bodies.large(row, name, as: .pin) { return .needs([large]) }
        defer { row.release(to: shared) }
        guard let new = try promotion.base(row, name, as: .pin) else {
            try cache.rows.removeQuietly(name.scope, name.id)
            return nil
        }
        do throws(StoreError) {
            try state.rows.put(new, pinnedAt: now, isUpdate: false)
        } catch {
            try bodies.forget(new.body)
            return try refusal(error)
        }
        try notePinned(name, now)
        return .done(.held(isNew: found?.isPinned != true))
    }

    private func notePinned(_ name: TargetName, _ now: Timestamp) throws(StoreError) {
        setPinned(name)
        promotion.addGarbage([name])
        try promotion.takeVariants(of: name, now: now)
    }

    func putPinned(_ new: NewEntry, now: Timestamp) throws(StoreError) -> CommandResult<PutReceipt>
    {
        if let large = bodies.large(new, to: .state, as: .pin) { return .needs([large]) }
        let found = try durable(new.name)
        var ready = new
        do throws(StoreError) {
            ready = try bodies.ready(new, in: .state, as: .pin)
            ready.entry.revision = try revisions.next()
            var receipt = try state.rows.put(ready, pinnedAt: now)
            sharing.noteOwnEntry(found)
            if found?.hasEntry != true { try entries.noteReplaced(&receipt, new.name) }
            try notePinned(new.name, now)
            try state.prefetches.notePinned(new.name, since: found, for: .client)
            try bodies.forget(new.body)
            return .done(receipt)
        } catch {
            try bodies.forget(ready.body)
            return try refusal(error)
        }
    }

    /// Removes the pin of a client; the row of a set stays pinned.
    func unpin(_ name: TargetName, now: Timestamp) throws(StoreError) -> Bool {
        guard let found = try durable(name), found.isPinned else { return false }
        guard try state.prefetches.keeps(name) else { return try release(found) }
        guard !found.isPrefetched else { return false }
        try state.prefetches.setPrefetched(found, true)
        return true
    }

    /// Removes pins that no client has asked for and that no set keeps any more; returns their ids.
    func releasePrefetched() throws(StoreError) -> [TargetName] {
        let names = try state.prefetches.released()
        for name in names {
            if let found = try durable(name) { _ = try release(found) }
        }
        return names
    }

    /// Removes a pin.
    ///
    /// Maintenance removes bytes that were saved for the pin alone, once the cache has synced
    /// them.
    private func release(_ found: DurableRow) throws(StoreError) -> Bool {
        let name = found.name
        guard !found.isLeftToCache else {
            try entries.removeDurable(found)
            return true
        }
        try state.pins.unpin(found, found.goneStatus == nil ? nil : revisions.next())
        change(name) { $0.isPinned = false }
        try sharing.removeIdleKeeper(name)
        return true
    }

    /// Removes the garbage of a durable row from `cache.db`, before the durable row is given up.
    ///
    /// Otherwise readers would see the garbage again if `cache.db` could not commit its removal. A
    /// demotion that has already written the row there does not take it out of `state.db` then.
    func hide(_ name: TargetName) throws(StoreError) {
        guard let cache = try cacheIfAny, let found = try durable(name), found.hasEntry else {
            return
        }
        try hiding.hideShared(found)
        shared.residency.addGarbage([RowKey(name.scope, name.id)])
        try cache.rows.removeQuietly(name.scope, name.id)
    }

    /// Removes a pinned or released row with its bytes, and leaves nothing in the cache.
    ///
    /// False if there was no such row, or an unsettled change targets it.
    func drop(_ name: TargetName, client: ClientTag?) throws(StoreError) -> Bool {
        let (scope, id) = (name.scope, name.id)
        guard let found = try durable(name), !found.isTargeted else { return false }
        // A shared row is pinned because users keep it, and only they can end that.
        if found.isPinned, scope == shared.sharedScope { return false }
        // A pinned row may refer to it.
        if !found.isPinned, try state.reader.isKept(found) { return false }
        try entries.removeDurable(found)
        guard found.hasEntry else {
            // The cache has the entry.
            if let cache = try cacheIfAny, let row = try cache.rows.find(scope, id) {
                var step: Revision?
                try cache.eviction.evict(row.key, .request, client, &step)
            }
            return true
        }
        let event = Change.Event.evict(id, .request, client: client)
        try entries.tellRemoval(of: found, event, try revisions.next())
        return true
    }

    private func setPinned(_ name: TargetName) {
        claim(name)
        change(name) { $0.isPinned = true }
    }

    /// Returns an expected error as a refusal and rethrows a failure of the writer.
    ///
    /// The command has written nothing before an expected error.
    private func refusal<Value>(_ error: StoreError) throws(StoreError) -> CommandResult<Value> {
        switch error {
        case .pinsFull, .tooManyPins: return .refused(error)
        case _: throw error
        }
    }
}
