import LarderModel
import LarderNormalize

/// A claimed row as the writer finds it before it changes it.
struct DurableRow: Sendable {
    let number: Int64
    /// Nil while there is no entry.
    let kind: EntryKind?
    let revision: Revision
    let byteCount: Int
    let digest: Digest
    let body: Int64?
    let size: Int64
    /// Nil when it is not pinned.
    let pin: PinState?
    let etag: String?
    let lastModified: String?
    let origin: String?
    /// What the origin answered when it had deleted what a pin keeps.
    let goneStatus: Int?
    let isWanted: Bool
    /// Whether an unsettled change targets it.
    let isTargeted: Bool
    /// Whether it keeps the shared row under its id, and has no entry of its own.
    let keepsShared: Bool
    /// Of a shared row in whose share it counts.
    let payer: UInt32?
    /// Of an answer that is kept normalized, and the checksum of its template.
    let skeleton: Int64?
    let checksum: Int64?
    /// Whether it is a variant of a URL that is pinned or targeted.
    let isHeld: Bool
    /// Whether it counts in the room of pins, as a pinned answer has brought it.
    let isInPins: Bool

    var charge: ClaimCharge {
        ClaimCharge(pin: pin, isInPins: isInPins, size: size, payer: payer)
    }
    var isPinned: Bool { pin != nil }
    /// Whether nothing keeps it but references to it, so that it goes without those once the cache has
    /// it synced.
    var isReleased: Bool { !isPinned && !isTargeted && !isHeld }
    /// Whether the entry under its id is the cache's: it is a pin that has none.
    var isLeftToCache: Bool { isPinned && !isTargeted && !hasEntry && !keepsShared }
    /// Whether what comes along with it counts in the room of pins.
    var bringsPins: Bool { isPinned || isInPins }
    /// What it counts as a pin.
    var pinnedSize: Int64 { isPinned ? size : 0 }
    var hasEntry: Bool { kind != nil }
    /// Whether it has an entry that is no tombstone, or is a pin of a shared row that has.
    var hasBytes: Bool { kind.map { $0 != .tombstone } ?? (keepsShared && pin == .held) }

    init(_ row: SQLiteStatement) {
        var numbers = RowNumbers(row)
        number = row.integer(EntryColumn.key)
        kind = row.integerOrNil(EntryColumn.kind).map { EntryKind(rawValue: $0) ?? .blob }
        revision = numbers.revision(EntryColumn.rev)
        origin = row.text(EntryColumn.origin)
        etag = row.text(EntryColumn.etag)
        lastModified = row.text(EntryColumn.lastModified)
        byteCount = numbers.byteCount(EntryColumn.bytes)
        digest = row.digest(EntryColumn.digestHigh, .digestLow)
        body = row.integerOrNil(EntryColumn.body)
        skeleton = row.integerOrNil(EntryColumn.skeleton)
        checksum = row.integerOrNil(EntryColumn.checksum)
        size = numbers.size(ClaimColumn.size)
        pin = PinState(claim: row)
        goneStatus = numbers.statusOrNil(ClaimColumn.goneStatus)
        isWanted = row.isTrue(ClaimColumn.wanted)
        isTargeted = row.isTrue(ClaimColumn.targeted)
        keepsShared = row.isTrue(ClaimColumn.shared)
        isHeld = row.isTrue(ClaimColumn.held)
        isInPins = row.isTrue(ClaimColumn.inPins)
        payer = row.integerOrNil(ClaimColumn.payer).flatMap(UInt32.init(exactly:))
    }

    static let columns: Set<ClaimColumn> = [
        .size, .pinnedAt, .state, .goneStatus, .wanted, .targeted, .shared, .held, .inPins, .payer,
    ]
}

/// A claimed row with its entry and the body where it stands.
struct SavedEntry: Sendable {
    let claim: DurableRow
    /// Nil while there is none, and for one that is damaged.
    let entry: Entry?
    let inline: [UInt8]
    let chunked: ChunkedBody?
    /// Its row where it is a normalized answer; then `inline` is its template.
    var normalized: NormalizedRow?
}

/// The rows of `state.db`: found, filled, confirmed, emptied, taken away.
struct DurableRows {
    let state: StateWriter

    /// Whether a row has what an entry brings; of a normalized one its template, as its entities are
    /// told apart from it.
    func matches(_ row: DurableRow, _ new: NewEntry) throws(StoreError) -> Bool {
        guard let form = new.form, let skeleton = row.skeleton else {
            return row.matches(new.entry)
        }
        guard row.kind == new.entry.kind, row.checksum == form.checksum else { return false }
        return try state.reader.references.skeleton(skeleton)?.bytes == form.skeleton.bytes
    }

