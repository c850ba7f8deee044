import LarderModel
import LarderNormalize

struct CachedRows {
    let cache: CacheWriter

    struct Row {
        let key: RowKey
        let kind: EntryKind
        let revision: Revision
        let byteCount: Int
        let digest: Digest
        let body: Int64?
        let size: Int64
        let owner: Int64
        let lastUsed: Int64
        let isComplete: Bool
        let etag: String?
        let lastModified: String?
        /// The skeleton of a normalized answer, and the checksum of its template.
        let skeleton: Int64?
        let checksum: Int64?

        fileprivate init(_ row: SQLiteStatement, at key: RowKey, size: Int64) {
            var numbers = RowNumbers(row)
            (self.key, self.size) = (key, size)
            kind = EntryKind(rawValue: row.integer(EntryColumn.kind)) ?? .blob
            revision = numbers.revision(EntryColumn.rev)
            byteCount = numbers.byteCount(EntryColumn.bytes)
            digest = row.digest(EntryColumn.digestHigh, .digestLow)
            body = row.integerOrNil(EntryColumn.body)
            owner = row.integer(RecencyColumn.owner)
            lastUsed = row.integer(RecencyColumn.lastUsed)
            isComplete = row.isOfCompleteEntry
            etag = row.text(EntryColumn.etag)
            lastModified = row.text(EntryColumn.lastModified)
            skeleton = row.integerOrNil(EntryColumn.skeleton)
            checksum = row.integerOrNil(EntryColumn.checksum)
        }

        /// Whether the row has the bytes that an entry brings; a normalized one may show others by
        /// now.
        func matches(_ entry: Entry) -> Bool {
            kind == entry.kind && byteCount == entry.body.byteCount && digest == entry.body.digest
                && skeleton == nil && isComplete == entry.isComplete
        }
    }

    func find(_ scope: ScopeKey, _ id: EntryID, toPut: Bool = false) throws(StoreError) -> Row? {
        let key = RowKey(scope, id)
        let statement = cache.statements[.find]
        statement.bind(":key", key.number)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        guard statement.isText(EntryColumn.scope, scope.text),
            statement.isText(EntryColumn.id, id.text)
        else {
            if toPut { throw .keyTaken }
            return nil
        }
        let size = try cache.rowSize(statement, RecencyColumn.size)
        return Row(statement, at: key, size: size)
    }

    func read<Value>(
        _ key: RowKey,
        _ read: (borrowing EntryRow) -> Value?
    ) throws(StoreError) -> Value? {
        let statement = cache.statements[.entry]
        statement.bind(":key", key.number)
        defer { statement.reset() }
        return try statement.step() ? read(EntryRow(statement)) : nil
    }

    /// Stores an entry in place of the one under its id, and makes room for it.
    ///
    /// Equal bytes keep the old revision, because its readers have seen these bytes. They get a new
    /// one if the row was hidden from a user. `given` is a revision that the entry has already.
    func put(
        _ new: NewEntry,
        given: Revision? = nil,
        now: Timestamp
    ) throws(StoreError) -> PutReceipt {
        let old = try find(new.scope, new.entry.id, toPut: true)
        let key = RowKey(new.scope, new.entry.id)
        let uploaded = try cache.bodies.link(new.body, &cache.state.bodies)
        let size = new.entry.rowSize(in: new.scope, isChunked: uploaded != nil)
        try cache.room.checkSize(size, bodyBytes: new.entry.body.byteCount)
        let wasHidden =
            given == nil ? try cache.hiding.endHiding(key, of: new.scope, since: new.start) : false
        let isSame = !wasHidden && old.map { $0.matches(new.entry) } ?? false
        var entry = new.entry
        entry.revision =
            if let given { given } else if isSame, let old { old.revision } else {
                try cache.nextRevision()
            }
        if let old {
            try cache.answers.letGo(of: key, old.kind, body: old.body, skeleton: old.skeleton)
        }
        let (scope, body, isUse) = (new.scope, new.body, new.isUse)
        try write(entry, at: key, over: old, in: scope, body, size: size, isUse: isUse)
        // The upload has counted its chunks already.
        cache.state.totals.bytes -= uploaded ?? 0
        if new.hidesShared || given != nil {
            try cache.hiding.hideShared(new.name, olderThan: given)
        }
        if given == nil, !isSame { try cache.log.append(new.change(at: entry.revision)) }
        try cache.eviction.makeRoom(for: size, keeping: [key], now: now)
        return PutReceipt(revision: entry.revision, isNew: old == nil, isSame: isSame)
    }

