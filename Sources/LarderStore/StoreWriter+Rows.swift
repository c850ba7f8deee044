import LarderModel

/// Rows of both files: each command stores in `cache.db`, and of a claimed row in `state.db` first.
///
/// Terms: an id is *claimed* while ``ClaimIndex`` has it: `state.db` has a row of it, as it is *pinned*,
/// or *targeted* by unsettled changes, or as neither is true any more but its row is not synced in
/// `cache.db` yet: then it is *released*. Its row there is *saved*: the last word of its origin, or of
/// the client. What `cache.db` has under the id meanwhile is *garbage*, which maintenance removes. Entities
/// are claimed as long as a claimed row refers to them, and variants with their URL. A *keeper* is a claimed
/// row of a user that has no entry, as its user sees the shared row under its id, which is claimed by it.
///
/// Invariants:
/// 1. What is said of a claimed row is saved, synced, before anybody hears of it.
/// 2. No garbage is read: what is claimed is read from `state.db`, and from `cache.db` only where
///    nothing is saved of it (5).
/// 3. What targets an id is read with its base from `state.db`, in one transaction.
/// 4. The index has an id from before the commit that makes its row until after that which takes it
///    away; and it is targeted there until after the commit of what the change came to.
/// 5. A pin of which nothing is saved leaves its id to the cache; a target of which nothing is saved
///    has no row there: nothing is known of it.
/// 6. The accounted size of what is pinned and not targeted is never let grow beyond `pins.max_bytes`.
///    What is targeted takes what the server says.
/// 7. A shared row is claimed while it has keepers, and says what they say of it together.
/// 8. A released row leaves `state.db` once it is written to `cache.db`, and synced there.
/// 9. The index has what dead letters target from before the commit by which one dies until after that
///    by which it is dropped or back in the queue.
extension StoreWriter {
    /// What is saved under an id; nil where it is not claimed.
    func claimed(
        _ scope: ScopeKey,
        _ id: EntryID
    ) throws(StoreError) -> StateWriter.FoundClaim? {
        shared.claims.covers(scope, id) ? try state.find(scope, id) : nil
    }

    // MARK: Garbage

    /// What the cache has under claimed ids is read no more once the open group is committed.
    func addGarbage(_ names: [TargetName]) {
        let keys = names.map { RowKey($0.scope, $0.id) }
        afterCommit { [index = shared.claims] in index.addGarbage(keys) }
    }

    /// Takes rows of claimed ids out of `cache.db`: nobody reads them there.
    func removeGarbage(_ keys: [RowKey]) throws(StoreError) {
        for key in keys where shared.claims.covers(key) {
            guard let cache = try cacheIfAny else { return }
            try cache.remove(key)
        }
        afterCacheCommit { [index = shared.claims] in index.removeGarbage(keys) }
    }

    // MARK: Rows that come with others

    /// Fills the rows that a command has made for what others refer to, with what the cache has of them;
    /// where it has nothing, nothing is known of them.
    func fill(now: Timestamp) throws(StoreError) {
        guard isStateTouched else { return }
        while let name = try state.takeUnfilled() {
            let (scope, id) = (name.scope, name.id)
            if !shared.claims.covers(scope, id) {
                shared.claims.insert(scope, id)
                onRollBack { [index = shared.claims] in index.remove(scope, id) }
            }
            addGarbage([name])
            guard let row = try state.find(scope, id), !row.hasEntry,
                let taken = try cacheIfAny?.copy(of: scope, id, now: now)
            else { continue }
            defer { taken.giveBack(to: shared) }
            guard let new = try base(taken, name, [:]) else { continue }
            try state.write(
                new.entry,
                new.body,
                form: new.form,
                size: new.rowSize,
                to: row,
                in: scope
            )
            try takeMarks(of: name)
        }
    }

