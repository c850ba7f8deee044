import LarderModel

/// Shared rows that users keep.
///
/// Such a row has the scope `shared`. Its *keepers* are claims of users under its id that have no entry of
/// their own: unsettled changes of the user target the id, or the user has pinned it.
extension StateWriter {
    struct Keeper {
        let name: TargetName
        let pinnedAt: Int64?
        /// Nil where it is no pin.
        let pin: PinState?
        let isTargeted: Bool

        /// Whether it keeps the row as a pin: one that has given up keeps none.
        var isPin: Bool { pin == .held || pin == .waiting }
    }

    /// Those of a shared row, the first first.
    func keepers(of id: EntryID) throws(StoreError) -> [Keeper] {
        let statement = statements[.keepers]
        statement.bindAll(id.text)
        defer { statement.reset() }
        return try statement.all { row in
            row.text(1).flatMap(Scope.init(text:)).map { scope in
                let pinnedAt = row.integerOrNil(2)
                return Keeper(
                    name: TargetName(index.key(for: scope), id),
                    pinnedAt: pinnedAt,
                    pin: pinnedAt.map { _ in PinState(rawValue: row.integer(3)) ?? .failed },
                    isTargeted: row.integer(4) != 0
                )
            }
        }
    }

    /// Has a shared row say what keeps it; to be called after each change of a keeper, and of its bytes.
    ///
    /// It counts once, among the pins if any keeper is one, and in the share of the first of those.
    func countKeepers(of id: EntryID) throws(StoreError) {
        let place = index.sharedScope
        guard let row = try find(place, id) else { return }
        let keepers = try keepers(of: id)
        // One that nobody keeps, and nobody has kept, is as it was made.
        guard !keepers.isEmpty || row.payer != nil else { return }
        let pins = keepers.filter(\.isPin)
        let payer = pins.first ?? keepers.first(where: \.isTargeted)
        let isTargeted = keepers.contains(where: \.isTargeted)
        let charge = ClaimCharge(
            pin: pins.isEmpty ? nil : .held,
            isInPins: row.isInPins,
            size: row.size,
            payer: payer?.name.scope.scope.uid
        )
        try statements[.setKept].run(
            row.number,
            isTargeted,
            pins.first?.pinnedAt,
            charge.pin?.rawValue,
            charge.payer.map(Int64.init)
        )
        recount(place, row) { $0 = charge }
        index.setPinned(place, id, !pins.isEmpty)
        if payer == nil { try noteReason(gone: place, id) }
        guard row.hasBytes else { return }
        for waiting in pins where waiting.pin == .waiting {
            guard try reader.sharedRows.isHidden(id, from: waiting.name.scope) != true,
                let pin = try find(waiting.name.scope, id)
            else { continue }
            try setState(of: pin, in: waiting.name.scope, .held, nil, isWanted: false)
            state.hasNews = true
        }
    }

    /// Has a shared row stand here from now on, as it is; `base` is what the cache has of it.
    ///
    /// With `pinnedAt` what comes with it counts against the bound of pins. What keeps it is to be counted
    /// next.
    func promote(
        _ id: EntryID,
        _ base: NewEntry?,
        pinnedAt: Timestamp? = nil
    ) throws(StoreError) {
        let name = TargetName(index.sharedScope, id)
        if try find(name.scope, id) == nil {
            let pin = pinnedAt.map { _ in PinState.held }
            try insert(name.scope, id, nil, pin: pin, at: pinnedAt, isTargeted: pinnedAt == nil)
        }
        guard let base, let row = try find(name.scope, id) else { return }
        if row.hasEntry {
            if let upload = base.body.upload, row.body != upload.body { forget(upload) }
        } else {
            let (form, size) = (base.form, base.rowSize)
            try write(base.entry, base.body, form: form, size: size, to: row, in: name.scope)
        }
    }

