import LarderModel

/// What `state.db` says of shared rows: who keeps them, and from whom they are hidden.
struct SharedRows {
    let reader: StateReader

    /// Those whose claims keep a shared row.
    func keepers(of id: EntryID) throws(StoreError) -> [Scope] {
        let statement = try reader.connection.statement(
            "SELECT scope FROM claim INDEXED BY claim_keeper WHERE id = :id AND shared = 1"
        )
        statement.bind(":id", id.text)
        return try statement.all { $0.scope(.only) }
    }

    /// Whether the shared row under an id is hidden from the user of a scope; nil where its entry is not
    /// here.
    func isHidden(_ id: EntryID, from scope: ScopeKey) throws(StoreError) -> Bool? {
        let statement = try reader.connection.statement(
            """
            SELECT EXISTS (SELECT 1 FROM hidden WHERE hidden.claim = claim.claim AND hidden.scope = :user)
            FROM claim WHERE scope = :scope AND id = :id AND kind IS NOT NULL
            """
        )
        statement.bind(
            (":scope", Scope.shared.text),
            (":id", id.text),
            (":user", scope.text)
        )
        defer { statement.reset() }
        return try statement.step() ? statement.isTrue(.only) : nil
    }
}

extension StateReader {
    var sharedRows: SharedRows { SharedRows(reader: self) }
}
