package import LarderModel
package import LarderNormalize

package struct Target: Sendable {
    /// The entry in its row; nil while nothing is known.
    ///
    /// Also that of a pin whose origin has deleted it, see ``isDeleted``.
    package internal(set) var entry: Entry?
    package internal(set) var isDeleted = false
    package internal(set) var body = Body.inline([])
    package internal(set) var isOfSharedRow = false
    /// The digest of bytes that do not match it, which are left out.
    var damaged: Digest?
    /// In the order of their numbers.
    package internal(set) var changes: [OpenChange]

    package enum Body: Sendable {
        case inline([UInt8])
        /// The body is not JSON, so no view needs its bytes.
        case chunked(ChunkedBody)
    }

    package var base: TargetBase {
        guard let entry else { return .unknown }
        var bytes: [UInt8]?
        if case .inline(let inline) = body { bytes = inline }
        guard !isDeleted || entry.id.isEntity else { return .deleted(entry) }
        return TargetBase(entry, bytes)
    }
}

package struct ModifierFilter: Sendable {
    package var scopes: RowScopes
    package var state: ModifierState?
    /// Without the dead letters.
    package var isUnsettled = false
    package var isUnanswered = false
    package var target: EntryID?
    package var laneName: LaneName?

    package init(_ scopes: RowScopes) { self.scopes = scopes }

    /// Each index here has the order of numbers, or gives a target's numbers, which are few: a page
    /// ends where it is full.
    var sql: String {
        let isOpen = isUnsettled || state != nil && state != .failed
        let settled = state == .failed ? "1" : isOpen ? "0, 2" : "0, 1, 2"
        var conditions = [scopes.condition]
        let index: String
        if target != nil {
            index = "NOT INDEXED"
            conditions.append(
                """
                number IN (SELECT modifier FROM change INDEXED BY change_target
                    WHERE \(scopes.condition) AND id = :target AND settled IN (\(settled))
                        AND modifier > :after)
                """
            )
        } else {
            conditions.append("number > :after")
            if case .one = scopes, state == .failed {
                index = "INDEXED BY modifier_dead"
            } else {
                index = isOpen ? "INDEXED BY modifier_open" : "NOT INDEXED"
            }
        }
        if isOpen { conditions.append("settled_at IS NULL") }
        if isUnanswered { conditions.append("answered = 0") }
        if state == .failed { conditions.append("settled_at IS NOT NULL") }
        if state != nil { conditions.append("state = :state") }
        if laneName != nil { conditions.append("lane = :lane") }
        return """
            SELECT \(ModifierColumn.withoutBytes) FROM modifier \(index)
            WHERE \(conditions.joined(separator: " AND ")) ORDER BY number LIMIT :limit
            """
    }
}

package struct SettledModifier: Equatable, Sendable {
    package let place: Int64
    package let number: ModifierNumber
    package let scope: Scope
    package let id: String
    package let origin: String
    package let method: String
    package let url: String
    package let outcome: ModifierState
    package let reason: ModifierReason?
    package let answerStatus: Int?
    package let acceptedAt: Timestamp
    package let settledAt: Timestamp
    package let revision: Revision
    /// The first of the ids that it changed; none of one that was settled by an earlier version.
    package let targets: [EntryID]
    package let attempts: Int
    /// The idempotency key of the last round.
    package let idempotencyKey: String
    package let bodyByteCount: Int
    package let laneName: LaneName?
    /// Nil also of one that was settled by an earlier version.
    package let answeredAt: Timestamp?
    package let answerHeaders: HeaderFields
    /// Empty also if it was forgotten, as the oldest are.
    package let answerBody: [UInt8]
    package let joinedInto: String?

    /// Reads a row with the columns of ``HistoryColumn``; a damaged one with what is left of it.
    init?(_ row: SQLiteStatement, isDamaged: Bool = false) {
        typealias Column = HistoryColumn
        guard let scope = row.scope(Column.scope),
            let outcome = row.text(Column.outcome).flatMap(ModifierState.init(rawValue:))
        else { return nil }
        var numbers = RowNumbers(row)
        place = numbers.number(Column.history, in: Limits.rowNumbers)
        number = ModifierNumber(numbers.number(Column.number, in: Limits.rowNumbers))
        self.scope = scope
        id = row.text(Column.id) ?? ""
        origin = row.text(Column.origin) ?? ""
        method = row.text(Column.method) ?? ""
        url = row.text(Column.url) ?? ""
        self.outcome = outcome
        reason = row.text(Column.reason).flatMap(ModifierReason.init(rawValue:))
        answerStatus = numbers.statusOrNil(Column.answerStatus)
        acceptedAt = numbers.moment(Column.acceptedAt)
        settledAt = numbers.moment(Column.settledAt)
        revision = numbers.revision(Column.rev)
        let lines = row.text(Column.targets) ?? ""
        targets = lines.split(separator: "\n").compactMap { try? EntryID(stored: String($0)) }
        attempts = numbers.count(Column.attempts)
        idempotencyKey = row.text(Column.key) ?? id
        bodyByteCount = numbers.byteCount(Column.bytes)
        laneName = row.text(Column.lane).flatMap { try? LaneName($0) }
        answeredAt = numbers.momentOrNil(Column.answerAt)
        answerHeaders = HeaderFields(lines: row.text(Column.answerHeaders) ?? "")
        answerBody = Array(row.bytes(Column.answerBody))
        joinedInto = row.text(Column.joinedInto)
        guard isDamaged || numbers.areSound, outcome.isSettled else { return nil }
    }
}

