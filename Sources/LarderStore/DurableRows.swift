import LarderModel
import LarderNormalize

struct DurableRows {
    let state: StateWriter

    /// Whether a row has what an entry brings; of a normalized one its template, as its entities
    /// are told apart from it.
    func matches(_ row: DurableRow, _ new: NewEntry) throws(StoreError) -> Bool {
        guard let form = new.form, let skeleton = row.skeleton else {
            return row.matches(new.entry)
        }
        guard row.kind == new.entry.kind, row.checksum == form.checksum else { return false }
        return try state.reader.references.skeleton(skeleton)?.bytes == form.skeleton.bytes
    }

    /// Writes down to which entities a row refers now; of each of them there is a row from then on.
    func setReferences(of row: DurableRow, _ new: NewEntry) throws(StoreError) {
        var (references, origin) = (new.form?.references ?? [], new.form?.origin)
        if let name = row.name.id.entity, case .inline(let bytes) = new.body,
            let held = try? HeldEntity(stored: bytes, isDeleted: new.entry.kind == .tombstone)
        {
            (references, origin) = (held.references, name.origin)
        }
        guard let origin, !references.isEmpty else { return try removeReferences(of: row) }
        let scope = row.name.scope
        var wanted: [Int64: [UInt8]] = [:]
        for reference in references {
            let id = EntryID(EntityName(reference.key, of: origin))
            let child = try makeRow(TargetName(scope, id), with: row)
            wanted[child, default: []] += reference.place.stored
        }
        try noteReleasable(try state.references.setReferences(of: row.number, wanted), scope)
        guard scope == state.shared.sharedScope else { return }
        for child in wanted.keys { try state.keepers.countReferred(child) }
    }

    private func removeReferences(of row: DurableRow) throws(StoreError) {
        guard row.skeleton != nil || row.kind == .entity else { return }
        try noteReleasable(try state.references.removeReferences(of: row.number), row.name.scope)
    }

    /// The number of an id's row; a missing row is created, and waits to be filled.
    ///
    /// It comes with `parent`, and counts where that does.
    @discardableResult func makeRow(
        _ name: TargetName,
        with parent: DurableRow? = nil,
        isHeld: Bool = false
    ) throws(StoreError) -> Int64 {
        if let found = try find(name) {
            if isHeld, !found.isHeld {
                try state.connection.execute(
                    "UPDATE claim SET held = 1 WHERE claim = \(found.number)"
                )
            }
            return found.number
        }
        try insert(name, name.id.entity?.origin, isHeld: isHeld, with: parent)
        state.memory.unfilled.append(name)
        // Maintenance looks whether something keeps it in the end.
        state.memory.releasable.append(name)
        return state.connection.lastInsertedRow
    }

    private func letGo(of row: DurableRow) throws(StoreError) {
        if let body = row.body { try state.bodies.unlink(body, &state.memory.bodies) }
        if let skeleton = row.skeleton { _ = try state.references.release(skeleton) }
        try removeReferences(of: row)
        _ = try endHiding(row, since: nil)
    }

    private func noteReleasable(_ rows: [Int64], _ scope: ScopeKey) throws(StoreError) {
        for row in rows {
            guard let id = try id(of: row) else { continue }
            state.memory.releasable.append(TargetName(scope, id))
            if scope == state.shared.sharedScope { try state.keepers.countReferred(row) }
        }
    }

    func noteUnkept(_ name: TargetName) throws(StoreError) {
        state.memory.releasable.append(name)
        try releaseVariants(of: name)
    }

    private func releaseVariants(of name: TargetName) throws(StoreError) {
        guard let prefix = name.id.variantPrefix else { return }
        let end = RowQuery.end(ofPrefix: prefix)
        let (scope, first, last) = ((":scope", name.scope.text), (":prefix", prefix), (":end", end))
        // An UPDATE that returns rows makes a table for them, even if there are none.
        let ids = try state.statements(.heldVariants, scope, first, last).all { $0.entryID(.only) }
        guard !ids.isEmpty else { return }
        try state.connection.statement(
            """
            UPDATE claim SET held = 0
            WHERE scope = :scope AND id >= :prefix AND id < :end AND held = 1
                AND \(RowQuery.isVariant)
            """
        ).run(scope, first, last)
        state.memory.releasable += ids.map { TargetName(name.scope, $0) }
    }

    func find(_ name: TargetName) throws(StoreError) -> DurableRow? {
        try state.statements(.find, of: name).first { DurableRow($0, name) }
    }

