import LarderModel

/// What has changed, as it is written down for watchers; see ``ChangeLog``.
extension CacheWriter {
    /// What was taken away.
    struct Removal {
        let size: Int64
        /// Nil for a row that was damaged.
        let row: RemovedRow?
    }

    /// Whose row it was; nil where that cannot be told.
    struct RemovedRow {
        let scope: Scope
        let id: EntryID
        let kind: EntryKind

        init?(_ statement: SQLiteStatement) {
            guard let scope = statement.text(1).flatMap(Scope.init(text:)),
                let id = statement.text(2).flatMap({ try? EntryID(stored: $0) }),
                let kind = EntryKind(rawValue: statement.integer(3))
            else { return nil }
            self.scope = scope
            self.id = id
            self.kind = kind
        }
    }

    /// Writes a change down; nil is none.
    func log(_ change: Change?) throws(StoreError) {
        guard let change, let file else { return }
        if !state.log.isBegun { try beginLog(file) }
        try file.log.append(change, to: &state.log)
    }

    /// The same of what one step has done to entities, in few rows.
    func log(together changes: [Change]) throws(StoreError) {
        guard !changes.isEmpty, let file else { return }
        if !state.log.isBegun { try beginLog(file) }
        try file.log.append(together: changes, to: &state.log)
    }

    /// Takes a row away of which nothing is known afterwards; its size, or nil where there was
    /// none.
    ///
    /// `step` is the revision of the batch that it belongs to, taken with the first row of it.
    @discardableResult
    func evict(
        _ key: RowKey,
        _ reason: EvictionReason,
        _ client: ClientTag?,
        _ step: inout Revision?
    ) throws(StoreError) -> Int64? {
        guard let removal = try remove(key) else { return nil }
        if let row = removal.row, row.kind != .variants {
            if step == nil { step = try nextRevision() }
            guard let step else { return removal.size }
            try log(Change(step, row.scope, .evict(row.id, reason, client: client)))
        }
        return removal.size
    }

    /// The same for one row.
    @discardableResult
    func evict(
        _ key: RowKey,
        _ reason: EvictionReason,
        _ client: ClientTag? = nil
    ) throws(StoreError) -> Int64? {
        var step: Revision?
        return try evict(key, reason, client, &step)
    }

    /// The same for what stands under an id.
    func evict(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ reason: EvictionReason,
        _ client: ClientTag?
    ) throws(StoreError) {
        guard let found = try find(scope, id).0 else { return }
        try evict(found.key, reason, client)
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
        if let boot = configuration.boot {
            try setMeta("boot", boot)
        } else {
            try deleteMeta("boot")
        }
        try deleteMeta("closed_at")
        state.log.isBegun = true
    }

    /// Writes down that every change is in the file: what comes after it begins anew.
    func closeLog() throws(StoreError) {
        guard let file else { return }
        if !state.log.isBegun { try beginLog(file) }
        try setMeta("closed_at", revisions.reservedEnd)
        state.log.isBegun = false
    }

    private func setMeta(_ name: String, _ value: Int64) throws(StoreError) {
        statements.setMeta.bind(1, name)
        statements.setMeta.bind(2, value)
        try statements.setMeta.run()
    }

    private func deleteMeta(_ name: String) throws(StoreError) {
        statements.deleteMeta.bind(1, name)
        try statements.deleteMeta.run()
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
