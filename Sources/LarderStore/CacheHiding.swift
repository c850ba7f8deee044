package import LarderModel

/// A user from whom a shared row is hidden.
struct HiddenMark: Sendable {
    let scope: String
    /// The last one that was given when the user's own row was stored.
    let revision: Int64
}

extension HiddenMark {
    init(_ row: SQLiteStatement) {
        self.init(scope: row.text("scope") ?? "", revision: row.integer("rev"))
    }
}

/// Shared rows that are hidden from users.
///
/// A row of a user's own comes before the shared row under its id. Once the own row has gone its user
/// has a miss: the shared row may be older than what the user has seen (P-14).
///
/// Invariants:
/// 1. While a user's own row is in `cache.db`, and after it has gone, the shared row under its id is
///    hidden from that user, until an answer comes for the shared row whose request started after the
///    own row was stored.
/// 2. The mark is committed with the own row. An own row of `state.db` may lose it in a crash; the
///    writer marks the shared row again before that own row leaves `state.db`.
/// 3. Such an answer gives the shared row a later revision also where the bytes are the same. A
///    confirmation or a raised revision keeps the mark. It goes with the shared row.
struct CacheHiding {
    static let isHiddenSQL = "SELECT 1 FROM hidden WHERE key = :key AND scope = :scope"

    let cache: CacheWriter

    func hideShared(
        _ id: EntryID,
        from scope: ScopeKey,
        olderThan revision: Revision? = nil
    ) throws(StoreError) {
        guard scope.scope != .shared,
            let row = try cache.rows.find(cache.shared.sharedScope, id),
            revision.map({ row.revision < $0 }) ?? true
        else { return }
        // Before the commit: a reader that sees the own row gone has to look for the mark.
        cache.shared.noteHiddenRow()
        try hide(row.key, HiddenMark(scope: scope.text, revision: cache.revisions.last.number))
    }

    private func hide(_ key: RowKey, _ mark: HiddenMark) throws(StoreError) {
        let before = cache.connection.totalChanges
        let (row, user) = ((":key", key.number), (":scope", mark.scope))
        try cache.statements[.hide].run(row, user, (":rev", mark.revision))
        guard cache.connection.totalChanges != before else {
            return try cache.statements[.hideLater].run(row, user, (":rev", mark.revision))
        }
        cache.state.totals.bytes += Limits.hiddenMarkBytes
        if cache.state.totals.bytes > cache.state.totals.budget { cache.state.isShrinking = true }
        cache.noteChange(of: key)
    }

    func marks(of key: RowKey) throws(StoreError) -> [HiddenMark] {
        let sql = "SELECT scope, rev FROM hidden WHERE key = :key"
        return try cache.connection.statement(sql, (":key", key.number)).all(HiddenMark.init)
    }

    func replaceMarks(of name: TargetName, _ marks: [HiddenMark]) throws(StoreError) {
        guard let row = try cache.rows.find(name.scope, name.id) else { return }
        try unhide(row.key)
        for mark in marks { try hide(row.key, mark) }
    }

    func isHidden(_ id: EntryID, from scope: ScopeKey) throws(StoreError) -> Bool {
        guard cache.shared.mayHideRows else { return false }
        let key = (":key", RowKey(cache.shared.sharedScope, id).number)
        return try cache.connection.statement(Self.isHiddenSQL, key, (":scope", scope.text)).step()
    }

    /// Removes the marks of a row, with `revision` those that were not set later; whether there were any.
    @discardableResult
    func unhide(_ key: RowKey, upTo revision: Revision? = nil) throws(StoreError) -> Bool {
        guard cache.shared.mayHideRows else { return false }
        let before = cache.connection.totalChanges
        try cache.statements[.unhide].run((":key", key.number), (":rev", revision?.number ?? .max))
        let marks = cache.connection.totalChanges - before
        cache.state.totals.bytes -= marks * Limits.hiddenMarkBytes
        return marks > 0
    }

    func removeMarks(of scopes: RowScopes) throws(StoreError) {
        let before = cache.connection.totalChanges
        let statement = try cache.connection.prepare("DELETE FROM hidden WHERE \(scopes.condition)")
        scopes.bind(to: statement)
        try statement.run()
        cache.state.totals.bytes -=
            (cache.connection.totalChanges - before) * Limits.hiddenMarkBytes
    }

    /// Shows a shared row again to users, as an answer has come for it; whether it was hidden from any.
    ///
    /// The answer then gets a later revision than what they have seen. `start` is the last revision that
    /// was published when its request started: an earlier answer may be older than their own rows (P-06).
    func endHiding(
        _ key: RowKey,
        of scope: ScopeKey,
        since start: Revision?
    ) throws(StoreError) -> Bool {
        guard scope.scope == .shared else { return false }
        return try unhide(key, upTo: start)
    }
}

extension StoreReader {
    /// Whether a row of `place` is hidden from the user of a scope: a shared one that a row of the
    /// user's own came before; call it at one moment with the look for that.
    package func isHidden(_ id: EntryID, in place: ScopeKey, from scope: ScopeKey) -> Bool {
        guard shared.mayHideRows, place.scope == .shared, scope.scope != .shared else {
            return false
        }
        let key = RowKey(place, id)
        notes?.add(key)
        do throws(StoreError) {
            if let claim = shared.residency.place(place, id),
                let isHidden = try stateReader(of: claim).sharedRows.isHidden(id, from: scope)
            {
                return isHidden
            }
            return try reading { file throws(StoreError) in try file.isHidden(key, from: scope) }
                ?? false
        } catch {
            // The writer has heard of it. A row that may be hidden is not shown.
            return true
        }
    }
}