    /// Writes a row in place of `old`, counts it, and notes the change for its watchers.
    ///
    /// `form` is the skeleton of a normalized answer and the checksum of its template. For `isUse`
    /// see ``NewEntry/isUse``.
    func write(
        _ entry: Entry,
        at key: RowKey,
        over old: Row?,
        in scope: ScopeKey,
        _ body: NewBody,
        form: (skeleton: Int64, checksum: Int64)? = nil,
        size: Int64,
        isUse: Bool = true
    ) throws(StoreError) {
        let row = cache.statements[.putEntry]
        row.bind(EntryColumn.key, key.number)
        row.bind(EntryColumn.scope, scope.text)
        row.bind(EntryColumn.id, entry.id.text)
        row.bind(entry, body)
        row.bind(EntryColumn.skeleton, form?.skeleton)
        row.bind(EntryColumn.checksum, form?.checksum)
        try row.run()
        let recency = cache.statements[.putRecency]
        recency.bind(EntryColumn.key, key.number)
        let lastUsed = isUse ? nil : old?.lastUsed
        recency.bind(RecencyColumn.lastUsed, lastUsed ?? cache.shared.clock.tick())
        recency.bind(RecencyColumn.size, size)
        recency.bind(RecencyColumn.storedAt, entry.storedAt.milliseconds)
        let expiry = entry.kind == .blob ? entry.freshUntil : nil
        recency.bind(RecencyColumn.expiresAt, expiry?.milliseconds)
        recency.bind(RecencyColumn.owner, scope.owner)
        try recency.run()
        cache.noteChange(of: key)
        // A revision that the row had before may be damaged, because no checksum covers it.
        if entry.revision != old?.revision {
            cache.state.highestRevision = max(cache.state.highestRevision, entry.revision)
        }
        if let old { cache.count(-old.size, of: old.owner) }
        cache.count(size, of: scope.owner)
        cache.state.totals.entries += old == nil ? 1 : 0
    }

    /// Confirms a row's bytes without a new body, as a 304 does, if it still has `validators`.
    func refresh(
        _ confirmed: Entry,
        in scope: ScopeKey,
        isUse: Bool
    ) throws(StoreError) -> RefreshOutcome {
        guard let found = try find(scope, confirmed.id), found.kind == .fetched,
            found.etag == confirmed.etag, found.lastModified == confirmed.lastModified,
            found.digest == confirmed.body.digest
        else { return .gone }
        var entry = confirmed
        entry.revision = found.revision
        let statement = cache.statements[.refreshEntry]
        statement.bind(EntryColumn.key, found.key.number)
        statement.bind(confirmed: entry)
        try statement.run()
        // A normalized one counts its template, which stays.
        let size =
            found.skeleton == nil
            ? entry.rowSize(in: scope, isChunked: found.body != nil) : found.size
        let stored = entry.storedAt.milliseconds
        let used = isUse ? cache.shared.clock.tick() : found.lastUsed
        let recency = cache.statements[.refreshRecency]
        recency.bind((":key", found.key.number), (":size", size))
        try recency.run((":stored_at", stored), (":last_used", used))
        cache.noteChange(of: found.key)
        cache.count(size - found.size, of: found.owner)
        try cache.eviction.makeRoom(for: size, keeping: [found.key], now: entry.storedAt)
        return .refreshed(entry)
    }

    struct CachedCopy: Sendable {
        let entry: Entry
        /// A body in chunks is leased: it stays until the owner of this copy gives it back.
        let body: Target.Body
        /// The form of a normalized answer, whose body is its template.
        var form: AnswerForm?
        var shown: RebuiltEntry?

        /// Lets a leased body go, on the writer's thread; one of `state.db` is not leased.
        func release(to shared: SharedCacheState) {
            guard case .chunked(let chunked) = body, chunked.file == .cache else { return }
            shared.leases.release(chunked.number)
        }
    }