    /// Has saved answers be normalized that earlier versions saved whole, as far as the cache has their
    /// entities; and variants be with their URL.
    ///
    /// To be called once, before anybody reads.
    func takeAlong(now: Timestamp) throws(StoreError) {
        for row in try state.reader.allRows() where !row.keepsShared {
            let name = TargetName(shared.key(for: row.scope), row.id)
            if row.isPinned || row.isTargeted {
                try holdVariants(of: name, isInPins: row.isPinned && !row.isTargeted)
            }
            guard row.kind == .fetched, let saved = try state.entry(name.scope, name.id),
                let entry = saved.entry,
                let taken = try cacheIfAny?.copy(of: name.scope, name.id, now: now)
            else { continue }
            defer { taken.giveBack(to: shared) }
            guard taken.form != nil, taken.entry.body == entry.body,
                var new = try base(taken, name, [:])
            else { continue }
            new.entry = entry
            new.entry.revision = max(entry.revision, taken.entry.revision)
            try state.write(
                new.entry,
                new.body,
                form: new.form,
                size: new.rowSize,
                to: saved.claim,
                in: name.scope
            )
        }
        try fill(now: now)
    }

    /// Has the variants of a URL be where its own row is.
    func holdVariants(of name: TargetName, isInPins: Bool = false) throws(StoreError) {
        guard let prefix = name.id.variantPrefix, let cache = try cacheIfAny else { return }
        for id in try cache.ids(in: name.scope, prefix: prefix) {
            try state.makeRow(name.scope, id, isHeld: true, isInPins: isInPins)
        }
    }

    /// What is saved under an id, or is from now on as it is a variant of a URL that is claimed; nil for
    /// what is the cache's.
    private func place(
        of new: NewEntry,
        now: Timestamp
    ) throws(StoreError) -> StateWriter.FoundClaim? {
        let (scope, id) = (new.scope, new.entry.id)
        if let found = try claimed(scope, id) { return found }
        guard !shared.claims.isEmpty, let url = id.urlOfVariant,
            let place = shared.claims.place(scope, url), !place.isReleased
        else { return nil }
        let isInPins = place.isPinned && place.targets == 0
        try state.makeRow(scope, id, isHeld: true, isInPins: isInPins)
        try fill(now: now)
        return try claimed(scope, id)
    }

    // MARK: Entries

    /// Stores an entry: in its row, and where it is claimed in what is saved of it.
    ///
    /// `step` is the revision of the step that it is a part of, if that has one.
    func put(
        _ new: NewEntry,
        fence: AnswerFence?,
        _ copied: CopiedBodies,
        step: Revision? = nil,
        now: Timestamp
    ) throws(StoreError) -> Entrance<PutReceipt> {
        if let receipt = try putUnclaimed(new, fence: fence, now: now) {
            return .done(receipt)
        }
        let (scope, id) = (new.scope, new.entry.id)
        var found = try place(of: new, now: now)
        if let row = found { found = try refuseForPins(new, row) }
        let isKeptOut = fence?.keepsOut(scope, id) ?? false
        let destination = isKeptOut ? nil : try self.destination(of: new, found)
        let isRefused = destination?.refusal != nil && found?.hasBytes == true
        if let destination, !isRefused,
            let large = largeBody(of: new, to: destination.file, as: .answer, copied)
        {
            return .needs([large])
        }
        defer { try? forget(new.body) }
        guard let destination else {
            let revision =
                if let found, found.hasEntry { found.revision } else { try revisions.next() }
            return .done(PutReceipt(revision: revision, isNew: false, isSame: true))
        }
        if let found, let error = destination.refusal {
            try tellRefusal(of: new, found, error)
            if isRefused { return .refused(error) }
        }
        if found?.isPinned == true, new.entry.kind == .tombstone, scope == shared.claims.sharedScope
        {
            let needs = try keepForPins(new, copied)
            guard needs.isEmpty else { return .needs(needs) }
            found = try state.find(scope, id)
        }
        let ready = try ready(new, in: destination.file, as: .answer, copied)
        if found?.isLeftToCache == true, new.entry.kind == .tombstone {
            let trouble = PinTrouble(deleted: new.entry.status)
            try state.setTrouble(scope, id, .failed, trouble)
        }
        guard let found, destination.file == .state else {
            if found != nil { shared.claims.removeGarbage([RowKey(scope, id)]) }
            let receipt = try cache.put(ready, now: now)
            if new.hidesShared { try hideSaved(id, from: scope) }
            return .done(receipt)
        }
        let viewers = try viewers(of: scope, id)
        let receipt = try put(ready, into: found, step)
        if new.hidesShared { try hideShared(id, from: scope) }
        try answered(scope, id, viewers, at: receipt.isSame ? nil : receipt.revision, now: now)
        return .done(receipt)
    }

