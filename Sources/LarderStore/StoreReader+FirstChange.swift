package import LarderModel

extension StoreReader {
    /// The state of an unsettled modifier, and the first of its effects on an entity, else of all; nil
    /// where it has none.
    package func firstChange(
        of id: ModifierID,
        in scope: ScopeKey
    ) throws(StoreError) -> (state: ModifierState, effect: [UInt8])? {
        let statement = try stateReader().connection.statement(
            """
            SELECT state, effect FROM modifier JOIN change ON modifier = number
            WHERE modifier.scope = :scope AND modifier.id = :id AND settled_at IS NULL
            ORDER BY change.id >= '\(EntryID.firstOfEntries)', position LIMIT 1
            """
        )
        statement.bind((":scope", scope.text), (":id", id.text))
        defer { statement.reset() }
        guard try statement.step(),
            let state = statement.text("state").flatMap(ModifierState.init(rawValue:))
        else { return nil }
        return (state, Array(statement.bytes("effect")))
    }
}
