import LarderModel

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
