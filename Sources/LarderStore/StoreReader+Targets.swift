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
        let target = try stateReader().target(
            scope,
            id,
            upTo: last,
            changesMax: changesMax,
            &damaged
        )
        if let damaged { dropDamaged(scope, id, damaged) }
        // What is being accepted is not there yet, what was settled is not there any more.
        return target.changes.isEmpty ? nil : target
    }

    /// Drops the base of a target whose bytes are damaged, in whichever row they stand.
    func dropDamaged(_ scope: ScopeKey, _ id: EntryID, _ damaged: Digest) {
        let claims = shared.claims
        state.dropDamaged(claims.keepsShared(scope, id) ? claims.sharedScope : scope, id, damaged)
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
        // The index may be ahead of what is being read of `state.db`.
        guard heldState != nil || shared.claims.mayHaveDeadLetters(scope, id) else { return 0 }
        return try openStateReader().deadLetters(scope, id)
    }
}