/// The last thing that the server, or a client of its own blob, said an id is.
package enum TargetBase: Sendable {
    case unknown
    /// The id is deleted; the entry has the status.
    case deleted(Entry)
    /// A value; its bytes are read only if they are one JSON text.
    case value(Entry, [UInt8]?)
    /// An entity, which may be deleted.
    case entity(Entry, HeldEntity)

    init(_ entry: Entry, _ bytes: [UInt8]?) {
        let isDeleted = entry.kind == .tombstone
        if entry.id.isEntity, let bytes {
            let held = try? HeldEntity(stored: bytes, isDeleted: isDeleted)
            self = held.map { .entity(entry, $0) } ?? .unknown
        } else {
            self = isDeleted ? .deleted(entry) : .value(entry, entry.body.isJSON ? bytes : nil)
        }
    }

    package var isHTML: Bool {
        guard case .value(let entry, _) = self else { return false }
        return entry.mediaType?.lowercased().hasPrefix("text/html") ?? false
    }

    /// Whether it is only a part of the target, which confirmed writes have said.
    package var isPart: Bool {
        switch self {
        case .unknown, .deleted: false
        case .value(let entry, _), .entity(let entry, _): !entry.isComplete
        }
    }

    package var held: HeldEntity { if case .entity(_, let held) = self { held } else { .unknown } }
}

/// Keeps an answer whose request started before a write from undoing that write (P-06).
package struct AnswerFence: Sendable {
    /// Parts of an answer that are stored although a write has overtaken it.
    package enum Use: Int, Sendable {
        /// The members that the write has not touched, on top of base.
        case rest = 1
        case nothing
    }

    /// The members of an id that were written and that the answer may not know of yet.
    ///
    /// Asked for every answer, on the writer's thread, so it must be quick.
    package let touched: @Sendable (ScopeKey, EntryID) -> TouchedMembers
    /// The users whose own rows under an id were stored since the request started.
    ///
    /// A shared answer may be older than those rows, and is hidden from these users.
    package let hiddenFrom: @Sendable (EntryID) -> [ScopeKey]
    /// Hears that the answer is stored as a row of a user's own, which comes before the shared one.
    package let storesOwn: @Sendable (ScopeKey, EntryID) -> Void
    /// Hears what is used of an overtaken answer; called there, too, and the last call counts.
    package let used: @Sendable (Use) -> Void

    package init(
        touched: @escaping @Sendable (ScopeKey, EntryID) -> TouchedMembers,
        hiddenFrom: @escaping @Sendable (EntryID) -> [ScopeKey] = { _ in [] },
        storesOwn: @escaping @Sendable (ScopeKey, EntryID) -> Void = { _, _ in },
        used: @escaping @Sendable (Use) -> Void
    ) {
        self.touched = touched
        self.hiddenFrom = hiddenFrom
        self.storesOwn = storesOwn
        self.used = used
    }

    package func covers(_ scope: ScopeKey, _ id: EntryID) -> Bool { touched(scope, id) != .none }

    /// Whether nothing is to be stored under an id, which is told.
    func keepsOut(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        guard covers(scope, id) else { return false }
        used(.nothing)
        return true
    }
}