    /// Stores an entry that concerns the cache alone; nil, and nothing done, where it does not.
    func putUnclaimed(
        _ new: NewEntry,
        fence: AnswerFence?,
        now: Timestamp
    ) throws(StoreError) -> PutReceipt? {
        let (scope, id) = (new.scope, new.entry.id)
        guard new.isLinkableInCache, !shared.claims.covers(scope, id),
            shared.claims.isEmpty || id.urlOfVariant == nil,
            fence?.covers(scope, id) != true
        else { return nil }
        let receipt = try cache.put(new, now: now)
        if new.hidesShared { try hideSaved(id, from: scope) }
        return receipt
    }

    /// Where an entry is to be stored, and why it is not saved: what has bytes stays as it is then.
    func destination(
        of new: NewEntry,
        _ found: StateWriter.FoundClaim?
    ) throws(StoreError) -> (file: BodyFile, refusal: StoreError?) {
        guard let found else { return (.cache, nil) }
        guard new.entry.kind != .tombstone else {
            return (found.isLeftToCache ? .cache : .state, nil)
        }
        guard StateWriter.hasToFit(found, as: .answer) else { return (.state, nil) }
        let isChunked = new.body.isUploaded || new.entry.body.byteCount > Limits.inlineBodyBytesMax
        let size = new.entry.rowSize(in: new.scope, isChunked: isChunked)
        do throws(StoreError) {
            let (replaced, payer) = (found.pinnedSize, found.payer)
            try state.checkRoom(for: size, new.scope, replacing: replaced, paidBy: payer)
            return (.state, nil)
        } catch {
            guard case .pinsFull = error else { throw error }
            return (.cache, error)
        }
    }

    /// Says of a pin that there is no room for what has come.
    private func tellRefusal(
        of new: NewEntry,
        _ found: StateWriter.FoundClaim,
        _ error: StoreError
    ) throws(StoreError) {
        let (scope, id) = (new.scope, new.entry.id)
        if !found.hasBytes || new.entry.kind == .fetched {
            let trouble = PinTrouble(problem: "pins-full", reason: error.message)
            try state.setTrouble(scope, id, .tooLarge, trouble)
        }
        // It said that there is nothing.
        if !found.hasBytes, found.hasEntry, let row = try state.find(scope, id) {
            try state.clear(row, scope, id)
        }
    }

    /// Stores an entry in what is saved of its id.
    private func put(
        _ new: NewEntry,
        into found: StateWriter.FoundClaim,
        _ step: Revision? = nil
    ) throws(StoreError) -> PutReceipt {
        let (scope, id) = (new.scope, new.entry.id)
        if !found.hasEntry { try takeMarks(of: TargetName(scope, id)) }
        let wasHidden = try state.endHiding(found, of: scope, since: new.start)
        guard new.entry.kind != .tombstone else { return try bury(new) }
        var new = new
        let hasBytes = try state.matches(found, new)
        let isSame = !wasHidden && found.hasEntry && found.goneStatus == nil && hasBytes
        if isSame {
            new.entry.revision = found.revision
        } else {
            new.entry.revision = if let step { step } else { try revisions.next() }
        }
        var receipt = try state.put(new, wasHidden: wasHidden)
        noteOwnEntry(found, TargetName(scope, id))
        if !found.hasEntry { try noteReplaced(&receipt, scope, id) }
        return receipt
    }

