import LarderModel

struct CacheLog {
    let cache: CacheWriter

    func append(_ change: Change?) throws(StoreError) {
        guard let change else { return }
        try beginIfDue()
        try cache.changeLog.append(change, to: &cache.state.log)
    }

    func append(together changes: [Change]) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try beginIfDue()
        try cache.changeLog.append(together: changes, to: &cache.state.log)
    }

    // MARK: Whether it is whole

    /// Takes up the log of an opened file, or begins it after the last revision; the file is told
    /// with the first change, as it may be opened while nothing can be written.
    func open(_ opening: CacheOpening, isWhole: Bool) {
        cache.state.log = ChangeLog.read(
            opening.file.connection,
            hasModifiers: false,
            isWhole: isWhole,
            last: cache.revisions.last
        )
        if opening.contents.boot != cache.configuration.boot || opening.contents.closedAt != nil {
            cache.state.log.isBegun = false
        }
        cache.shared.changes.setStart(.cache, cache.state.log.start)
    }

    private func beginIfDue() throws(StoreError) {
        guard !cache.state.log.isBegun else { return }
        if cache.state.log.rows == 0 { try cache.connection.execute("DELETE FROM change_log") }
        try cache.changeLog.begin(cache.state.log)
        try cache.setMeta("boot", cache.configuration.boot)
        try cache.setMeta("closed_at", nil)
        cache.state.log.isBegun = true
    }

    func close() throws(StoreError) {
        try beginIfDue()
        try cache.setMeta("closed_at", cache.revisions.reservedEnd)
        cache.state.log.isBegun = false
    }

    func forget(_ scopes: RowScopes) throws(StoreError) {
        try cache.hiding.removeMarks(of: scopes)
        try cache.changeLog.remove(scopes, &cache.state.log)
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
