package import LarderModel

extension StoreReader {
    /// What unsettled changes target, with them, as of one commit; nil for an id that nothing
    /// targets, which costs a look into memory, and then its entry is what is shown.
    ///
    /// Changes of modifiers after `last`, and what goes beyond `changesMax`, are left out.
    package func target(
        _ scope: ScopeKey,
        _ id: EntryID,
        upTo last: ModifierNumber = ModifierNumber(.max),
        changesMax: Int = .max
    ) throws(StoreError) -> Target? {
        guard let place = shared.claims.place(scope, id), place.targets > 0 || looksIntoState else {
            return nil
        }
        try allowance.admit(changes: place.targets)
        var damaged: Digest?
        let range = ChangeRange(last: last.value, max: Int64(changesMax))
        let target = try stateReader().target(scope, id, range, &damaged)
        if let damaged { reportDamage(scope, id, damaged) }
        // What is being accepted is not there yet, what was settled is not there any more.
        return target?.changes.isEmpty == false ? target : nil
    }

    /// The body of a modifier's request with its type; nil where it has none.
    package func requestBody(
        of number: ModifierNumber
    ) throws(StoreError) -> (bytes: [UInt8], mediaType: String?)? {
        try stateReader().requestBody(of: number)
    }

    /// How many dead letters have changed an id; while there are none, this costs a look into
    /// memory.
    package func deadLetters(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Int {
        guard shared.claims.queueTotals.dead > 0 else { return 0 }
        return try stateReader().deadLetters(scope, id)
    }
}

extension StoreReader {
    /// The variants that a query is about, as far as there is a file of the cache.
    func variants(_ query: VariantQuery) throws(StoreError) -> [VariantRow] {
        defer { endTransaction() }
        let claims = shared.claims.isEmpty ? nil : try stateReader().connection
        let found = try reading { file throws(StoreError) in
            try query.rows(claims: claims, cache: file.connection)
        }
        if let found { return found }
        return try query.rows(claims: claims, cache: nil)
    }
}