package struct TargetReader {
    let reader: StoreReader
    private var shared: SharedCacheState { reader.shared }

    /// A target with its unsettled changes, as of one commit.
    ///
    /// Nil for an id that no modifier targets, which costs one look into memory: clients then see
    /// its entry. Changes of modifiers after `last`, and changes beyond `changesMax`, are left out.
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
        // The index covers a target before its accept commits, and until after its settlement
        // commits.
        return target.changes.isEmpty ? nil : target
    }

    /// Whether the row of a target is to be read after a write.
    package func isToBeRead(_ name: TargetName) throws(StoreError) -> Bool {
        let sql = "SELECT 1 FROM reading WHERE target = \(QueueStatement.readTarget)"
        return try reader.stateReader().connection.statement(sql, of: name).step()
    }

    /// Returns the modifiers of a scope that are sent soon, or are in flight.
    package func sentSoon(
        of ids: some Sequence<ModifierID>,
        in scope: ScopeKey
    ) throws(StoreError) -> Set<ModifierID> {
        let state = try reader.stateReader()
        var sent: Set<ModifierID> = []
        for id in ids {
            let isSent = try state.connection.statement(
                """
                SELECT 1 FROM modifier
                WHERE scope = :scope AND id = :id AND state IN ('queued', 'in_flight')
                """,
                (":scope", scope.text),
                (":id", id.text)
            ).step()
            if isSent { sent.insert(id) }
        }
        return sent
    }

    func read(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ place: ResidencyIndex.RowLocation,
        _ state: StateReader,
        upTo last: ModifierNumber = ModifierNumber(.max),
        changesMax: Int = .max
    ) throws(StoreError) -> Target {
        try reader.loopBudget.admit(changes: place.targets)
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
        // The index may be ahead of the state that is read of `state.db`.
        guard reader.heldState != nil || shared.residency.mayHaveDeadLetters(scope, id) else {
            return 0
        }
        let sql = """
            SELECT count(DISTINCT modifier) FROM change INDEXED BY change_target
            WHERE scope = :scope AND id = :id AND settled = 1
            """
        let connection = try reader.openStateReader().connection
        let statement = try connection.statement(sql, (":scope", scope.text), (":id", id.text))
        return try statement.first { Int($0.integer(.only)) } ?? 0
    }

    /// The effects of the first dead letters of an id, as far as a frame can show them.
    package func lostEffects(
        _ scope: ScopeKey,
        _ id: EntryID
    ) throws(StoreError) -> [(modifier: String, effect: [UInt8])] {
        let sql = """
            SELECT modifier.id AS id, effect FROM change INDEXED BY change_target
                JOIN modifier ON number = change.modifier
            WHERE change.id = :id AND change.scope = :scope AND settled = 1
            ORDER BY change.modifier LIMIT \(Limits.rowWritesMax)
            """
        let connection = try reader.openStateReader().connection
        let statement = try connection.statement(sql, (":scope", scope.text), (":id", id.text))
        var bytes = 0
        return try statement.all { row -> (modifier: String, effect: [UInt8])? in
            let effect = Array(row.bytes("effect"))
            bytes += effect.count
            guard bytes <= Limits.inlineJSONBytesMax else { return nil }
            return row.text("id").map { ($0, effect) }
        }
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

extension TargetBase {
    /// With the time and the revision of an earlier one: what settled writes have made of it since
    /// is no later read.
    func read(with earlier: TargetBase) -> TargetBase {
        let last = earlier.row
        func dated(_ row: Entry) -> Entry {
            var row = row
            row.storedAt = last?.storedAt ?? Timestamp(milliseconds: 0)
            row.revision = last?.revision ?? Revision(0)
            return row
        }
        return switch self {
        case .unknown: .unknown
        case .deleted(let row): .deleted(dated(row))
        case .value(let row, let bytes): .value(dated(row), bytes)
        case .entity(let row, let held): .entity(dated(row), held)
        }
    }

    private var row: Entry? {
        switch self {
        case .unknown: nil
        case .deleted(let row), .value(let row, _), .entity(let row, _): row
        }
    }

    func tombstone(_ id: EntryID, _ status: Int, _ now: Timestamp) -> Entry {
        Entry(tombstone: id, status: status, row?.origin, at: now)
    }
}