    /// An id's row of any kind, if it can be the base of a target.
    ///
    /// An expired or damaged row is removed immediately, unless it is an entity or a normalized
    /// answer.
    func base(_ scope: ScopeKey, _ id: EntryID, now: Timestamp) throws(StoreError) -> CachedCopy? {
        guard let found = try find(scope, id) else { return nil }
        if let row = try takeable(found, in: scope, now: now) { return row }
        // A normalized answer may show missing entities again later.
        if found.skeleton == nil, !id.isEntity { try cache.eviction.remove(found.key) }
        return nil
    }

    /// An id's row; nil for a missing, expired or damaged one.
    ///
    /// With `toPin` only a row that can be pinned: not a tombstone, an entity or a URL of variants.
    func takeable(
        _ scope: ScopeKey,
        _ id: EntryID,
        toPin: Bool = false,
        now: Timestamp
    ) throws(StoreError) -> CachedCopy? {
        guard let found = try find(scope, id),
            !toPin || found.kind == .blob || found.kind == .fetched
        else { return nil }
        return try takeable(found, in: scope, now: now)
    }

    private func takeable(
        _ found: Row,
        in scope: ScopeKey,
        now: Timestamp
    ) throws(StoreError) -> CachedCopy? {
        if found.skeleton != nil, let row = try read(found.key, { $0.normalized(in: scope) }) {
            return try takeable(row)
        }
        return try read(found.key) { row in
            guard let entry = row.entry(), !entry.isExpired(at: now) else { return nil }
            if let chunked = row.chunkedBody {
                cache.shared.leases.take(chunked.number)
                return CachedCopy(entry: entry, body: .chunked(chunked))
            }
            let bytes = row.withBody { Array($0) }
            let isSound = bytes.withUnsafeBytes { Checksum.digest($0) } == entry.body.digest
            return isSound ? CachedCopy(entry: entry, body: .inline(bytes)) : nil
        }
    }

    /// A normalized answer with its template, if every entity that it shows exists.
    private func takeable(_ row: NormalizedRow) throws(StoreError) -> CachedCopy? {
        switch try cache.answers.rebuild(row) {
        case .shown(let shown):
            guard shown.answer.isComplete, let form = try cache.references.form(of: row) else {
                return nil
            }
            let body = Target.Body.inline(row.template)
            return CachedCopy(entry: row.entry, body: body, form: form, shown: shown)
        case .deleted(let tombstone, _, _): return CachedCopy(entry: tombstone, body: .inline([]))
        case .missing: return nil
        }
    }

    /// The variants of a page, and the row that lists their headers.
    func variants(
        _ page: VariantPage,
        in scope: ScopeKey
    ) throws(StoreError) -> [(id: EntryID, kind: EntryKind?)] {
        try page.bind(to: cache.statements[.variants], scope).all { row in
            row.entryID("id").map { ($0, EntryKind(rawValue: row.integer("kind"))) }
        }
    }

    func removeQuietly(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        guard let found = try find(scope, id) else { return }
        try cache.eviction.remove(found.key)
    }

    /// Gives an unchanged row the revision of a step.
    ///
    /// Its users have seen other content of a later revision than the row's own.
    func raise(_ scope: ScopeKey, _ id: EntryID, to step: Revision) throws(StoreError) {
        guard let found = try find(scope, id) else { return }
        let raising = "UPDATE entry SET rev = max(rev, :rev) WHERE key = :key"
        let statement = try cache.connection.statement(raising)
        try statement.run((":key", found.key.number), (":rev", step.number))
        // The user has seen later content than a shared row that was stored in between.
        try cache.hiding.hideShared(TargetName(scope, id))
        cache.state.highestRevision = max(cache.state.highestRevision, step)
        cache.noteChange(of: found.key)
    }

    /// Runs a statement that marks an answer: stale, or without validators.
    ///
    /// With `digest` only if the body of the answer has it.
    func run(
        _ statement: CacheStatement,
        _ name: TargetName,
        of digest: Digest? = nil
    ) throws(StoreError) {
        guard let found = try find(name.scope, name.id), found.kind == .fetched,
            digest == nil || digest == found.digest
        else { return }
        try cache.statements[statement].run((":key", found.key.number))
        cache.noteChange(of: found.key)
    }
}
