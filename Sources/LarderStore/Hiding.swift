import LarderModel

/// Shared rows that are hidden from users, in the file where the row is.
struct Hiding: WriterPart {
    let writer: StoreWriter

    /// Hides the shared row under an id, if there is one, from the user of a scope; with `revision` only
    /// one that is older.
    func hideShared(
        _ id: EntryID,
        from scope: ScopeKey,
        olderThan revision: Revision? = nil
    ) throws(StoreError) {
        try cacheIfAny?.hiding.hideShared(id, from: scope, olderThan: revision)
        try hideSaved(id, from: scope, olderThan: revision)
    }

    /// Marks shared rows as hidden after an answer was stored in a file: a user's own answer hides the
    /// shared row under its id; a shared answer is hidden from users whose own answers are later.
    func noteStored(
        _ new: NewEntry,
        in file: BodyFile,
        by fence: AnswerFence?
    ) throws(StoreError) {
        let (scope, id) = (new.scope, new.entry.id)
        if new.hidesShared {
            fence?.storesOwn(scope, id)
            // The row of `cache.db` has hidden that of `cache.db` itself.
            if file == .state {
                try hideShared(id, from: scope)
            } else {
                try hideSaved(id, from: scope)
            }
        }
        guard scope == shared.sharedScope, let fence else { return }
        for scope in fence.hiddenFrom(id) { try hideShared(id, from: scope) }
    }

    /// The same for one in `state.db` alone, where `cache.db` sees to its own.
    func hideSaved(
        _ id: EntryID,
        from scope: ScopeKey,
        olderThan revision: Revision? = nil
    ) throws(StoreError) {
        let place = shared.sharedScope
        guard scope != place, let row = try durable(TargetName(place, id)), row.hasEntry,
            revision.map({ row.revision < $0 }) ?? true
        else { return }
        try state.rows.hide(row, HiddenMark(scope: scope.text, revision: revisions.last.number))
    }

    /// Hides the shared row under the id of what is saved, which is about to go, from its user: a mark
    /// that was set as it came may have been lost with a commit of `cache.db`.
    func hideShared(_ found: DurableRow) throws(StoreError) {
        guard found.hasEntry else { return }
        try hideShared(found.name.id, from: found.name.scope, olderThan: found.revision)
    }

    func isHidden(_ id: EntryID, from scope: ScopeKey) throws(StoreError) -> Bool {
        guard shared.mayHideRows else { return false }
        if shared.residency.covers(shared.sharedScope, id),
            let isHidden = try state.reader.sharedRows.isHidden(id, from: scope)
        {
            return isHidden
        }
        return try cacheIfAny?.hiding.isHidden(id, from: scope) ?? false
    }

    func takeMarks(of name: TargetName) throws(StoreError) {
        guard name.scope == shared.sharedScope, shared.mayHideRows,
            let cache = try cacheIfAny, let row = try state.rows.find(name)
        else { return }
        for mark in try cache.hidden.marks(of: RowKey(name.scope, name.id).number) {
            try state.rows.hide(row, mark)
        }
    }

    func giveMarks(of row: DurableRow) throws(StoreError) {
        guard row.name.scope == shared.sharedScope, shared.mayHideRows else { return }
        try cache.hiding.replaceMarks(of: row.name, try state.hidden.marks(of: row.number))
    }
}

struct SharedRows {
    let reader: StateReader

    func keepers(of id: EntryID) throws(StoreError) -> [Scope] {
        try reader.connection.statement(
            "SELECT scope FROM claim INDEXED BY claim_keeper WHERE id = :id AND shared = 1",
            (":id", id.text)
        ).all { $0.scope(.only) }
    }

    /// Whether the shared row is hidden from the user of a scope; nil without an entry here.
    func isHidden(_ id: EntryID, from scope: ScopeKey) throws(StoreError) -> Bool? {
        let sql = """
            SELECT EXISTS (SELECT 1 FROM hidden WHERE hidden.claim = claim.claim AND hidden.scope = :user)
            FROM claim WHERE scope = :scope AND id = :id AND kind IS NOT NULL
            """
        let statement = try reader.connection.statement(sql)
        statement.bind((":scope", Scope.shared.text), (":id", id.text), (":user", scope.text))
        return try statement.first { $0.isTrue(.only) }
    }
}

extension StateReader {
    var sharedRows: SharedRows { SharedRows(reader: self) }
}