    func variants(
        _ page: VariantPage,
        in scope: ScopeKey
    ) throws(StoreError) -> [EntryID] {
        try page.bind(to: state.statements[.variants], scope).all { $0.entryID(.only) }
    }

    func id(of number: Int64) throws(StoreError) -> EntryID? {
        let text = try state.connection.text("SELECT id FROM claim WHERE claim = \(number)")
        return text.flatMap { try? EntryID(stored: $0) }
    }

    func entry(_ name: TargetName) throws(StoreError) -> SavedEntry? {
        try state.statements(.get, of: name).first { SavedEntry($0, name) }
    }

    /// Stores an entry in its row, in place of the old one; equal bytes keep the old revision.
    ///
    /// With `pinnedAt` the row becomes a pin, and is created if it is missing. Otherwise it has to
    /// exist.
    ///
    /// Without room the row stays as it was. A target always has room, because its base follows the
    /// server. Watchers hear of the entry unless it is moved from the cache. If the row was hidden
    /// from a user, they hear of equal bytes too.
    @discardableResult func put(
        _ new: NewEntry,
        pinnedAt: Timestamp? = nil,
        isUpdate: Bool = true,
        wasHidden: Bool = false
    ) throws(StoreError) -> PutReceipt {
        let old = try find(new.name)
        if StateBudget.hasToFit(old, as: pinnedAt == nil ? .answer : .pin) {
            let payer = old?.payer
            try state.budget.checkRoom(for: new.rowSize, new.scope, replacing: old, paidBy: payer)
        }
        if let pinnedAt, old?.isPinned != true {
            try state.budget.checkCount(new.scope)
            if var old {
                try state.pins.setPinned(&old, at: pinnedAt)
            } else {
                try insert(new.name, new.entry.origin, pin: .held, at: pinnedAt)
            }
        }
        guard let row = try find(new.name) else { throw .closed }
        let hasBytes = try matches(row, new)
        let isKept = row.hasEntry && row.goneStatus == nil && hasBytes
        let isSame = isKept && !wasHidden
        let isCompared = row.isTargeted || new.name.id.isEntity
        let view = isCompared && !isSame && isUpdate ? try state.views.view(of: new.name) : nil
        var new = new
        if isSame { new.entry.revision = row.revision }
        try write(new, to: row)
        if !isSame, isUpdate { try state.views.logPut(new, since: view, isShownAgain: isKept) }
        if row.isWanted { state.memory.hasUpdates = true }
        return PutReceipt(revision: new.entry.revision, isNew: !row.hasBytes, isSame: isSame)
    }

    /// Puts an entry into a row, which is held if it is pinned; a tombstone has no bytes for a pin.
    func write(_ new: NewEntry, to row: DurableRow) throws(StoreError) {
        try state.bodies.link(new.body, &state.memory.bodies)
        if let replaced = row.body { try state.bodies.unlink(replaced, &state.memory.bodies) }
        let isDeleted = new.entry.kind == .tombstone
        let pin: PinState? = row.isPinned ? (isDeleted ? .failed : .held) : nil
        let trouble = row.isPinned && isDeleted ? PinTrouble(deleted: new.entry.status) : nil
        let size = new.rowSize
        let statement = state.statements[.setEntry]
        statement.bind(EntryColumn.key, row.number)
        statement.bind(new.entry, new.body)
        statement.bind(DurableColumn.size, size)
        statement.bind(DurableColumn.state, pin?.rawValue)
        statement.bind(DurableColumn.problem, trouble?.problem)
        statement.bind(DurableColumn.reason, trouble?.reason)
        var skeleton: Int64?
        if let form = new.form {
            skeleton = try state.references.take(form.skeleton, insteadOf: row.skeleton).number
        }
        if let old = row.skeleton, old != skeleton { _ = try state.references.release(old) }
        statement.bind(EntryColumn.skeleton, skeleton)
        statement.bind(EntryColumn.checksum, new.form?.checksum)
        try statement.run()
        try setReferences(of: row, new)
        state.budget.recount(row) { ($0.pin, $0.size) = (pin, size) }
        state.noteChange(of: row.name)
        // From now on the row is its user's own.
        if row.keepsShared { try state.keepers.setKeeper(row, false) }
        if row.keepsShared || row.name.scope == state.shared.sharedScope {
            try state.keepers.countKeepers(of: row.name.id)
        }
    }

