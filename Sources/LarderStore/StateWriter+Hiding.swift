import LarderModel

/// Shared rows of `state.db` that are hidden from users; ``CacheWriter`` has the rules.
///
/// A mark is in the file of its shared row: it comes with that from `cache.db`, and goes back with it.
extension StateWriter {
    /// Hides a shared row from the user of a scope.
    func hide(_ row: FoundClaim, _ id: EntryID, _ mark: HiddenMark) throws(StoreError) {
        // Before the commit, as in `cache.db`.
        reader.shared.noteHiddenRow()
        try statements[.hide].run(row.number, mark.scope, mark.revision)
        state.changedRows.append(RowKey(index.sharedScope, id))
    }

    /// Shows a shared row again to users, as an answer has come for it whose request started at `start`;
    /// whether it was hidden from any.
    func endHiding(
        _ row: FoundClaim,
        of scope: ScopeKey,
        since start: Revision?
    ) throws(StoreError) -> Bool {
        guard scope == index.sharedScope, reader.shared.mayHideRows else { return false }
        let before = connection.totalChanges
        try statements[.unhide].run(row.number, start?.number ?? .max)
        return connection.totalChanges != before
    }

    func marks(of row: FoundClaim) throws(StoreError) -> [HiddenMark] {
        guard reader.shared.mayHideRows else { return [] }
        let statement = statements[.marks]
        statement.bind(1, row.number)
        defer { statement.reset() }
        return try statement.all { HiddenMark($0, from: 0) }
    }
}
