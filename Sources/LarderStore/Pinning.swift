import LarderModel
import LarderNormalize

/// Pins ids and takes pins away.
struct Pinning: WriterPart {
    let writer: StoreWriter

    /// Keeps what is cached under an id, or marks it as waiting when there is an `origin` to fetch
    /// it from.
    ///
    /// With `adoptsShared`, where its user sees the shared row, that is kept as it is.
    func pin(
        _ scope: ScopeKey,
        _ id: EntryID,
        origin: OriginName?,
        adoptsShared: Bool,
        _ copied: CopiedBodies,
        now: Timestamp
    ) throws(StoreError) -> Entrance<PinOutcome> {
        let found = try claimed(scope, id)
        if let found, found.isPinned, found.hasBytes { return .done(.held(isNew: false)) }
        let name = TargetName(scope, id)
        if adoptsShared, try sharing.seesShared(name, now: now) {
            return try keepShared(name, origin, copied, now)
        }
        guard found?.isLeftToCache ?? true else {
            guard found?.hasBytes == true || origin != nil else { return .done(.miss) }
            return try mark(scope, id, origin, now)
        }
        if let row = try cacheIfAny?.rows.pinnable(scope, id, now: now) {
            let outcome = try take(row, scope, isNew: found?.isPinned != true, copied, now)
            if let outcome { return outcome }
        }
        guard origin != nil else { return .done(.miss) }
        return try mark(scope, id, origin, now)
    }

    /// Has a pin keep the shared row, or wait for it.
    private func keepShared(
        _ name: TargetName,
        _ origin: OriginName?,
        _ copied: CopiedBodies,
        _ now: Timestamp
    ) throws(StoreError) -> Entrance<PinOutcome> {
        let place = sharing.sharedName(name.id)
        let found = try claimed(place.scope, place.id)
        let isHere = found.map { $0.hasEntry || $0.isTargeted } ?? false
        let row = isHere ? nil : try cacheIfAny?.rows.pinnable(place.scope, place.id, now: now)
        var size =
            row.map { $0.entry.rowSize(in: place.scope, isChunked: $0.isChunked) } ?? found?.size
            ?? 0
        // Its entities come with it.
        if row?.form != nil {
            size += try cache.answers.sizeOfReferred(by: RowKey(place.scope, place.id))
        }
        do throws(StoreError) {
            let uid = name.scope.scope.uid
            let replaced = found?.pinnedSize ?? 0
            try state.budget.checkRoom(for: size, place.scope, replacing: replaced, paidBy: uid)
        } catch {
            row?.giveBack(to: shared)
            return try tooLarge(name, row?.entry.origin ?? origin, error, now)
        }
        var base: NewEntry?
        if let row {
            if case .chunked(let body) = row.body {
                let entry = row.entry
                let needs = bodies.large(
                    body,
                    place,
                    entry,
                    to: .state,
                    as: .pin,
                    isLeased: true,
                    copied
                )
                if let needs { return .needs([needs]) }
            }
            defer { row.giveBack(to: shared) }
            base = try promotion.base(row, place, copied)
        }
        let isHidden = try hiding.isHidden(name.id, from: name.scope)
        let isHeld = !isHidden && (base != nil || found?.hasBytes == true)
        guard isHeld || origin != nil else { return .done(.miss) }
        do throws(StoreError) {
            let isNew = try state.keepers.keep(name, origin: origin, isHeld: isHeld, now: now)
            try state.keepers.promote(name.id, base, pinnedAt: now)
            if base != nil { try hiding.takeMarks(of: place) }
            claim(name.scope, name.id)
            try sharing.noteKeeper(name)
            try promotion.holdVariants(of: place)
            try promotion.fill(now: now)
            return .done(isHeld ? .held(isNew: isNew) : .waiting(isNew: isNew))
        } catch {
            if let base { try bodies.forget(base.body) }
            return try refusal(error)
        }
    }