    func take(_ base: NewEntry, in row: DurableRow) throws(StoreError) {
        guard row.hasEntry else { return try write(base, to: row) }
        // A row that it has brought itself was linked for the change before.
        if let upload = base.body.upload, row.body != upload.body { state.forget(upload) }
    }

    /// Confirms a row's bytes without a new body, as a 304 does, if it still has the validators.
    ///
    /// Nil if the cache's row is meant: there is no row here, or only a pin without bytes.
    func refresh(_ confirmed: Entry, in scope: ScopeKey) throws(StoreError) -> RefreshOutcome? {
        guard let row = try find(TargetName(scope, confirmed.id)) else { return nil }
        guard row.hasEntry else { return row.isTargeted ? .gone : nil }
        guard row.kind == .fetched, row.etag == confirmed.etag,
            row.lastModified == confirmed.lastModified, row.digest == confirmed.body.digest
        else { return .gone }
        var entry = confirmed
        entry.revision = row.revision
        let size =
            row.skeleton == nil ? entry.rowSize(in: scope, isChunked: row.body != nil) : row.size
        if StateBudget.hasToFit(row, as: .answer) {
            try state.budget.checkRoom(for: size, scope, replacing: row, paidBy: row.payer)
        }
        let pin: PinState? = row.isPinned ? .held : nil
        let statement = state.statements[.refresh]
        statement.bind(EntryColumn.key, row.number)
        statement.bind(confirmed: entry)
        statement.bind(DurableColumn.size, size)
        statement.bind(DurableColumn.state, pin?.rawValue)
        try statement.run()
        state.budget.recount(row) { ($0.pin, $0.size) = (pin, size) }
        state.noteChange(of: row.name)
        return .refreshed(entry)
    }

    func clear(_ row: DurableRow) throws(StoreError) {
        let kept = "SELECT length(request) FROM claim WHERE claim = \(row.number)"
        let request = try state.connection.integer(kept) ?? 0
        let size = StateBudget.sizeWithoutEntry(row.name, row.origin) + request
        try state.statements[.clearEntry].run((":key", row.number), (":size", size))
        try letGo(of: row)
        state.noteChange(of: row.name)
        state.budget.recount(row) { $0.size = size }
    }

    /// Drops bytes that do not match their checksum, unless other bytes have replaced them.
    ///
    /// A pin wants bytes from an origin again from then on; a base is unknown. Of an entity, the
    /// pins of answers that show it do.
    func dropDamaged(_ name: TargetName, where isDamaged: (DurableRow) -> Bool) throws(StoreError) {
        guard let found = try find(name), found.hasEntry, isDamaged(found) else { return }
        state.memory.pins.damaged += 1
        try clear(found)
        if found.kind == .entity { try wantAnswers(showing: found) }
        let isWanted = found.kind == .fetched
        guard name.scope != state.shared.sharedScope else {
            return try state.keepers.wantKept(name.id, isWanted)
        }
        guard found.isPinned, let emptied = try find(name) else { return }
        try state.pins.setState(of: emptied, .failed, .damaged, isWanted: isWanted)
        if isWanted { state.memory.hasUpdates = true }
    }

    /// Whether an entity that an answer shows was found damaged, or lost in a salvage.
    func lacksPart(_ answer: DurableRow) throws(StoreError) -> Bool {
        let sql = """
            WITH RECURSIVE below (row) AS (
                SELECT child FROM reference WHERE parent = :row
                UNION SELECT child FROM reference JOIN below ON parent = row)
            SELECT 1 FROM below JOIN claim ON claim = row WHERE kind IS NULL LIMIT 1
            """
        return try state.connection.statement(sql, (":row", answer.number)).first { _ in true }
            ?? false
    }

    /// Has pins of answers that show an entity want them from an origin again.
    func wantAnswers(showing entity: DurableRow) throws(StoreError) {
        let (scope, shared) = (entity.name.scope, state.shared.sharedScope)
        let sql = """
            WITH RECURSIVE above (row) AS (
                SELECT :row UNION SELECT parent FROM reference JOIN above ON child = row)
            SELECT id FROM above JOIN claim ON claim = row
            WHERE pinned_at IS NOT NULL AND skeleton IS NOT NULL
            """
        let answers = try state.connection.statement(sql, (":row", entity.number))
            .all { $0.entryID(.only) }
        for id in answers {
            let answer = try find(TargetName(scope, id))
            let pins = try scope == shared ? state.keepers.of(id) : [answer].compactMap { $0 }
            for pin in pins where pin.pin == .held {
                try state.pins.setState(of: pin, .waiting, nil, isWanted: true)
                state.memory.hasUpdates = true
            }
        }
    }