    /// Writes down to which entities a row refers now; of each of them there is a row from then on.
    func setReferences(
        of row: DurableRow,
        _ form: AnswerForm?,
        _ entry: Entry,
        _ body: NewBody,
        _ scope: ScopeKey
    ) throws(StoreError) {
        var (references, origin) = (form?.references ?? [], form?.origin)
        if let name = entry.id.entity, case .inline(let bytes) = body,
            let held = try? HeldEntity(stored: bytes, isDeleted: entry.kind == .tombstone)
        {
            (references, origin) = (held.references, name.origin)
        }
        guard let origin, !references.isEmpty else {
            guard row.skeleton != nil || row.kind == .entity else { return }
            return try noteReleasable(try state.tables.removeReferences(of: row.number), scope)
        }
        var wanted: [Int64: [UInt8]] = [:]
        for reference in references {
            let id = EntryID(EntityName(reference.key, of: origin))
            let child = try makeRow(scope, id, with: row)
            wanted[child, default: []] += reference.place.stored
        }
        try noteReleasable(try state.tables.setReferences(of: row.number, wanted), scope)
        guard scope == state.index.sharedScope else { return }
        for child in wanted.keys { try state.keepers.countReferred(child) }
    }

    /// The number of an id's row; where there is none one is made, which waits to be filled.
    ///
    /// It comes along with `parent`, and counts where that does.
    @discardableResult
    func makeRow(
        _ scope: ScopeKey,
        _ id: EntryID,
        with parent: DurableRow? = nil,
        isHeld: Bool = false
    ) throws(StoreError) -> Int64 {
        if let found = try find(scope, id) {
            if isHeld, !found.isHeld {
                try state.connection.execute(
                    "UPDATE claim SET held = 1 WHERE claim = \(found.number)"
                )
            }
            return found.number
        }
        try insert(scope, id, id.entity?.origin, isHeld: isHeld, with: parent)
        state.memory.unfilled.append(TargetName(scope, id))
        // Maintenance looks whether something keeps it in the end.
        state.memory.releasable.append(TargetName(scope, id))
        return state.connection.lastInsertedRow
    }

    /// The next row that was made and waits to be filled.
    func takeUnfilled() -> TargetName? { state.memory.unfilled.popLast() }

    // MARK: What is kept for nothing

    /// Lets go of what a row that is emptied or goes has beside itself.
    func letGo(of row: DurableRow, _ scope: ScopeKey) throws(StoreError) {
        if let body = row.body { try state.bodies.unlink(body, &state.memory.bodies) }
        if let skeleton = row.skeleton { _ = try state.tables.giveBack(skeleton) }
        guard row.skeleton != nil || row.kind == .entity else { return }
        try noteReleasable(try state.tables.removeReferences(of: row.number), scope)
    }

    private func noteReleasable(
        _ rows: [Int64],
        _ scope: ScopeKey
    ) throws(StoreError) {
        for row in rows {
            let text = try state.connection.text("SELECT id FROM claim WHERE claim = \(row)")
            guard let id = text.flatMap({ try? EntryID(stored: $0) }) else { continue }
            state.memory.releasable.append(TargetName(scope, id))
            if scope == state.index.sharedScope { try state.keepers.countReferred(row) }
        }
    }

    /// A reason of an id has gone: where none is left, nothing keeps it and its variants.
    func noteReason(gone scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        guard let row = try find(scope, id), !row.isPinned, !row.isTargeted else { return }
        state.memory.releasable.append(TargetName(scope, id))
        try releaseVariants(of: id, scope)
    }

    /// Nothing keeps the variants of a URL any more.
    func releaseVariants(of id: EntryID, _ scope: ScopeKey) throws(StoreError) {
        guard let prefix = id.variantPrefix else { return }
        let variants = try state.connection.statement(
            """
            UPDATE claim SET held = 0 WHERE scope = :scope AND id >= :prefix AND id < :end AND held = 1
            RETURNING id
            """
        )
        let end = RowQuery.end(ofPrefix: prefix)
        variants.bind((":scope", scope.text), (":prefix", prefix), (":end", end))
        while try variants.step() {
            guard let id = variants.entryID(.only) else { continue }
            state.memory.releasable.append(TargetName(scope, id))
        }
    }

