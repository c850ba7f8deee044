package import LarderModel

/// The effect of a dead letter on an id.
package struct LostEffect: Sendable {
    package let modifier: String
    package let effect: [UInt8]
}

extension TargetReader {
    /// The effects of the first dead letters of an id, in their order.
    ///
    /// Effects beyond ``Limits/inlineJSONBytesMax`` in all are left out, as no frame shows them.
    package func lostEffects(
        _ scope: ScopeKey,
        _ id: EntryID
    ) throws(StoreError) -> [LostEffect] {
        let sql = """
            SELECT modifier.id AS id, effect FROM change INDEXED BY change_target
                JOIN modifier ON number = change.modifier
            WHERE change.id = :id AND change.scope = :scope AND settled = 1
            ORDER BY change.modifier LIMIT \(Limits.rowWritesMax)
            """
        let connection = try reader.openStateReader().connection
        let statement = try connection.statement(
            sql,
            (":scope", scope.text),
            (":id", id.text)
        )
        var bytes = 0
        return try statement.all { row -> LostEffect? in
            let effect = Array(row.bytes("effect"))
            bytes += effect.count
            guard bytes <= Limits.inlineJSONBytesMax, let modifier = row.text("id") else {
                return nil
            }
            return LostEffect(modifier: modifier, effect: effect)
        }
    }
}