    /// Says of a pin that what is there does not fit.
    private func tooLarge(
        _ name: TargetName,
        _ origin: OriginName?,
        _ error: StoreError,
        _ now: Timestamp
    ) throws(StoreError) -> Entrance<PinOutcome> {
        guard case .pinsFull = error else { throw error }
        let trouble = PinTrouble(problem: "pins-full", reason: error.message)
        let marked = try mark(name.scope, name.id, origin, now)
        guard case .done = marked else { return marked }
        try state.pins.setTrouble(name.scope, name.id, .tooLarge, trouble)
        return .done(.tooLarge(trouble))
    }

    /// Makes a pin that waits for its bytes, or is of those that are saved.
    private func mark(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ origin: OriginName?,
        _ now: Timestamp
    ) throws(StoreError) -> Entrance<PinOutcome> {
        do throws(StoreError) {
            let (hasBytes, isNew) = try state.pins.mark(scope, id, origin: origin, now: now)
            claim(scope, id)
            return .done(hasBytes ? .held(isNew: isNew) : .waiting(isNew: isNew))
        } catch {
            return try refusal(error)
        }
    }

    /// Saves a row of the cache as a pin; nil where its bytes are damaged, and it is gone.
    private func take(
        _ row: CachedRows.Takeable,
        _ scope: ScopeKey,
        isNew: Bool,
        _ copied: CopiedBodies,
        _ now: Timestamp
    ) throws(StoreError) -> Entrance<PinOutcome>? {
        let id = row.entry.id
        let name = TargetName(scope, id)
        var size = row.entry.rowSize(in: scope, isChunked: row.isChunked)
        // Its entities come with it.
        if row.form != nil { size += try cache.answers.sizeOfReferred(by: RowKey(scope, id)) }
        do throws(StoreError) {
            try state.budget.checkRoom(for: size, scope, id, as: .pin)
        } catch {
            row.giveBack(to: shared)
            return try tooLarge(name, row.entry.origin, error, now)
        }
        var new = NewEntry(scope: scope, entry: row.entry, body: row.body.new)
        new.form = row.form
        switch row.body {
        case .inline where row.form != nil: break
        case .inline(let bytes): new.body = try bodies.linkable(bytes, name, in: .state, as: .pin)
        case .chunked(let body):
            if let large = bodies.large(
                body,
                name,
                row.entry,
                to: .state,
                as: .pin,
                isLeased: true,
                copied
            ) {
                return .needs([large])
            }
            defer { row.giveBack(to: shared) }
            do throws(StoreError) {
                new.body = try bodies.linkable(body, name, in: .state, as: .pin, copied)
            } catch .badChunk {
                try cache.rows.removeQuietly(scope, id)
                return nil
            }
        }
        do throws(StoreError) {
            try state.rows.put(new, pinnedAt: now, isNews: false)
        } catch {
            try bodies.forget(new.body)
            return try refusal(error)
        }
        claim(scope, id)
        promotion.addGarbage([name])
        try promotion.holdVariants(of: name)
        try promotion.fill(now: now)
        return .done(.held(isNew: isNew))
    }

    /// Stores an entry and pins it in one; neither is done when there is no room.
    func putPinned(
        _ new: NewEntry,
        _ copied: CopiedBodies,
        now: Timestamp
    ) throws(StoreError) -> Entrance<PutReceipt> {
        let (scope, id) = (new.scope, new.entry.id)
        if let large = bodies.largeBody(of: new, to: .state, as: .pin, copied) {
            return .needs([large])
        }
        let found = try claimed(scope, id)
        var ready = new
        do throws(StoreError) {
            ready = try bodies.ready(new, in: .state, as: .pin, copied)
            ready.entry.revision = try revisions.next()
            var receipt = try state.rows.put(ready, pinnedAt: now)
            sharing.noteOwnEntry(found, TargetName(scope, id))
            if found?.hasEntry != true { try entries.noteReplaced(&receipt, scope, id) }
            claim(scope, id)
            promotion.addGarbage([TargetName(scope, id)])
            try promotion.holdVariants(of: TargetName(scope, id))
            try promotion.fill(now: now)
            try bodies.forget(new.body)
            return .done(receipt)
        } catch {
            try bodies.forget(ready.body)
            return try refusal(error)
        }
    }

