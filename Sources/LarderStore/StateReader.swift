import LarderModel
import LarderNormalize

/// The part of a ``StoreReader`` that reads `state.db`, on a read-only connection.
///
/// Each read is a transaction of its own, so that it delays a reset of the WAL only briefly. Reads
/// of one moment share a transaction (``hold()``).
final class StateReader {
    let connection: SQLiteConnection
    private let get: SQLiteStatement
    /// Whether every read sees one commit: while held, and always in the writer's transactions.
    private(set) var isHeld: Bool
    var loopBudget = LoopReadBudget()
    var chunks: ChunkReader { ChunkReader(connection: connection) }
    let references: ReferenceTable
    let shared: SharedCacheState

    init(
        _ connection: SQLiteConnection,
        _ shared: SharedCacheState,
        isInTransaction: Bool = false
    ) throws(StoreError) {
        self.connection = connection
        self.shared = shared
        references = ReferenceTable(connection, of: .state)
        isHeld = isInTransaction
        get = try connection.prepare(
            """
            SELECT \(EntryColumn.listOfClaim) FROM claim
            WHERE scope = :scope AND id = :id AND kind IS NOT NULL
            """
        )
    }

    /// Hands a durable row that has an entry to `read` as the row of an entry; nil when there is
    /// none.
    func withEntry<Value>(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> Value? {
        get.bind(EntryColumn.scope, scope.text)
        get.bind(EntryColumn.id, id.text)
        return try get.first { row in
            let row = EntryRow(row, file: .state)
            return read(row)
        }
    }

    func revision(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Revision? {
        try claim("rev", TargetName(scope, id))
            .first { Revision($0.integer(.only).clamped(to: Limits.rowRevisions)) }
    }

    func claim(
        _ columns: String,
        _ name: TargetName,
        _ condition: String = ""
    ) throws(StoreError) -> SQLiteStatement {
        let sql = "SELECT \(columns) FROM claim WHERE scope = :scope AND id = :id \(condition)"
        return try connection.statement(sql, of: name)
    }

    func lastStep() throws(StoreError) -> Revision {
        let sql = """
            SELECT max(coalesce((SELECT max(change) FROM change_log), 0) / \(ChangeLog.places),
                coalesce((SELECT rev FROM change_log_start), 0))
            """
        return Revision(try connection.statement(sql).first { $0.integer(.only) } ?? 0)
    }

    func inTransaction<Value>(_ read: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        if isHeld { return try read() }
        try connection.statement("BEGIN").run()
        defer { connection.rollBack() }
        return try read()
    }

    func hold() throws(StoreError) {
        guard !isHeld else { return }
        try connection.statement("BEGIN").run()
        isHeld = true
    }

    func letGo() {
        guard isHeld else { return }
        isHeld = false
        connection.rollBack()
    }

    var queue: QueueReader { QueueReader(state: self) }
    var prefetches: PrefetchReader {
        PrefetchReader(state: self, count: shared.residency.pinTotals.sets)
    }

    func pin(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Pin? {
        try claim(Pin.columns, TargetName(scope, id), "AND pinned_at IS NOT NULL").first(wholePin)
    }

    private func wholePin(_ row: SQLiteStatement) throws(StoreError) -> Pin? {
        guard var pin = Pin(row) else { return nil }
        for set in try prefetches.keepers(of: pin.id, in: pin.scope) {
            pin.sets.append(set.name)
            guard let interval = set.refresh else { continue }
            pin.refresh = min(pin.refresh ?? interval, interval)
        }
        guard pin.keepsShared else { return pin }
        let scope = shared.key(for: pin.scope)
        guard try isHidden(pin.id, from: scope) != true,
            !shared.origins.showsOwnOnly(pin.id, pin.scope)
        else { return pin }
        let row = try claim(Pin.columns, shared.sharedName(pin.id))
        if try row.step() { pin.entry = Pin.entry(row) }
        return pin
    }

    func pins(of scope: ScopeKey, after cursor: String?, limit: Int) throws(StoreError) -> [Pin] {
        let sql = """
            SELECT \(Pin.columns) FROM claim INDEXED BY claim_pinned
            WHERE scope = :scope AND id > :id AND pinned_at IS NOT NULL ORDER BY id LIMIT :limit
            """
        let (after, limit) = ((":id", cursor ?? ""), (":limit", limit))
        return try connection.statement(sql, (":scope", scope.text), after, limit).all(wholePin)
    }

    func pins(
        of rows: String = "claim",
        where condition: String,
        after number: Int64
    ) throws(StoreError) -> [Pin] {
        let sql = """
            SELECT \(Pin.columns) FROM \(rows)
            WHERE claim > :after AND \(condition) ORDER BY claim LIMIT \(Limits.pageRowsMax)
            """
        let statement = try connection.statement(sql, (":after", number))
        return try statement.page(by: EntryColumn.key, after: number, Pin.init)
    }

    func usage(_ scopes: RowScopes) throws(StoreError) -> PinUsage {
        let waiting = PinState.waiting.rawValue
        let sql = """
            SELECT coalesce(sum(pinned_at IS NOT NULL AND payer IS NULL), 0) AS count,
                coalesce(sum(\(SQLiteStatement.countedSize)), 0) AS bytes,
                coalesce(sum(pinned_at IS NOT NULL AND state = \(waiting)), 0) AS waiting
            FROM claim WHERE \(scopes.condition) AND (pinned_at IS NOT NULL OR in_pins = 1)
            """
        let statement = try connection.statement(sql, of: scopes)
        _ = try statement.step()
        return PinUsage(
            count: statement.integer("count"),
            bytes: statement.integer("bytes"),
            waiting: statement.integer("waiting")
        )
    }

    func allRows() throws(StoreError) -> [DurableRow] {
        try connection.prepare("SELECT \(DurableRow.columnsWithTargets) FROM claim NOT INDEXED")
            .all { DurableRow($0, shared) }
    }

    /// Whether a row is kept, directly or over other rows.
    ///
    /// A pin, a change, the URL of a variant, or a reference from an answer or a kept row keeps it.
    /// So an answer goes before its entities, and a row that is pinned again meanwhile has them
    /// all.
    func isKept(_ row: DurableRow) throws(StoreError) -> Bool {
        guard row.isReleased else { return true }
        // Most rows have none, and the recursive query makes tables of its own.
        let parent = try connection.statement(
            "SELECT 1 FROM reference WHERE child = :row LIMIT 1",
            (":row", row.number)
        )
        guard try parent.step() else { return false }
        let keeper = try connection.statement(Self.keeper, (":row", row.number))
        return try keeper.step()
    }

    private static let keeper = """
        WITH RECURSIVE above (row) AS (
            SELECT :row UNION SELECT parent FROM reference JOIN above ON child = row)
        SELECT 1 FROM above JOIN claim ON claim = row
        WHERE pinned_at IS NOT NULL OR targeted = 1 OR held = 1
            OR skeleton IS NOT NULL AND row <> :row LIMIT 1
        """

    /// The row of an id as a list shows it; nil if the id is neither an entry nor a target.
    func listed(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> ListedRow? {
        let condition = "AND (kind IS NOT NULL OR targeted > 0)"
        return try claim(ListedRow.columnsOfState, TargetName(scope, id), condition)
            .first(ListedRow.init(saved:))
    }

    /// The base and the changes of a target, in one transaction: no settlement comes between.
    func target(
        _ name: TargetName,
        upTo last: ModifierNumber = ModifierNumber(.max),
        changesMax: Int = .max
    ) throws(StoreError) -> Target {
        try inTransaction { () throws(StoreError) in
            let changes = try openChanges(name, upTo: last, changesMax)
            return try target(name, changes, try base(name))
        }
    }

    private func target(
        _ name: TargetName,
        _ changes: [OpenChange],
        _ base: SavedEntry?
    ) throws(StoreError) -> Target {
        var unknown = Target(changes: changes)
        guard let saved = base else { return unknown }
        unknown.isOfSharedRow = saved.claim.name.scope != name.scope
        guard let entry = saved.entry else {
            unknown.damaged = saved.claim.digest
            return unknown
        }
        var target = unknown
        target.entry = entry
        target.body = saved.chunked.map(Target.Body.chunked) ?? .inline(saved.inline)
        target.isDeleted = saved.claim.goneStatus != nil || entry.kind == .tombstone
        if target.isDeleted { return target }
        if let normalized = saved.normalized {
            try loopBudget.take(bytes: normalized.template.count)
            guard case .shown(let shown) = try rebuild(normalized) else { return unknown }
            (target.entry, target.body) = (shown.entry, .inline(shown.answer.bytes))
            return target
        }
        guard let chunked = saved.chunked else {
            try loopBudget.take(bytes: saved.inline.count)
            return target
        }
        guard entry.body.isJSON else { return target }
        try loopBudget.admitChunks()
        do throws(StoreError) {
            target.body = .inline(try chunks.bytes(of: chunked))
            return target
        } catch .badChunk {
            unknown.damaged = entry.body.digest
            return unknown
        }
    }

    /// A target's own row where it has an entry, else the shared one that it keeps, unless that is
    /// hidden.
    private func base(_ name: TargetName) throws(StoreError) -> SavedEntry? {
        let own = try saved(name)
        guard let own, own.claim.keepsShared else {
            return own?.claim.hasEntry == true ? own : nil
        }
        // A shared row that is not hidden has an entry.
        guard try isHidden(name.id, from: name.scope) == false else { return nil }
        return try saved(TargetName(shared.sharedScope, name.id))
    }

    private func saved(_ name: TargetName) throws(StoreError) -> SavedEntry? {
        try claim(SavedEntry.columns, name).first { SavedEntry($0, name) }
    }

    func rebuild(_ row: NormalizedRow) throws(StoreError) -> Rebuilt {
        let skeleton = try references.skeleton(row.skeleton)
        return try row.rebuilt(skeleton, by: shared.rebuilder(of: row)) {
            (id) throws(StoreError) in
            try withEntry(row.scope, id) { $0.entity } ?? nil
        }
    }

    private func openChanges(
        _ name: TargetName,
        upTo last: ModifierNumber,
        _ changesMax: Int,
        bytesMax: Int64 = .max
    ) throws(StoreError) -> [OpenChange] {
        let sql = """
            SELECT \(OpenChangeColumn.list) FROM change INDEXED BY change_target
                JOIN modifier ON number = change.modifier AND modifier.scope = change.scope
            WHERE change.scope = :scope AND change.id = :id AND settled = 0
                AND change.modifier <= :last
            ORDER BY change.modifier, position LIMIT :limit
            """
        let statement = try connection.statement(sql, of: name)
        statement.bind((":last", last.value), (":limit", changesMax))
        var (changes, bytes): ([OpenChange], Int64) = ([], 0)
        defer { statement.reset() }
        while bytes <= bytesMax, try statement.step() {
            let count = statement.bytes(OpenChangeColumn.effect).count
            try loopBudget.take(bytes: count, changes: 1)
            bytes += Int64(count)
            changes.append(OpenChange(statement))
        }
        return changes
    }

    func changes(
        _ name: TargetName,
        before number: ModifierNumber
    ) throws(StoreError) -> [OpenChange] {
        let last = ModifierNumber(number.value - 1)
        return try openChanges(name, upTo: last, Limits.seenChangesMax)
    }

    /// A target with the changes before those of a modifier; nil if it is too large to be looked at
    /// in a step.
    ///
    /// Without `hasEntities` an answer whose entities are needed is too large, too.
    func smallTarget(
        _ name: TargetName,
        before number: ModifierNumber? = nil,
        changesMax: Int,
        hasEntities: Bool = true
    ) throws(StoreError) -> Target? {
        let last = number.map { ModifierNumber($0.value - 1) } ?? ModifierNumber(.max)
        return try inTransaction { () throws(StoreError) in
            let base = try base(name)
            if base?.normalized != nil, !hasEntities { return nil }
            let room = Limits.comparedBytesMax - Int64(base?.entry?.body.byteCount ?? 0)
            guard room >= 0 else { return nil }
            let changes = try openChanges(name, upTo: last, changesMax + 1, bytesMax: room)
            let size = changes.reduce(0) { $0 + Int64($1.effect.count) }
            guard changes.count <= changesMax, size <= room else { return nil }
            return try target(name, changes, base)
        }
    }

    func requestBody(
        of number: ModifierNumber
    ) throws(StoreError) -> (bytes: [UInt8], mediaType: String?)? {
        try connection.statement(
            "SELECT body, media_type FROM modifier WHERE number = :number AND body IS NOT NULL",
            (":number", number.value)
        ).first { (Array($0.bytes("body")), $0.text("media_type")) }
    }

    /// Targets of dead letters, one for each change; unreadable ones are left out.
    func deadTargets() throws(StoreError) -> [(scope: Scope, id: EntryID)] {
        try connection.prepare(
            "SELECT scope, id FROM change INDEXED BY change_target WHERE settled = 1"
        ).all { row in
            guard let scope = row.scope("scope"), let id = row.entryID("id") else { return nil }
            return (scope, id)
        }
    }
}

private enum OpenChangeColumn: Int32, TableColumn {
    case modifier, id, state, rev, effect, acceptedAt, answered

    /// Latest revision of a modifier's target, which goes on as other modifiers settle, also
    /// without a base.
    private static let shown = """
        max(modifier.rev, coalesce((SELECT rev FROM claim
            WHERE claim.scope = change.scope AND claim.id = change.id), 0))
        """
    static let list = list(
        nil,
        [.modifier: "change.modifier", .id: "modifier.id", .rev: shown]
    )
}

extension OpenChange {
    fileprivate init(_ row: SQLiteStatement) {
        typealias Column = OpenChangeColumn
        var numbers = RowNumbers(row)
        number = ModifierNumber(row.integer(Column.modifier))
        modifier = row.text(Column.id) ?? ""
        state = row.text(Column.state).flatMap(ModifierState.init(rawValue:)) ?? .unknown
        revision = numbers.revision(Column.rev)
        acceptedAt = numbers.moment(Column.acceptedAt)
        effect = Array(row.bytes(Column.effect))
        isAnswered = row.isTrue(Column.answered)
    }
}
