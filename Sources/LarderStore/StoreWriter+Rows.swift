import LarderModel

/// Rows of both files: each command stores in `cache.db`, and of a claimed row in `state.db` first.
///
/// Terms: an id is *claimed* while ``ClaimIndex`` has it: `state.db` has a row of it, as it is *pinned*,
/// or *targeted* by unsettled changes, or as neither is true any more but its row is not synced in
/// `cache.db` yet: then it is *released*. Its row there is *saved*: the last word of its origin, or of
/// the client. `cache.db` *shows* it: it says the same, as a whole or as a head whose body stands in
/// `state.db` alone; where it may say something older the row is *behind*. A *copy* is a claimed row
/// that was taken from the shared row under its id; `cache.db` has none of it.
///
/// Invariants:
/// 1. What is said of a claimed row is saved, synced, before anybody hears of it.
/// 2. A row of `cache.db` that is not behind says what is saved of it, or is not there.
/// 3. What targets an id is read with its base from `state.db`, in one transaction; so is what is
///    behind, and a copy. Everything else is read from `cache.db`, and from `state.db` where that has
///    no more than its head, or nothing.
/// 4. The index has an id from before the commit that makes its row until after that which takes it
///    away; and it is targeted there until after the commit that shows what the change came to.
/// 5. A pin of which nothing is saved leaves its id to the cache; a target of which nothing is saved
///    has no row there: nothing is known of it.
/// 6. The accounted size of what is pinned and not targeted is never let grow beyond `pins.max_bytes`.
///    What is targeted takes what the server says.
/// 7. What is put into a shared row goes into every copy of it in the same command, but for one that
///    has no room for it.
/// 8. A released row leaves `state.db` once what `cache.db` shows of it is synced there.
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

    // MARK: Showing

    /// Has `cache.db` say what is saved of a row.
    ///
    /// What it has no room for as a whole it shows as a head.
    func show(_ scope: ScopeKey, _ id: EntryID, now: Timestamp) throws(StoreError) {
        let index = shared.claims
        guard !index.isCopy(scope, id) else { return }
        noteShown(scope, id)
        guard let cache = try cacheIfAny else { return index.setBehind(scope, id, true) }
        guard let saved = try state.entry(scope, id), let entry = saved.entry else {
            if try state.find(scope, id)?.isLeftToCache == false {
                try cache.removeQuietly(scope, id)
            }
            return
        }
        do throws(StoreError) {
            if let name = id.entity {
                return try cache.attempt(saved.inline.count) { () throws(StoreError) in
                    try cache.show(name, entry, saved.inline, in: scope)
                }
            }
        } catch .noRoom, .keyTaken {
            return try cache.removeQuietly(scope, id)
        }
        if try cache.showNormalized(entry, scope) { return }
        if try cache.hasNormalized(entry, shared.key(for: .shared)) {
            // With its entities as they are now it is shown by that.
            return try cache.removeQuietly(scope, id)
        }
        let others = index.shownBytes(without: scope, id)
        let isHead =
            saved.chunked != nil
            || others + Int64(saved.inline.count) > cache.state.totals.budget / 2
        try cache.show(entry, isHead ? nil : saved.inline, in: scope, now: now)
        afterCacheCommit {
            index.setShown(scope, id, isHead ? 0 : Int64(saved.inline.count))
        }
    }

    /// Has `cache.db` say from a step on what it says of a claimed row.
    func raise(_ scope: ScopeKey, _ id: EntryID, to step: Revision) throws(StoreError) {
        let index = shared.claims
        guard !index.isCopy(scope, id) else { return }
        noteShown(scope, id)
        if let cache = try cacheIfAny { return try cache.raise(scope, id, to: step) }
        index.setBehind(scope, id, true)
    }

    /// Has `cache.db` say of rows what is saved of them, where it may say something older.
    func showAgain(_ names: [TargetName], now: Timestamp) throws(StoreError) {
        let index = shared.claims
        for name in names where index.place(name.scope, name.id)?.isBehind == true {
            if try isShown(name) {
                try countShown(name)
            } else {
                try show(name.scope, name.id, now: now)
            }
            afterCacheCommit { index.setBehind(name.scope, name.id, false) }
        }
    }

    /// Remembers what a row's bytes take in `cache.db`, which shows it.
    func countShown(_ name: TargetName) throws(StoreError) {
        guard let row = try cacheIfAny?.find(name.scope, name.id).row, !row.isHead else { return }
        let bytes = Int64(row.byteCount)
        afterCacheCommit { [index = shared.claims] in index.setShown(name.scope, name.id, bytes) }
    }

    /// Whether `cache.db` says what is saved of a row.
    func isShown(_ name: TargetName) throws(StoreError) -> Bool {
        guard let saved = try state.find(name.scope, name.id), saved.hasEntry,
            let row = try cache.find(name.scope, name.id).row
        else { return false }
        return row.kind == saved.kind && row.revision == saved.revision
            && row.digest == saved.digest && row.byteCount == saved.byteCount
    }

    // MARK: Entries

    /// Stores an entry: in its row, in the copies of a shared one, and where it is claimed in what is
    /// saved of it.
    ///
    /// With `isOwn` false it goes into the copies only; with `isShown` false the caller has `cache.db`
    /// show it.
    func put(
        _ new: NewEntry,
        fence: AnswerFence?,
        _ copied: CopiedBodies,
        isOwn: Bool = true,
        isShown: Bool = true,
        now: Timestamp
    ) throws(StoreError) -> Entrance<PutReceipt> {
        if isOwn, let receipt = try putUnclaimed(new, fence: fence, now: now) {
            return .done(receipt)
        }
        let (scope, id) = (new.scope, new.entry.id)
        let found = try claimed(scope, id)
        var places: [(new: NewEntry, row: StateWriter.FoundClaim)] = []
        for follower in shared.claims.followers(scope, id) {
            guard fence?.keepsOut(follower, id) != true,
                let row = try state.find(follower, id)
            else { continue }
            var copy = new
            copy.scope = follower
            places.append((copy, row))
        }
        let isKeptOut = fence?.keepsOut(scope, id) ?? false
        let destination = isOwn && !isKeptOut ? try self.destination(of: new, found) : nil
        var needs = places.compactMap { place in
            largeBody(of: place.new, to: .state, as: .base, isCopied: true, copied)
        }
        let isRefused = destination?.refusal != nil && found?.hasBytes == true
        if let destination, !isRefused,
            let large = largeBody(of: new, to: destination.file, as: .answer, copied)
        {
            needs.append(large)
        }
        guard needs.isEmpty else { return .needs(needs) }
        for place in places { try put(place.new, intoCopy: place.row, copied, now) }
        defer { if isOwn || isKeptOut { try? forget(new.body) } }
        guard let destination else {
            let revision =
                if let found, found.hasEntry { found.revision } else { try revisions.next() }
            return .done(PutReceipt(revision: revision, isNew: false, isSame: true))
        }
        if let found, let error = destination.refusal {
            try tellRefusal(of: new, found, error)
            if isRefused { return .refused(error) }
        }
        let ready = try ready(new, in: destination.file, as: .answer, copied)
        if found?.isLeftToCache == true, new.entry.kind == .tombstone {
            let trouble = PinTrouble(deleted: new.entry.status)
            try state.setTrouble(scope, id, .failed, trouble)
        }
        guard let found, destination.file == .state else {
            return .done(try cache.put(ready, now: now))
        }
        return .done(try put(ready, into: found, isShown: isShown, now))
    }

    /// Stores an entry that concerns the cache alone; nil, and nothing done, where it does not.
    func putUnclaimed(
        _ new: NewEntry,
        fence: AnswerFence?,
        now: Timestamp
    ) throws(StoreError) -> PutReceipt? {
        let (scope, id) = (new.scope, new.entry.id)
        guard new.isLinkableInCache, !shared.claims.concerns(scope, id),
            fence?.covers(scope, id) != true
        else { return nil }
        return try cache.put(new, now: now)
    }

    /// Where an entry is to be stored, and why it is not saved: what has bytes stays as it is then.
    private func destination(
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
            try state.checkRoom(for: size, new.scope, replacing: found.pinnedSize)
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

    /// One that cannot take it stays as it is: it is one user's, and keeps it from nobody else.
    private func put(
        _ copy: NewEntry,
        intoCopy found: StateWriter.FoundClaim,
        _ copied: CopiedBodies,
        _ now: Timestamp
    ) throws(StoreError) {
        let ready: NewEntry
        do throws(StoreError) {
            ready = try self.ready(copy, in: .state, as: .base, isCopied: true, copied)
        } catch .badChunk, .pinsFull {
            return
        }
        do throws(StoreError) {
            _ = try put(ready, into: found, isShown: false, now)
        } catch .pinsFull {
            try forget(ready.body)
        }
    }

    /// Stores an entry in what is saved of its id, and shows it.
    private func put(
        _ new: NewEntry,
        into found: StateWriter.FoundClaim,
        isShown: Bool,
        _ now: Timestamp
    ) throws(StoreError) -> PutReceipt {
        let (scope, id) = (new.scope, new.entry.id)
        guard new.entry.kind != .tombstone else { return try bury(new, found, now) }
        var new = new
        let isSame = found.hasEntry && found.goneStatus == nil && found.matches(new.entry)
        new.entry.revision = isSame ? found.revision : try revisions.next()
        var receipt = try state.put(new)
        if !found.hasEntry { try noteReplaced(&receipt, scope, id) }
        if isShown { try show(scope, id, now: now) } else { noteShown(scope, id) }
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
    private func bury(
        _ new: NewEntry,
        _ found: StateWriter.FoundClaim,
        _ now: Timestamp
    ) throws(StoreError) -> PutReceipt {
        let (scope, id) = (new.scope, new.entry.id)
        var tombstone = new
        tombstone.entry.revision = try revisions.next()
        let revision = tombstone.entry.revision
        guard try !state.bury(tombstone, revision) else {
            return PutReceipt(revision: revision, isNew: false, isSame: false)
        }
        let receipt = try state.put(tombstone)
        try show(scope, id, now: now)
        return receipt
    }

    /// Confirms the bytes that stand under an id, and those of the copies of a shared row.
    func refresh(
        _ confirmed: Entry,
        in scope: ScopeKey,
        fence: AnswerFence?
    ) throws(StoreError) -> RefreshOutcome {
        let id = confirmed.id
        // A write was confirmed since it was asked for: what was confirmed then is not what is now
        // (P-06).
        guard fence?.covers(scope, id) != true else { return .gone }
        for follower in shared.claims.followers(scope, id) {
            do throws(StoreError) {
                _ = try state.refresh(confirmed, in: follower)
            } catch .pinsFull {
            }
        }
        guard shared.claims.covers(scope, id) else {
            return try cache.refresh(confirmed, in: scope)
        }
        guard let outcome = try state.refresh(confirmed, in: scope) else {
            return try cache.refresh(confirmed, in: scope)
        }
        guard case .refreshed = outcome else { return outcome }
        noteShown(scope, id)
        let shown = try cacheIfAny?.refresh(confirmed, in: scope)
        if case .refreshed? = shown { return outcome }
        try show(scope, id, now: confirmed.storedAt)
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
        if found.isPinned { return .refused(.pinned) }
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
        _ id: EntryID
    ) throws(StoreError) {
        try state.remove(found, scope, id)
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
                try raise(row.place, row.id, to: revision)
            } else {
                try cache.raise(row.place, row.id, to: revision)
                cached.append(change)
            }
        }
        if !cached.isEmpty { try cache.log(together: cached) }
    }
}
