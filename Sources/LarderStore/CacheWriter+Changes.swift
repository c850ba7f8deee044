import LarderModel

/// What has changed, as it is written down for watchers; see ``ChangeLog``.
extension CacheWriter {
    /// What was taken away, as far as that can be told of a damaged row.
    struct Removal {
        var scope: Scope?
        var id: EntryID?
        var kind: EntryKind?
    }

    /// Writes a change down; nil is none.
    func log(_ change: Change?) throws(StoreError) {
        guard let change, let file else { return }
        if !state.log.isBegun { try beginLog(file) }
        try file.log.append(change, to: &state.log)
    }

    /// Logs what one step has done to entities, in few rows.
    func log(together changes: [Change]) throws(StoreError) {
        guard !changes.isEmpty, let file else { return }
        if !state.log.isBegun { try beginLog(file) }
        try file.log.append(together: changes, to: &state.log)
    }

    /// Takes a row away of which nothing is known afterwards; false where there was none.
    ///
    /// `step` is the revision of the batch that it belongs to, taken with the first row of it.
    @discardableResult
    func evict(
        _ key: RowKey,
        _ reason: EvictionReason,
        _ client: ClientTag?,
        _ step: inout Revision?
    ) throws(StoreError) -> Bool {
        // No watcher is told of garbage: no reader has seen it since its id was claimed.
        let isGarbage = shared.claims.isGarbage(key)
        guard let row = try remove(key), !isGarbage else { return false }
        guard let scope = row.scope, let id = row.id, let kind = row.kind, kind != .variants else {
            return true
        }
        let revision: Revision
        if let step { revision = step } else { revision = try nextRevision() }
        step = revision
        try log(Change(revision, scope, .evict(id, reason, client: client)))
        return true
    }

    /// Evicts one row, in a step of its own; false where there is none.
    @discardableResult
    func evict(
        _ key: RowKey,
        _ reason: EvictionReason,
        _ client: ClientTag? = nil
    ) throws(StoreError) -> Bool {
        var step: Revision?
        return try evict(key, reason, client, &step)
    }

    // MARK: Whether it is whole

    /// Takes up the log of an opened file, or begins it anew after the last revision.
    ///
    /// The file is told with the first change, as it may be opened while nothing can be written.
    func openLog(_ opening: CacheOpening, isWhole: Bool) {
        state.log = ChangeLog.read(
            opening.file.connection,
            hasModifiers: false,
            isWhole: isWhole,
            last: revisions.last
        )
        if opening.contents.boot != configuration.boot || opening.contents.closedAt != nil {
            state.log.isBegun = false
        }
        shared.changes.setStart(.cache, state.log.start)
    }

    private func beginLog(_ file: CacheFile) throws(StoreError) {
        if state.log.rows == 0 { try file.connection.execute("DELETE FROM change_log") }
        try file.log.begin(state.log)
        try setMeta("boot", configuration.boot)
        try setMeta("closed_at", nil)
        state.log.isBegun = true
    }

    /// Writes down that every change is in the file: what comes after it begins anew.
    func closeLog() throws(StoreError) {
        guard let file else { return }
        if !state.log.isBegun { try beginLog(file) }
        try setMeta("closed_at", revisions.reservedEnd)
        state.log.isBegun = false
    }

    /// Nil takes the name away.
    func setMeta(_ name: String, _ value: Int64?) throws(StoreError) {
        let statement = value == nil ? statements[.deleteMeta] : statements[.setMeta]
        statement.bind(1, name)
        if let value { statement.bind(2, value) }
        try statement.run()
    }
}

extension CacheContents {
    /// Whether no change that was committed can be missing: a machine that stops takes the last
    /// commits of this file with it, and nothing else does.
    ///
    /// `next` is the next revision as `state.db` has it, which moves with every start, synced.
    func hasWholeLog(boot: Int64?, next: Int64) -> Bool {
        if let boot, boot == self.boot { return true }
        return closedAt == next
    }
}

extension CacheWriter {
    /// Forgets the changes that were logged of some scopes.
    func forget(_ scopes: RowScopes) throws(StoreError) {
        guard let file else { return }
        try file.log.remove(scopes, in: connection, &state.log)
    }
}