    /// What the cache had under a pin without an entry is replaced, and not new.
    func noteReplaced(
        _ receipt: inout PutReceipt,
        _ scope: ScopeKey,
        _ id: EntryID
    ) throws(StoreError) {
        guard let row = try cacheIfAny?.find(scope, id).row, row.kind != .tombstone else { return }
        receipt.isNew = false
    }

    /// The origin has deleted it: the bytes of a pin stay, a base is a tombstone from then on.
    private func bury(_ new: NewEntry) throws(StoreError) -> PutReceipt {
        var tombstone = new
        tombstone.entry.revision = try revisions.next()
        let revision = tombstone.entry.revision
        guard try !state.bury(tombstone, revision) else {
            return PutReceipt(revision: revision, isNew: false, isSame: false)
        }
        return try state.put(tombstone)
    }

    /// Confirms the bytes that stand under an id.
    func refresh(
        _ confirmed: Entry,
        in scope: ScopeKey,
        fence: AnswerFence?,
        now: Timestamp
    ) throws(StoreError) -> RefreshOutcome {
        let id = confirmed.id
        // A write was confirmed since it was asked for: what was confirmed then is not what is now
        // (P-06).
        guard fence?.covers(scope, id) != true else { return .gone }
        guard shared.claims.covers(scope, id) else {
            return try cache.refresh(confirmed, in: scope)
        }
        guard let outcome = try state.refresh(confirmed, in: scope) else {
            return try cache.refresh(confirmed, in: scope)
        }
        if case .refreshed = outcome {
            try answered(scope, id, try viewers(of: scope, id), at: nil, now: now)
        }
        return outcome
    }

    /// Takes an id's row away and leaves nothing; what it was.
    ///
    /// Refused for what is pinned or targeted.
    func delete(
        _ scope: ScopeKey,
        _ id: EntryID,
        client: ClientTag?
    ) throws(StoreError) -> Entrance<EntryKind?> {
        guard let found = try claimed(scope, id) else {
            return .done(try cache.delete(scope, id, client: client))
        }
        if found.isTargeted { return .refused(.targeted) }
        let isFree = try state.isFree(scope, id)
        if found.isPinned || !isFree { return .refused(.pinned) }
        let event: Change.Event? =
            switch found.kind {
            case nil, .variants: nil
            case .blob: .delete(id, ChangeCause(.client, client: client))
            case .fetched, .tombstone, .entity: .evict(id, .request, client: client)
            }
        try unclaim(found, scope, id)
        guard let event else {
            return .done(
                found.kind == nil ? try cache.delete(scope, id, client: client) : found.kind
            )
        }
        try state.log(Change(try revisions.next(), scope.scope, event))
        try cacheIfAny?.removeQuietly(scope, id)
        return .done(found.kind)
    }

    /// Takes what is saved of an id away; what the cache says of it is the caller's.
    func unclaim(
        _ found: StateWriter.FoundClaim,
        _ scope: ScopeKey,
        _ id: EntryID,
        isCounted: Bool = true
    ) throws(StoreError) {
        try hideShared(found, scope, id)
        try state.remove(found, scope, id)
        if found.keepsShared, isCounted { try state.countKeepers(of: id) }
        setUnpinned(scope, id)
        let index = shared.claims
        index.setGivenUp(scope, id, true)
        onRollBack { index.setGivenUp(scope, id, false) }
        afterCommit { index.removeGivenUp(scope, id) }
    }

    /// Has rows say from a step of their own on what they say, and tells it to those who watch them.
    ///
    /// What has no row is told all the same.
    func renew(_ rows: [RowNews]) throws(StoreError) {
        let revision = try revisions.next()
        var cached: [Change] = []
        for row in rows {
            let change = Change(revision, row.viewer, row.event)
            if let found = try claimed(row.place, row.id) {
                try state.setTargeted(found.isTargeted, found, row.place, revision)
                try state.noteChange(of: row.place, row.id)
                try state.log(change)
            } else {
                try cache.raise(row.place, row.id, to: revision)
                try hideSaved(row.id, from: row.place)
                cached.append(change)
            }
        }
        if !cached.isEmpty { try cache.log(together: cached) }
    }
}
