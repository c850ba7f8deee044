package import LarderModel

extension NewChange {
    /// The change of an entity that effects of the same modifier put into documents.
    package init(placing other: NewChange, into parents: [EntryID]) {
        self = other
        self.parents = parents
        isImplied = true
    }

    var parentLines: String? {
        parents.isEmpty ? nil : parents.map(\.text).joined(separator: "\n")
    }
}

extension ReferenceTable {
    /// The documents into which unsettled effects put an entity.
    func placers(of name: TargetName) throws(StoreError) -> [EntryID] {
        guard file == .state else { return [] }
        let sql = """
            SELECT parents FROM change INDEXED BY change_target
            WHERE id = :id AND scope = :scope AND settled = 0 AND parents IS NOT NULL
            """
        let (scope, id) = ((":scope", name.scope.text), (":id", name.id.text))
        let lines = try connection.statement(sql, scope, id).all { $0.text("parents") }
        var seen: Set<EntryID> = []
        return lines.flatMap { $0.split(separator: "\n") }
            .compactMap { try? EntryID(stored: String($0)) }
            .filter { seen.insert($0).inserted }
    }
}