    /// Whether nothing keeps a row.
    func isFree(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Bool {
        guard let row = try find(scope, id) else { return false }
        return try !state.reader.isKept(row.number)
    }

    func find(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> DurableRow? {
        let statement = state.statements[.find]
        statement.bind((":scope", scope.text), (":id", id.text))
        defer { statement.reset() }
        return try statement.step() ? DurableRow(statement) : nil
    }

    /// A row with the body that stands in it; nil when there is none.
    func entry(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> SavedEntry? {
        let statement = state.statements[.get]
        statement.bind((":scope", scope.text), (":id", id.text))
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let claim = DurableRow(statement)
        let row = EntryRow(statement, file: .state)
        guard claim.hasEntry, row.isSound, let entry = row.entry() else {
            return SavedEntry(claim: claim, entry: nil, inline: [], chunked: nil)
        }
        let inline = row.withBody { Array($0) }
        return SavedEntry(
            claim: claim,
            entry: entry,
            inline: inline,
            chunked: row.chunkedBody,
            normalized: row.normalized(in: scope)
        )
    }

    // MARK: Entries

    /// Stores an entry in its row, in place of what that holds; the entry has its revision.
    ///
    /// Equal bytes keep the old revision. `pinnedAt` makes a pin of it, also where there is no row;
    /// else there has to be one.
    /// When there is no room the row is as it was before; what is targeted has room, as its base
    /// follows what the server says. Watchers hear of it unless it is moved from the cache, and where it
    /// was hidden from a user also of equal bytes.
    @discardableResult
    func put(
        _ new: NewEntry,
        pinnedAt: Timestamp? = nil,
        isNews: Bool = true,
        wasHidden: Bool = false
    ) throws(StoreError) -> PutReceipt {
        let old = try find(new.scope, new.entry.id)
        let size = new.rowSize
        if StateBudget.hasToFit(old, as: pinnedAt == nil ? .answer : .pin) {
            let (replaced, payer) = (old?.pinnedSize ?? 0, old?.payer)
            try state.budget.checkRoom(for: size, new.scope, replacing: replaced, paidBy: payer)
        }
        if let pinnedAt { try state.pins.makePin(new, old, pinnedAt) }
        guard let row = try find(new.scope, new.entry.id) else { throw .closed }
        let hasBytes = try matches(row, new)
        let isKept = row.hasEntry && row.goneStatus == nil && hasBytes
        let isSame = isKept && !wasHidden
        let name = TargetName(new.scope, new.entry.id)
        let isCompared = row.isTargeted || name.id.isEntity
        let view = isCompared && !isSame && isNews ? try state.views.view(of: name) : nil
        var entry = new.entry
        if isSame { entry.revision = row.revision }
        try write(entry, new.body, form: new.form, size: size, to: row, in: new.scope)
        if !isSame, isNews {
            try state.views.logPut(new, entry.revision, since: view, isShownAgain: isKept)
        }
        if row.isWanted { state.memory.hasNews = true }
        return PutReceipt(revision: entry.revision, isNew: !row.hasBytes, isSame: isSame)
    }

    /// Puts an entry into a row, which is held if it is pinned; a tombstone has no bytes for a pin.
    func write(
        _ entry: Entry,
        _ body: NewBody,
        form: AnswerForm? = nil,
        size: Int64,
        to row: DurableRow,
        in scope: ScopeKey
    ) throws(StoreError) {
        try state.bodies.link(body, &state.memory.bodies)
        if let replaced = row.body { try state.bodies.unlink(replaced, &state.memory.bodies) }
        let isDeleted = entry.kind == .tombstone
        let pin: PinState? = row.isPinned ? (isDeleted ? .failed : .held) : nil
        let trouble = row.isPinned && isDeleted ? PinTrouble(deleted: entry.status) : nil
        let statement = state.statements[.setEntry]
        statement.bind(EntryColumn.key, row.number)
        statement.bind(entry, body)
        statement.bind(ClaimColumn.size, size)
        statement.bind(ClaimColumn.state, pin?.rawValue)
        statement.bind(ClaimColumn.problem, trouble?.problem)
        statement.bind(ClaimColumn.reason, trouble?.reason)
        var skeleton: Int64?
        if let form {
            skeleton = try state.tables.take(form.skeleton, insteadOf: row.skeleton).number
        }
        if let old = row.skeleton, old != skeleton { _ = try state.tables.giveBack(old) }
        statement.bind(EntryColumn.skeleton, skeleton)
        statement.bind(EntryColumn.checksum, form?.checksum)
        try statement.run()
        try setReferences(of: row, form, entry, body, scope)
        state.budget.recount(scope, row) { ($0.pin, $0.size) = (pin, size) }
        state.memory.changedRows.append(RowKey(scope, entry.id))
        // It is its user's own row from now on.
        if row.keepsShared { try state.statements[.keep].run((":key", row.number), (":shared", 0)) }
        if row.keepsShared || scope == state.index.sharedScope {
            try state.keepers.countKeepers(of: entry.id)
        }
    }

    /// Confirms a row's bytes without a new body, as a 304 does, if it still has the validators; nil
    /// where that is the cache's row, as there is none here, or a pin without bytes.
    func refresh(_ confirmed: Entry, in scope: ScopeKey) throws(StoreError) -> RefreshOutcome? {
        guard let row = try find(scope, confirmed.id) else { return nil }
        guard row.hasEntry else { return row.isTargeted ? .gone : nil }
        guard row.kind == .fetched, row.etag == confirmed.etag,
            row.lastModified == confirmed.lastModified, row.digest == confirmed.body.digest
        else { return .gone }
        var entry = confirmed
        entry.revision = row.revision
        let size =
            row.skeleton == nil ? entry.rowSize(in: scope, isChunked: row.body != nil) : row.size
        if row.isPinned, !row.isTargeted {
            try state.budget.checkRoom(for: size, scope, replacing: row.size, paidBy: row.payer)
        }
        let pin: PinState? = row.isPinned ? .held : nil
        let statement = state.statements[.refresh]
        statement.bind(EntryColumn.key, row.number)
        statement.bind(confirmed: entry)
        statement.bind(ClaimColumn.size, size)
        statement.bind(ClaimColumn.state, pin?.rawValue)
        try statement.run()
        state.budget.recount(scope, row) { ($0.pin, $0.size) = (pin, size) }
        state.memory.changedRows.append(RowKey(scope, entry.id))
        return .refreshed(entry)
    }

    /// Leaves a row without an entry.
    func clear(_ row: DurableRow, _ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        let size = StateBudget.sizeWithoutEntry(scope, id, row.origin)
        try state.statements[.clearEntry].run((":key", row.number), (":size", size))
        _ = try endHiding(row, of: scope, since: nil)
        try letGo(of: row, scope)
        state.memory.changedRows.append(RowKey(scope, id))
        state.budget.recount(scope, row) { $0.size = size }
    }

    /// Drops bytes that do not match their checksum, unless there are others by now.
    ///
    /// Where they came from an origin a pin wants them from then on; a base is unknown.
    func dropDamaged(
        _ scope: ScopeKey,
        _ id: EntryID,
        where isDamaged: (DurableRow) -> Bool
    ) throws(StoreError) {
        guard let found = try find(scope, id), found.hasEntry, isDamaged(found) else { return }
        state.memory.pins.damaged += 1
        try clear(found, scope, id)
        guard scope != state.index.sharedScope else {
            return try state.keepers.wantKept(id, found.kind == .fetched)
        }
        guard found.isPinned, let emptied = try find(scope, id) else { return }
        let trouble = PinTrouble(
            problem: "storage",
            reason: "its bytes were damaged on the disk"
        )
        let isWanted = found.kind == .fetched
        try state.pins.setState(of: emptied, in: scope, .failed, trouble, isWanted: isWanted)
        state.memory.hasNews = isWanted
    }

    /// Takes a row away with its entry.
    func remove(_ row: DurableRow, _ scope: ScopeKey, _ id: EntryID) throws(StoreError) {
        try letGo(of: row, scope)
        _ = try endHiding(row, of: scope, since: nil)
        if !row.isReleased { try releaseVariants(of: id, scope) }
        try state.statements[.delete].run((":key", row.number))
        state.budget.recount(scope, from: row.charge, to: nil)
        state.memory.changedRows.append(RowKey(scope, id))
    }

    /// Makes a row without an entry.
    func insert(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ origin: OriginName?,
        pin: PinState? = nil,
        at pinnedAt: Timestamp? = nil,
        isTargeted: Bool = false,
        keepsShared: Bool = false,
        isHeld: Bool = false,
        with parent: DurableRow? = nil
    ) throws(StoreError) {
        let (isInPins, payer) = (parent?.bringsPins == true, parent?.payer)
        let size = StateBudget.sizeWithoutEntry(scope, id, origin?.text)
        try state.statements[.insert].run(
            (":scope", scope.text),
            (":id", id.text),
            (":origin", origin?.text),
            (":size", size),
            (":targeted", isTargeted),
            (":shared", keepsShared),
            (":pinned_at", pinnedAt?.milliseconds),
            (":state", pin?.rawValue),
            (":wanted", pin == .waiting),
            (":held", isHeld),
            (":in_pins", isInPins),
            (":payer", payer.map(Int64.init))
        )
        let charge = ClaimCharge(pin: pin, isInPins: isInPins, size: size, payer: payer)
        state.budget.recount(scope, from: nil, to: charge)
    }

    /// Hides a shared row from the user of a scope.
    func hide(_ row: DurableRow, _ id: EntryID, _ mark: HiddenMark) throws(StoreError) {
        // Before the commit, as in `cache.db`.
        state.reader.shared.noteHiddenRow()
        let before = state.connection.totalChanges
        try state.statements[.hide].run(
            (":key", row.number),
            (":scope", mark.scope),
            (":rev", mark.revision)
        )
        if state.connection.totalChanges != before {
            count(marks: 1, of: mark.scope)
        } else {
            try state.statements[.hideLater].run(
                (":key", row.number),
                (":scope", mark.scope),
                (":rev", mark.revision)
            )
        }
        state.memory.changedRows.append(RowKey(state.index.sharedScope, id))
    }

    /// Shows a shared row again to users, as an answer has come for it whose request started at `start`;
    /// whether it was hidden from any.
    func endHiding(
        _ row: DurableRow,
        of scope: ScopeKey,
        since start: Revision?
    ) throws(StoreError) -> Bool {
        guard scope == state.index.sharedScope, state.reader.shared.mayHideRows else {
            return false
        }
        let statement = state.statements[.unhide]
        statement.bind((":key", row.number), (":rev", start?.number ?? .max))
        defer { statement.reset() }
        return try countRemoved(statement) > 0
    }

    /// Removes the marks of some users, who are forgotten.
    func removeMarks(of scopes: RowScopes) throws(StoreError) {
        let statement = try state.connection.prepare(
            "DELETE FROM hidden WHERE \(scopes.condition) RETURNING scope"
        )
        scopes.bind(to: statement)
        _ = try countRemoved(statement)
    }

    private func countRemoved(_ statement: SQLiteStatement) throws(StoreError) -> Int {
        let scopes = try statement.all { $0.text(.only) ?? "" }
        for scope in scopes { count(marks: -1, of: scope) }
        return scopes.count
    }

    /// A mark counts in the queue of the user from whom it hides a row.
    private func count(marks: Int64, of scope: String) {
        let uid = Scope(text: scope)?.uid
        state.memory.queue.add(bytes: marks * Limits.hiddenMarkBytes, of: uid)
    }

    func marks(of row: DurableRow) throws(StoreError) -> [HiddenMark] {
        guard state.reader.shared.mayHideRows else { return [] }
        let statement = state.statements[.marks]
        statement.bind(":key", row.number)
        defer { statement.reset() }
        return try statement.all(HiddenMark.init)
    }

    /// Merges an answer into what is saved of an entity; what it came to, nil where that is nothing.
    func merge(
        _ entities: NewEntities,
        _ number: Int,
        _ id: EntryID,
        in place: ScopeKey,
        since start: Revision? = nil,
        _ step: Revision,
        _ now: Timestamp
    ) throws(StoreError) -> MergedEntity? {
        guard let row = try entry(place, id) else { return nil }
        let merged = entities.split.merged(number, into: row.held, fetch: entities.fetch.number)
        guard merged.isWritten,
            let (entry, bytes) = merged.held.row(id, of: entities.origin, now)
        else { return merged }
        var new = NewEntry(scope: place, entry: entry, body: .inline(bytes))
        let wasHidden = try endHiding(row.claim, of: place, since: start)
        let isOther = merged.change != .nothing || wasHidden
        new.entry.revision = isOther ? step : row.entry?.revision ?? step
        new.client = entities.cause.client
        new.cause = entities.cause.text
        try put(new, isNews: isOther, wasHidden: wasHidden)
        return merged
    }
}

extension NewEntry {
    /// What its row counts.
    var rowSize: Int64 {
        guard let form, case .inline(let template) = body else {
            return entry.rowSize(in: scope, isChunked: body.isUploaded)
        }
        return entry.rowSize(in: scope, dataBytes: template.count) + form.size
    }
}

extension DurableRow {
    /// Whether the row has the bytes that an entry brings.
    func matches(_ entry: Entry) -> Bool {
        kind == entry.kind && byteCount == entry.body.byteCount && digest == entry.body.digest
    }
}
