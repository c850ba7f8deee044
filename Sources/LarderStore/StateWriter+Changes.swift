import LarderModel

/// What has changed, as it is written down for watchers; see ``ChangeLog``.
///
/// Whoever took a step's revision closes it once the command has returned.
extension StateWriter {
    /// To be called by whatever changes what is seen under an id, so that those who watch it hear of it.
    func noteChange(of scope: ScopeKey, _ id: EntryID) {
        state.changedRows.append(RowKey(scope, id))
    }

    /// Writes a change down; nil is none.
    func log(_ change: Change?) throws(StoreError) {
        guard var change else { return }
        if change.scope == .shared, let id = change.id { change.hiddenFrom = try ownViews(of: id) }
        if !state.log.isBegun {
            if state.log.rows == 0 { try connection.execute("DELETE FROM change_log") }
            try log.begin(state.log)
            state.log.isBegun = true
        }
        try log.append(change, to: &state.log)
    }

    /// Who has changes of their own on a shared row, and hears of what these show.
    private func ownViews(of id: EntryID) throws(StoreError) -> [Scope] {
        try keepers(of: id).filter(\.isTargeted).map(\.name.scope.scope)
    }

    /// Takes up the log of the opened file: each of its commits is synced, so none is lost.
    func openLog(last: Revision) {
        state.log = ChangeLog.read(connection, hasModifiers: true, isWhole: true, last: last)
        changes.setStart(.state, state.log.start)
    }

    /// Before the commit, so that nobody reads without what was trimmed and does not know it.
    func publishLogStart() {
        guard state.log.start != saved.log.start else { return }
        changes.setStart(.state, state.log.start)
    }

    /// After the commit.
    func publishChanges() {
        changes.changed(state.log.changes)
        state.log.changes.removeAll(keepingCapacity: true)
    }
}
