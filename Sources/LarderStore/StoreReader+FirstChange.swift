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
            SELECT state, effect, change.id FROM modifier JOIN change ON modifier = number
            WHERE modifier.scope = ?1 AND modifier.id = ?2 AND settled_at IS NULL
            ORDER BY position
            """
        )
        statement.bind(1, scope.text)
        statement.bind(2, id.text)
        defer { statement.reset() }
        var first: (state: ModifierState, effect: [UInt8])?
        while try statement.step() {
            guard let state = statement.text(0).flatMap(ModifierState.init(rawValue:)) else {
                continue
            }
            let change = (state: state, effect: Array(statement.bytes(1)))
            let target = statement.text(2).flatMap { try? EntryID(stored: $0) }
            if target?.isEntity == true { return change }
            first = first ?? change
        }
        return first
    }
}