    /// Makes a pin that keeps the shared row; whether it was none before.
    func keep(
        _ name: TargetName,
        origin: OriginName?,
        isHeld: Bool,
        now: Timestamp
    ) throws(StoreError) -> Bool {
        let (scope, id) = (name.scope, name.id)
        let (pin, found): (PinState, _) = (isHeld ? .held : .waiting, try find(scope, id))
        if found?.isPinned != true { try checkCount(scope) }
        if let found {
            if !found.isPinned { try setPinned(found, scope, at: now) }
            try statements[.keep].run(found.number, 1)
            guard let row = try find(scope, id) else { return true }
            try setState(of: row, in: scope, pin, nil, isWanted: !isHeld)
        } else {
            try insert(scope, id, origin, pin: pin, at: now, keepsShared: true)
        }
        return found?.isPinned != true
    }

    /// Has the pins of a shared row that has lost its bytes wait for others.
    func wantKept(_ id: EntryID, _ isFetched: Bool) throws(StoreError) {
        let trouble = PinTrouble(problem: "storage", reason: "its bytes were damaged on the disk")
        for keeper in try keepers(of: id) where keeper.isPin {
            guard let row = try find(keeper.name.scope, id) else { continue }
            try setState(
                of: row,
                in: keeper.name.scope,
                isFetched ? .waiting : .failed,
                isFetched ? nil : trouble,
                isWanted: isFetched
            )
            state.hasNews = true
        }
        try countKeepers(of: id)
    }

    /// A row's users see it change back to what it was: its revision goes on.
    func raise(_ name: TargetName, to revision: Revision) throws(StoreError) {
        try statements[.raise].run(name.scope.text, name.id.text, revision.number)
        state.changedRows.append(RowKey(name.scope, name.id))
    }

    // MARK: Writes that wait for an answer

    /// A change of a modifier that the server has confirmed.
    struct AnsweredChange {
        let change: Int64
        let number: ModifierNumber
    }

    /// The changes of a target that the next answer for its row ends.
    func answeredChanges(of name: TargetName) throws(StoreError) -> [AnsweredChange] {
        guard (state.modifiers[.accepted] ?? 0) > 0 else { return [] }
        let statement = queue[.answeredChanges]
        statement.bindAll(name.id.text, name.scope.text)
        defer { statement.reset() }
        return try statement.all { row in
            AnsweredChange(change: row.integer(0), number: ModifierNumber(row.integer(1)))
        }
    }

    /// Ends changes of a target; the modifiers that have left the queue by it.
    func end(
        _ changes: [AnsweredChange],
        of name: TargetName,
        at step: Revision,
        now: Timestamp
    ) throws(StoreError) -> [ModifierNumber] {
        for change in changes { try queue[.endChange].run(change.change) }
        try release(name, from: ModifierNumber(0), step)
        var left: [ModifierNumber] = []
        for number in changes.map(\.number) where !left.contains(number) {
            guard try !targets(of: number).contains(where: { !$0.isEnded }),
                let row = try find(number)
            else { continue }
            try logModifier(number, row, .confirmed, step)
            try remember(number, .confirmed, step, now)
            try delete(number)
            left.append(number)
        }
        return left
    }

    /// Has a modifier wait that the server has confirmed, until an answer has come for each shared row
    /// that it changes; `targets` are the others.
    func answer(
        _ settlement: Settlement,
        _ row: QueuedRow,
        _ targets: [(name: TargetName, fate: TargetFate)],
        _ revision: Revision,
        now: Timestamp
    ) throws(StoreError) {
        let number = settlement.number
        if row.isStalled { state.stalled -= 1 }
        if let answer = settlement.answer { try write(answer, number) }
        var views: [ViewBefore] = []
        for name in targets.map(\.name).unique { views.append(try view(of: name)) }
        for target in targets { try change(target.name, target.fate, revision, now) }
        let names = Set(targets.map(\.name.id.text))
        for target in try self.targets(of: number) where names.contains(target.id) {
            try queue[.endChange].run(target.change)
        }
        for view in views { try release(view.name, from: number, revision) }
        try logChanges(since: views, revision, ChangeCause(row))
        try queue[.answered].run(number.value)
        count(from: row.state, to: .accepted, of: row)
        try logModifier(number, row, .accepted, revision) { $0.mark = .answered }
    }
}
