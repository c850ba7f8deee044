import LarderModel
import LarderNormalize

extension CachedRows {
    struct CachedCopy: Sendable {
        let entry: Entry
        /// One in chunks is leased: it stays until whoever got this gives it back.
        let body: Target.Body
        /// Of a normalized answer, whose body is its template.
        var form: AnswerForm?
        var shown: RebuiltEntry?

        /// Lets a leased body go, on the writer's thread; one of `state.db` is not leased.
        func giveBack(to shared: SharedCacheState) {
            guard case .chunked(let chunked) = body, chunked.file == .cache else { return }
            shared.leases.giveBack(chunked.number)
        }
    }

    /// An id's row of any kind, if it can be the base of a target; one that cannot, as it has
    /// expired or is damaged, goes at once.
    func base(_ scope: ScopeKey, _ id: EntryID, now: Timestamp) throws(StoreError) -> CachedCopy? {
        guard let found = try find(scope, id) else { return nil }
        if let row = try takeable(found, in: scope, now: now) { return row }
        // A normalized one may show again what is missing in it now.
        if found.skeleton == nil, !id.isEntity { try cache.eviction.remove(found.key) }
        return nil
    }

    /// An id's row, `toPin` one that can be pinned: no tombstone, entity or URL of variants; nil
    /// for none, an expired or a damaged one.
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

    /// A normalized answer with its template, if all that it shows is there.
    private func takeable(_ row: NormalizedRow) throws(StoreError) -> CachedCopy? {
        switch try cache.answers.rebuild(row) {
        case .shown(let shown):
            guard shown.answer.isComplete, let origin = row.entry.origin,
                let skeleton = try cache.references.skeleton(row.skeleton),
                let template = try? Template(row.template, skeleton)
            else { return nil }
            var taken = CachedCopy(entry: row.entry, body: .inline(row.template))
            taken.form = AnswerForm(template, skeleton, of: origin)
            taken.shown = shown
            return taken
        case .deleted(let tombstone, _, _): return CachedCopy(entry: tombstone, body: .inline([]))
        case .missing: return nil
        }
    }

    func ids(in scope: ScopeKey, prefix: String) throws(StoreError) -> [EntryID] {
        let sql = """
            SELECT id FROM entry WHERE scope = :scope AND id >= :prefix AND id < :end
            ORDER BY id LIMIT \(Limits.pageRowsMax)
            """
        let (from, end) = ((":prefix", prefix), (":end", RowQuery.end(ofPrefix: prefix)))
        return try cache.connection.statement(sql, (":scope", scope.text), from, end)
            .all { $0.entryID(.only) }
    }

    func removeQuietly(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        guard let found = try find(scope, id) else { return }
        try cache.eviction.remove(found.key)
    }

    /// Gives a row the revision of a step that has left it as it was: its users have seen other content
    /// of a later revision than its own.
    func raise(_ scope: ScopeKey, _ id: EntryID, to step: Revision) throws(StoreError) {
        guard let found = try find(scope, id) else { return }
        let raising = "UPDATE entry SET rev = max(rev, :rev) WHERE key = :key"
        let statement = try cache.connection.statement(raising)
        try statement.run((":key", found.key.number), (":rev", step.number))
        // What its user has seen is later than a shared row that came between.
        try cache.hiding.hideShared(id, from: scope)
        cache.state.highestRevision = max(cache.state.highestRevision, step)
        cache.noteChange(of: found.key)
    }

    func markStale(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        guard let found = try find(scope, id), found.kind == .fetched else { return }
        try cache.statements[.markStale].run((":key", found.key.number))
        cache.noteChange(of: found.key)
    }
}
