import LarderModel

/// The payers of shared rows that only came along: an entity has that of a row that refers to it, a
/// variant that of its URL.
extension Keepers {
    /// The payer of a row that refers to one, or of its URL; the row's own payer if one of these has it,
    /// or none has a payer.
    func referringPayer(of row: DurableRow) throws(StoreError) -> UInt32? {
        let sql = """
            SELECT payer FROM claim WHERE payer IS NOT NULL AND (scope = 'shared' AND id = :url
                OR claim <> :row AND claim IN (SELECT parent FROM reference WHERE child = :row))
            ORDER BY payer IS NOT :payer, skeleton IS NULL LIMIT 1
            """
        let url = row.isHeld ? row.name.id.urlOfVariant?.text : nil
        let payer = row.payer.map(Int64.init)
        let statement = try state.connection
            .statement(sql, (":row", row.number), (":url", url), (":payer", payer))
        guard try statement.step() else { return row.payer }
        return statement.integerOrNil(.only).flatMap(UInt32.init(exactly:))
    }

    /// Gives a shared row that only references keep the payer of a row that still refers to it; call it
    /// after a change of its references.
    func countReferred(_ number: Int64) throws(StoreError) {
        guard let id = try state.rows.id(of: number),
            let row = try state.rows.find(state.shared.sharedName(id)),
            row.isReferredOnly, let payer = try referringPayer(of: row), payer != row.payer
        else { return }
        let update = try state.connection.statement(
            "UPDATE claim SET payer = :payer WHERE claim = :row"
        )
        try update.run((":row", row.number), (":payer", Int64(payer)))
        state.budget.recount(row) { $0.payer = payer }
        try passOn(payer, from: row)
    }

    /// Gives the new payer of a shared row to the rows that came along with it and have no keepers.
    func passOn(_ payer: UInt32?, from row: DurableRow) throws(StoreError) {
        guard payer != row.payer else { return }
        let (prefix, place) = (row.name.id.variantPrefix ?? "", row.name.scope)
        let isPassedOn = "payer IS :old AND pinned_at IS NULL AND targeted = 0"
        let statement = try state.connection.statement(
            """
            WITH RECURSIVE moved (row) AS (
                SELECT :row
                UNION SELECT claim FROM claim
                    WHERE scope = :scope AND id >= :prefix AND id < :end AND held = 1 AND \(isPassedOn)
                UNION SELECT child FROM moved JOIN reference ON parent = row
                    JOIN claim ON claim.claim = child WHERE \(isPassedOn)
            )
            UPDATE claim SET payer = :new WHERE claim <> :row AND claim IN (SELECT row FROM moved)
            RETURNING size, in_pins
            """
        )
        statement.bind(
            (":row", row.number),
            (":old", row.payer.map(Int64.init)),
            (":new", payer.map(Int64.init)),
            (":scope", place.text),
            (":prefix", prefix),
            (":end", RowQuery.end(ofPrefix: prefix))
        )
        while try statement.step() {
            var numbers = RowNumbers(statement)
            let isInPins = statement.isTrue("in_pins")
            let old = RowCharge(isInPins: isInPins, size: numbers.size("size"), payer: row.payer)
            var charge = old
            charge.payer = payer
            state.budget.recount(place, from: old, to: charge)
        }
    }
}