    /// Takes a pin's mark away; false when it was not pinned.
    ///
    /// What was saved for it alone goes once the cache has it synced, in housekeeping.
    func unpin(
        _ scope: ScopeKey,
        _ id: EntryID,
        now: Timestamp
    ) throws(StoreError) -> Bool {
        guard let found = try claimed(scope, id), found.isPinned else { return false }
        guard !found.isLeftToCache else {
            try entries.unclaim(found, scope, id)
            return true
        }
        try state.pins.unpin(scope, id, found.goneStatus == nil ? nil : revisions.next())
        setUnpinned(scope, id)
        try sharing.removeIdleKeeper(TargetName(scope, id))
        return true
    }

    /// Takes the garbage of a claim out of `cache.db` that is about to be given up: else it would be
    /// read again where `cache.db` could not commit that it is gone.
    func hide(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        guard let cache = try cacheIfAny, let found = try claimed(scope, id), found.hasEntry else {
            return
        }
        try hiding.hideShared(found, scope, id)
        try cache.rows.removeQuietly(scope, id)
    }

    /// Takes what is pinned away with its bytes, or what is released, and leaves nothing in the cache;
    /// false when there was none, or it is targeted.
    func drop(
        _ scope: ScopeKey,
        _ id: EntryID,
        client: ClientTag?
    ) throws(StoreError) -> Bool {
        guard let found = try claimed(scope, id), !found.isTargeted else { return false }
        // Nobody's pin of a shared row goes with it.
        if found.isPinned, scope == shared.claims.sharedScope { return false }
        // What is pinned may need it.
        if !found.isPinned, try !state.rows.isFree(scope, id) { return false }
        try entries.unclaim(found, scope, id)
        guard found.hasEntry else {
            // Its entry was the cache's.
            if let cache = try cacheIfAny, let row = try cache.rows.find(scope, id).row {
                try cache.eviction.evict(row.key, .request, client)
            }
            return true
        }
        let event = Change.Event.evict(id, .request, client: client)
        try state.views.log(Change(try revisions.next(), scope.scope, event))
        try cacheIfAny?.rows.removeQuietly(scope, id)
        return true
    }

    /// An id is pinned from now on.
    private func claim(_ scope: ScopeKey, _ id: EntryID) {
        let index = shared.claims
        let (isNew, wasPinned) = (!index.covers(scope, id), index.place(scope, id)?.isPinned)
        index.insert(scope, id)
        index.setPinned(scope, id, true)
        onRollBack {
            index.setPinned(scope, id, wasPinned ?? false)
            if isNew { index.remove(scope, id) }
        }
    }

    /// An id is pinned no more, unless a later command of the group pins it again.
    func setUnpinned(_ scope: ScopeKey, _ id: EntryID) {
        let index = shared.claims
        guard index.place(scope, id)?.isPinned == true else { return }
        index.setPinned(scope, id, false)
        onRollBack { index.setPinned(scope, id, true) }
    }

    /// What is no failure of the writer, and was refused before anything was written.
    private func refusal<Value>(
        _ error: StoreError
    ) throws(StoreError) -> Entrance<Value> {
        switch error {
        case .pinsFull, .tooManyPins: return .refused(error)
        case _: throw error
        }
    }
}

extension Target.Body {
    /// As one that a row of either file can have; of one in chunks none.
    var new: NewBody {
        if case .inline(let bytes) = self { .inline(bytes) } else { .inline([]) }
    }
}

extension CachedRows.Takeable {
    var isChunked: Bool { if case .chunked = body { true } else { false } }
}
