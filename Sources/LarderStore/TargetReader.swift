package import LarderModel

package struct TargetReader {
    let reader: StoreReader
    private var shared: SharedCacheState { reader.shared }

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
        guard let place = shared.residency.place(scope, id),
            place.targets > 0 || reader.looksIntoState
        else { return nil }
        let state = try reader.stateReader()
        let target = try read(scope, id, place, state, upTo: last, changesMax: changesMax)
        // What is being accepted is not there yet, what was settled is not there any more.
        return target.changes.isEmpty ? nil : target
    }

    func read(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ place: ResidencyIndex.Place,
        _ state: StateReader,
        upTo last: ModifierNumber = ModifierNumber(.max),
        changesMax: Int = .max
    ) throws(StoreError) -> Target {
        try reader.allowance.admit(changes: place.targets)
        let name = TargetName(scope, id)
        let target = try state.target(name, upTo: last, changesMax: changesMax)
        if let damaged = target.damaged {
            let row = place.keepsShared ? shared.sharedScope : scope
            reader.state.dropDamaged(row, id) { $0.digest == damaged }
        }
        return target
    }

    package func requestBody(
        of number: ModifierNumber
    ) throws(StoreError) -> (bytes: [UInt8], mediaType: String?)? {
        try reader.stateReader().requestBody(of: number)
    }

    /// How many dead letters have changed an id; without any, this is a look into memory.
    package func deadLetters(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Int {
        // The index may be ahead of what is being read of `state.db`.
        guard reader.heldState != nil || shared.residency.mayHaveDeadLetters(scope, id) else {
            return 0
        }
        return try reader.openStateReader().deadLetters(scope, id)
    }

    /// The state of an unsettled modifier, and its first effect on an entity, else on anything.
    package func firstChange(
        of id: ModifierID,
        in scope: ScopeKey
    ) throws(StoreError) -> (state: ModifierState, effect: [UInt8])? {
        let sql = """
            SELECT state, effect FROM modifier JOIN change ON modifier = number
            WHERE modifier.scope = :scope AND modifier.id = :id AND settled_at IS NULL
            ORDER BY change.id >= '\(EntryID.firstOfEntries)', position LIMIT 1
            """
        let connection = try reader.stateReader().connection
        return try connection.statement(sql, (":scope", scope.text), (":id", id.text)).first {
            row in
            row.text("state").flatMap(ModifierState.init(rawValue:)).map { state in
                (state, Array(row.bytes("effect")))
            }
        }
    }
}