    func remove(_ row: DurableRow) throws(StoreError) {
        try letGo(of: row)
        if !row.isReleased { try releaseVariants(of: row.name) }
        try state.statements[.delete].run((":key", row.number))
        state.budget.recount(row.name.scope, from: row.charge, to: nil)
        state.noteChange(of: row.name)
    }

    func insert(
        _ name: TargetName,
        _ origin: OriginName?,
        pin: PinState? = nil,
        at pinnedAt: Timestamp? = nil,
        isTargeted: Bool = false,
        keepsShared: Bool = false,
        isHeld: Bool = false,
        with parent: DurableRow? = nil
    ) throws(StoreError) {
        let size = StateBudget.sizeWithoutEntry(name, origin?.text)
        // A row that comes with a pin, or with a row that came with one, counts as pins do.
        let isInPins = parent.map { $0.isPinned || $0.isInPins } ?? false
        let charge = RowCharge(pin: pin, isInPins: isInPins, size: size, payer: parent?.payer)
        let statement = state.statements[.insert]
        statement.bind(EntryColumn.scope, name.scope.text)
        statement.bind(EntryColumn.id, name.id.text)
        statement.bind(EntryColumn.origin, origin?.text)
        statement.bind(DurableColumn.size, size)
        statement.bind(DurableColumn.targeted, isTargeted)
        statement.bind(DurableColumn.shared, keepsShared)
        statement.bind(DurableColumn.pinnedAt, pinnedAt?.milliseconds)
        statement.bind(DurableColumn.state, pin?.rawValue)
        statement.bind(DurableColumn.wanted, pin == .waiting)
        statement.bind(DurableColumn.held, isHeld)
        statement.bind(DurableColumn.inPins, isInPins)
        statement.bind(DurableColumn.payer, charge.payer.map { Int64($0) })
        try statement.run()
        state.budget.recount(name.scope, from: nil, to: charge)
    }

    func hide(_ row: DurableRow, _ mark: HiddenMark) throws(StoreError) {
        // Before the commit, as in `cache.db`.
        state.shared.noteHiddenRow()
        if try state.hidden.add(mark, to: row.number) { count(marks: 1, of: [mark.scope]) }
        state.noteChange(of: row.name)
    }

    /// Shows a shared row again to users, as an answer has come for it whose request started at
    /// `start`; whether it was hidden from any.
    func endHiding(_ row: DurableRow, since start: Revision?) throws(StoreError) -> Bool {
        guard row.name.scope == state.shared.sharedScope, state.shared.mayHideRows else {
            return false
        }
        let removed = try state.hidden.remove(of: row.number, upTo: start)
        count(marks: -1, of: removed)
        return !removed.isEmpty
    }

    func removeMarks(of scopes: RowScopes) throws(StoreError) {
        count(marks: -1, of: try state.hidden.remove(scopes))
    }

    /// A mark counts in the queue of the user from whom it hides a row.
    private func count(marks: Int64, of scopes: [String]) {
        for scope in scopes {
            let uid = Scope(text: scope)?.uid
            state.memory.queue.add(bytes: marks * Limits.hiddenMarkBytes, of: uid)
        }
    }

    func merge(
        _ entities: NewEntities,
        _ number: Int,
        _ name: TargetName,
        since start: Revision? = nil,
        _ step: Step
    ) throws(StoreError) -> MergedEntity? {
        guard let row = try entry(name) else { return nil }
        let (kept, merged) = (entities.kept[number], entities.merged(number, into: row.held))
        guard merged.isWritten, !entities.isMade || merged.change != .nothing,
            let (entry, bytes) = merged.held.row(name.id, of: entities.origin, step.now)
        else { return merged }
        var new = NewEntry(scope: name.scope, entry: entry, body: .inline(bytes))
        if kept != nil { new.entry.isComplete = row.entry?.isComplete ?? true }
        let wasHidden = kept == nil ? try endHiding(row.claim, since: start) : false
        let isOther =
            merged.change != .nothing || wasHidden
            || row.entry.map { $0.isComplete != new.entry.isComplete } ?? false
        new.entry.revision = isOther ? step.revision : row.entry?.revision ?? step.revision
        new.client = entities.cause.client
        new.cause = entities.cause.text
        try put(new, isUpdate: isOther, wasHidden: wasHidden)
        return merged
    }
}
