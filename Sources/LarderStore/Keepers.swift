import LarderModel

/// Shared rows that users keep.
///
/// Such a row has the scope `shared`. Its *keepers* are durable rows of users under its id that
/// have no entry of their own. Unsettled changes of the user target the id, or the user has pinned
/// it.
struct Keepers {
    let state: StateWriter

    func of(_ id: EntryID) throws(StoreError) -> [DurableRow] {
        try state.statements(.keepers, (":id", id.text)).all { DurableRow($0, state.shared) }
    }

    /// Has a shared row say what keeps it; to be called after each change of a keeper, and of its
    /// bytes.
    ///
    /// The row counts once, among the pins if any keeper is one, and in the share of its payer. A
    /// user pays until its last pin of the row ends; then the first of the others pays. Once none
    /// keeps the row, it stays in the share of the last one until it has left `state.db`.
    func countKeepers(of id: EntryID) throws(StoreError) {
        let place = state.shared.sharedName(id)
        guard let row = try state.rows.find(place) else { return }
        let keepers = try of(id)
        // A row that no user keeps or has kept stays as it was created.
        let wasKept = row.payer != nil && !row.isReferredOnly
        guard !keepers.isEmpty || wasKept else { return }
        let pins = keepers.filter(\.isKeepingPin)
        let paid = pins.first { $0.name.scope.scope.uid == row.payer }
        let first = paid ?? pins.first ?? keepers.first(where: \.isTargeted)
        var payer = first?.name.scope.scope.uid
        if payer == nil { payer = try referringPayer(of: row) }
        let isTargeted = keepers.contains(where: \.isTargeted)
        var charge = row.charge
        (charge.pin, charge.payer) = (pins.isEmpty ? nil : .held, payer)
        try state.statements[.setKept].run(
            (":key", row.number),
            (":targeted", isTargeted),
            (":pinned_at", pins.first?.pinnedAt),
            (":state", charge.pin?.rawValue),
            (":payer", charge.payer.map(Int64.init))
        )
        state.budget.recount(row) { $0 = charge }
        try passOn(payer, from: row)
        state.index.change(place) { $0.isPinned = !pins.isEmpty }
        if first == nil { try state.rows.noteUnkept(place) }
        let waiting = pins.filter { $0.pin != .held }
        guard !waiting.isEmpty, row.hasBytes, try !state.rows.lacksPart(row) else { return }
        for pin in waiting {
            let scope = pin.name.scope
            if state.shared.origins.showsOwnOnly(id, scope.scope) { continue }
            if try state.reader.isHidden(id, from: scope) == true { continue }
            try state.pins.setState(of: pin, .held, nil, isWanted: false)
            state.memory.hasUpdates = true
        }
    }

    /// Puts a shared row into `state.db` as it is; `base` is what the cache has of it.
    ///
    /// With `pinnedAt`, rows that come with it count against the bound of pins. The caller counts
    /// the keepers next.
    func promote(_ id: EntryID, _ base: NewEntry?, pinnedAt: Timestamp? = nil) throws(StoreError) {
        let name = state.shared.sharedName(id)
        if try state.rows.find(name) == nil {
            let pin = pinnedAt.map { _ in PinState.held }
            try state.rows.insert(name, nil, pin: pin, at: pinnedAt, isTargeted: pinnedAt == nil)
        }
        guard let base, let row = try state.rows.find(name) else { return }
        try state.rows.take(base, in: row)
    }

    func keep(
        _ name: TargetName,
        origin: OriginName?,
        isHeld: Bool,
        now: Timestamp
    ) throws(StoreError) -> Bool {
        let pin: PinState = isHeld ? .held : .waiting
        let found = try state.rows.find(name)
        let isNew = found?.isPinned != true
        if isNew { try state.budget.checkCount(name.scope) }
        guard var row = found else {
            try state.rows.insert(name, origin, pin: pin, at: now, keepsShared: true)
            return true
        }
        if isNew { try state.pins.setPinned(&row, at: now) }
        try setKeeper(row, true)
        try state.pins.setState(of: row, pin, nil, isWanted: !isHeld)
        return isNew
    }

    func setKeeper(_ row: DurableRow, _ keepsShared: Bool) throws(StoreError) {
        try state.statements[.keep].run((":key", row.number), (":shared", keepsShared))
    }

    func wantKept(_ id: EntryID, _ isFetched: Bool) throws(StoreError) {
        for keeper in try of(id) where keeper.isKeepingPin {
            let (pin, trouble): (PinState, PinTrouble?) =
                isFetched ? (.waiting, nil) : (.failed, .damaged)
            try state.pins.setState(of: keeper, pin, trouble, isWanted: isFetched)
            state.memory.hasUpdates = true
        }
        try countKeepers(of: id)
    }

    /// The pin of a user from whom its shared row is hidden waits for an answer.
    func wantAnswer(_ name: TargetName) throws(StoreError) {
        guard let pin = try state.rows.find(name), pin.keepsShared, pin.pin == .held else { return }
        try state.pins.setState(of: pin, .waiting, nil, isWanted: true)
        state.memory.hasUpdates = true
    }

    func unit(of url: EntryID) throws(StoreError) -> [EntryID] {
        guard let prefix = url.variantPrefix else { return [] }
        let sql = """
            SELECT id FROM claim WHERE scope = 'shared' AND kind IN (1, 2)
                AND (id = :url OR id >= :prefix AND id < :end AND \(RowQuery.isVariant))
            """
        let end = RowQuery.end(ofPrefix: prefix)
        return try state.connection
            .statement(sql, (":url", url.text), (":prefix", prefix), (":end", end))
            .all { $0.entryID(.only) }
    }

    // MARK: Payers of rows that come with others

    /// The payer of a row that refers to this shared row, or of its URL.
    ///
    /// The row's own payer is preferred if one of these has it, and is the result if none has a
    /// payer.
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

    /// Gives a shared row that only references keep the payer of a row that still refers to it.
    ///
    /// Call it after a change of its references.
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
                    WHERE scope = :scope AND id >= :prefix AND id < :end AND held = 1
                        AND \(RowQuery.isVariant) AND \(isPassedOn)
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
