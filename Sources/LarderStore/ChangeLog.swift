import LarderModel

/// State of a file's log in its writer's memory; a rollback restores it.
struct ChangeLogState {
    /// Number of rows; `bytes` is the size that is checked against ``Limits/changeLogBytesMax``.
    var rows: Int64 = 0
    var bytes: Int64 = 0
    /// The log has every change after it.
    var start = Revision(0)
    /// Whether the file says so too; where it does not, it is told with the next change.
    var isBegun = false
    var changes: [Change] = []
    /// The last step that it has rows of, and the place of the last of them.
    var step = Revision(0)
    var place: Int64 = 0
}

/// The table of changes of one file, as its writer has it.
///
/// Each change is a row of the transaction that makes it. The oldest rows go in batches, in the
/// transaction that goes over the bounds.
struct ChangeLog {
    static let places: Int64 = 512

    private let connection: SQLiteConnection
    private let insert: SQLiteStatement
    private let hasModifiers: Bool

    /// `hasModifiers` says that it is the log of `state.db`.
    init(_ connection: SQLiteConnection, hasModifiers: Bool) throws(StoreError) {
        (self.connection, self.hasModifiers) = (connection, hasModifiers)
        let columns = ChangeLogColumn.all(hasModifiers: hasModifiers)
        insert = try connection.prepare(
            """
            INSERT OR REPLACE INTO change_log (\(ChangeLogColumn.names(columns)))
            VALUES (\(ChangeLogColumn.parameters(columns)))
            """
        )
    }

    private var size: String {
        var texts = ["scope", "id", "cause", "client"]
        if hasModifiers { texts += ["targets", "problem", "answer", "hidden_from", "real_id"] }
        let lengths = texts.map { "coalesce(length(CAST(\($0) AS BLOB)), 0)" }
        return (lengths + ["\(Limits.rowOverheadBytes / 2)"]).joined(separator: " + ")
    }

    /// Reads the state of an opened file's log.
    ///
    /// The log goes on if no change was lost since its last row. Otherwise, or if it cannot be
    /// read, it begins again after `last`.
    func read(isWhole: Bool, last: Revision) -> ChangeLogState {
        var state = ChangeLogState(start: last)
        let sums = """
            SELECT count(*) AS count, coalesce(sum(\(size)), 0) AS bytes FROM change_log
            """
        guard isWhole,
            let start = try? connection.integer("SELECT rev FROM change_log_start WHERE one = 1"),
            Limits.revisions.contains(start), start <= last.number,
            let row = try? connection.prepare(sums), (try? row.step()) == true
        else { return state }
        state.rows = row.integer("count")
        state.bytes = row.integer("bytes")
        state.start = Revision(start)
        state.isBegun = true
        return state
    }

    /// Appends changes of one step, of one scope and cause: many in few rows, each with the ids of
    /// some.
    func append(together changes: [Change], to state: inout ChangeLogState) throws(StoreError) {
        var rest = changes[...]
        let total = changes.reduce(0) { $0 + 1 + ($1.id?.text.utf8.count ?? 0) }
        // However many they are, they take half of the places of a step.
        let bytesMax = max(Limits.loggedIDsBytesMax, total / Int(Self.places / 2))
        while let first = rest.popFirst() {
            var more: [EntryID] = []
            var bytes = first.id?.text.utf8.count ?? 0
            while let next = rest.first, next.isAlike(first), let id = next.id {
                bytes += 1 + id.text.utf8.count
                guard bytes <= bytesMax else { break }
                more.append(id)
                rest.removeFirst()
            }
            try append(first, more: more, to: &state)
        }
        state.changes += changes
    }

    private func append(
        _ change: Change,
        more: [EntryID],
        to state: inout ChangeLogState
    ) throws(StoreError) {
        if !state.isBegun { try begin(&state) }
        if state.step == change.revision {
            state.place += 1
        } else {
            (state.step, state.place) = (change.revision, 0)
        }
        guard state.place < Self.places else { return try restart(after: change, &state) }
        let bytes = bind(change, more, place: state.place)
        try insert.run()
        state.rows += 1
        state.bytes += bytes
        let isFinished =
            state.rows > Limits.changeLogRowsMax || state.bytes > Limits.changeLogBytesMax
        if isFinished { try trim(&state) }
    }

    /// Empties the log, which begins again after this step: the step has more changes than fit.
    private func restart(after change: Change, _ state: inout ChangeLogState) throws(StoreError) {
        (state.rows, state.bytes) = (0, 0)
        state.start = max(state.start, change.revision)
        try begin(&state)
    }

    /// Has the file say from where on the log is whole, and removes rows that do not count.
    func begin(_ state: inout ChangeLogState) throws(StoreError) {
        if state.rows == 0 { try connection.statement("DELETE FROM change_log").run() }
        try connection.statement("UPDATE change_log_start SET rev = :rev WHERE one = 1")
            .run((":rev", state.start.number))
        state.isBegun = true
    }

    func remove(_ scopes: RowScopes, _ state: inout ChangeLogState) throws(StoreError) {
        let sql = """
            DELETE FROM change_log WHERE \(scopes.condition)
            RETURNING \(size)
            """
        let statement = try connection.statement(sql, of: scopes)
        while try statement.step() {
            state.rows -= 1
            state.bytes -= statement.integer(.only)
        }
    }

    func forgetViews(_ scopes: RowScopes, _ state: inout ChangeLogState) throws(StoreError) {
        let name =
            switch scopes {
            case .one(let scope): scope.text + "\n"
            case .user(let uid): "\(uid):"
            case .all: ""
            }
        let condition = "instr(char(10) || hidden_from || char(10), char(10) || :name) > 0"
        let sum = try connection.prepare(
            "SELECT coalesce(sum(length(hidden_from)), 0) FROM change_log WHERE \(condition)"
        )
        sum.bind(":name", name)
        if try sum.step() { state.bytes -= sum.integer(.only) }
        try connection.prepare("UPDATE change_log SET hidden_from = NULL WHERE \(condition)").run(
            (":name", name)
        )
    }

    private func trim(_ state: inout ChangeLogState) throws(StoreError) {
        let sql = """
            DELETE FROM change_log WHERE change IN
                (SELECT change FROM change_log ORDER BY change LIMIT :limit)
            RETURNING change, \(size) AS bytes
            """
        let oldest = try connection.statement(sql, (":limit", Limits.changeLogBatchRows))
        while try oldest.step() {
            state.rows -= 1
            state.bytes -= oldest.integer("bytes")
            state.start = max(state.start, Revision(oldest.integer("change") / Self.places))
        }
        try begin(&state)
    }

    /// Binds the row of a change and of `more` ids; returns the row's size as SQLite counts it.
    private func bind(_ change: Change, _ more: [EntryID], place: Int64) -> Int64 {
        var cause: ChangeCause?
        var reason: EvictionReason?
        var modifier: ModifierChange?
        var real: EntryID?
        let kind: Int64
        switch change.event {
        case .put(_, let told): (kind, cause) = (0, told)
        case .delete(_, let told): (kind, cause) = (1, told)
        case .evict(_, let told, _): (kind, reason) = (2, told)
        case .modifier(let told): (kind, modifier) = (3, told)
        case .remapped(_, let id): (kind, real) = (4, id)
        }
        precondition(
            hasModifiers || modifier == nil && real == nil,
            "only state.db has changes of modifiers"
        )
        let name = change.id?.text ?? modifier?.id.text ?? ""
        let ids = more.isEmpty ? name : ([name] + more.map(\.text)).joined(separator: "\n")
        let targets = modifier?.targets.map(\.text).joined(separator: "\n")
        let hidden = change.hiddenFrom.map(\.text).joined(separator: "\n")
        typealias Column = ChangeLogColumn
        insert.bind(Column.change, change.revision.number * Self.places + place)
        insert.bind(Column.scope, change.scope.text)
        insert.bind(Column.id, ids)
        insert.bind(Column.kind, kind)
        insert.bind(Column.source, cause?.source.rawValue)
        insert.bind(Column.reason, reason?.rawValue)
        insert.bind(Column.cause, cause?.text)
        insert.bind(Column.client, change.client?.text)
        if hasModifiers {
            insert.bind(Column.state, modifier?.state.rawValue)
            insert.bind(Column.mark, modifier?.mark?.rawValue)
            insert.bind(Column.why, modifier?.reason?.rawValue)
            insert.bind(Column.targets, targets)
            insert.bind(Column.problem, modifier?.problem)
            insert.bind(Column.answer, modifier?.answer)
            insert.bind(Column.hiddenFrom, hidden.isEmpty ? nil : hidden)
            insert.bind(Column.realId, real?.text)
        }
        var bytes = Limits.rowOverheadBytes / 2 + change.scope.text.utf8.count + ids.utf8.count
        bytes += (cause?.text?.utf8.count ?? 0) + (change.client?.text.utf8.count ?? 0)
        bytes += (targets?.utf8.count ?? 0) + hidden.utf8.count
        bytes += (modifier?.problem.count ?? 0) + (modifier?.answer.count ?? 0)
        bytes += real?.text.utf8.count ?? 0
        return Int64(bytes)
    }
}

extension Change {
    fileprivate func isAlike(_ other: Change) -> Bool {
        guard revision == other.revision, scope == other.scope else { return false }
        return switch (event, other.event) {
        case (.put(_, let cause), .put(_, let second)): cause == second
        case (.delete(_, let cause), .delete(_, let second)): cause == second
        case _: false
        }
    }
}

enum ChangeLogColumn: Int32, TableColumn {
    case change, scope, id, kind, source, reason, cause, client
    /// Columns that only `state.db` has.
    case state, mark, why, targets, problem, answer, hiddenFrom, realId

    static func all(hasModifiers: Bool) -> Set<Self> {
        hasModifiers
            ? all(but: [])
            : all(but: [.state, .mark, .why, .targets, .problem, .answer, .hiddenFrom, .realId])
    }
}

struct ChangeLogReader {
    private typealias Column = ChangeLogColumn

    private let statement: SQLiteStatement

    init(_ connection: SQLiteConnection, hasModifiers: Bool) throws(StoreError) {
        statement = try connection.prepare(
            """
            SELECT \(ChangeLogColumn.list(ChangeLogColumn.all(hasModifiers: hasModifiers))) FROM change_log
            WHERE change >= :first AND change < :end AND scope IN (:scope, 'shared')
            ORDER BY change LIMIT :limit
            """
        )
    }

    /// At most `limit` changes of a scope and of shared rows after `first` and up to `last`, in
    /// order.
    ///
    /// `through` says up to which revision the page is complete.
    func changes(
        after first: Revision,
        through last: Revision,
        of scope: Scope,
        limit: Int
    ) throws(StoreError) -> (changes: [Change], through: Revision) {
        precondition(limit > Int(ChangeLog.places), "a step fits into a page")
        statement.bind(
            (":first", (first.number + 1) * ChangeLog.places),
            (":end", (last.number + 1) * ChangeLog.places),
            (":scope", scope.text),
            (":limit", limit)
        )
        defer { statement.reset() }
        var changes: [Change] = []
        var rows = 0
        var highest = first
        while try statement.step() {
            rows += 1
            highest = Revision(statement.integer(Column.change) / ChangeLog.places)
            // An unreadable row is damage. The next change of the same row names its id again.
            if !isHidden(from: scope) { changes += self.changes(highest) }
        }
        guard rows == limit else { return (changes, last) }
        // More of the last step may come.
        changes.removeAll { $0.revision == highest }
        return (changes, Revision(highest.number - 1))
    }

    /// Whether one sees something of their own in place of the shared row.
    private func isHidden(from scope: Scope) -> Bool {
        guard let scopes = statement.text(Column.hiddenFrom) else { return false }
        return scopes.split(separator: "\n").contains { $0 == scope.text }
    }

    private func changes(_ revision: Revision) -> [Change] {
        guard let scope = statement.scope(Column.scope),
            let ids = statement.text(Column.id)
        else { return [] }
        return ids.split(separator: "\n").compactMap { id in
            event(String(id)).map { Change(revision, scope, $0) }
        }
    }

    private func event(_ text: String) -> Change.Event? {
        let client = statement.text(Column.client).flatMap(ClientTag.init(text:))
        switch statement.integer(Column.kind) {
        case 0: return entry(text, client).map { .put($0, $1) }
        case 1: return entry(text, client).map { .delete($0, $1) }
        case 2:
            guard let id = try? EntryID(stored: text),
                let reason = EvictionReason(rawValue: statement.integer(Column.reason))
            else { return nil }
            return .evict(id, reason, client: client)
        case 3: return modifier(text, client).map { .modifier($0) }
        case 4:
            guard let id = try? EntryID(stored: text),
                let real = statement.text(Column.realId).flatMap({ try? EntryID(stored: $0) })
            else { return nil }
            return .remapped(id, real)
        case _: return nil
        }
    }

    private func entry(_ text: String, _ client: ClientTag?) -> (EntryID, ChangeCause)? {
        guard let id = try? EntryID(stored: text),
            let source = ChangeCause.Source(rawValue: statement.integer(Column.source))
        else { return nil }
        return (id, ChangeCause(source, text: statement.text(Column.cause), client: client))
    }

    private func modifier(_ text: String, _ client: ClientTag?) -> ModifierChange? {
        guard let id = try? ModifierID(text),
            let state = statement.text(Column.state).flatMap(ModifierState.init(rawValue:))
        else { return nil }
        let targets = (statement.text(Column.targets) ?? "").split(separator: "\n")
        var change = ModifierChange(
            id: id,
            state: state,
            targets: targets.compactMap { try? EntryID(stored: String($0)) }
        )
        change.mark = statement.text(Column.mark).flatMap(ModifierChange.Mark.init(rawValue:))
        change.reason = statement.text(Column.why).flatMap(ModifierReason.init(rawValue:))
        change.problem = Array(statement.bytes(Column.problem))
        change.answer = Array(statement.bytes(Column.answer))
        change.client = client
        return change
    }
}

struct CacheLog {
    let cache: CacheWriter

    func append(_ change: Change?) throws(StoreError) {
        if let change { try append(together: [change]) }
    }

    func append(together changes: [Change]) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try beginIfDue()
        try cache.changeLog.append(together: changes, to: &cache.state.log)
    }

    // MARK: Whether it is whole

    /// Continues the log of an opened file, or begins it after the last revision.
    ///
    /// The file is told with the first change, because it may be opened while it cannot be written.
    func open(_ opening: CacheOpening, isWhole: Bool) {
        cache.state.log = cache.changeLog.read(isWhole: isWhole, last: cache.revisions.last)
        if opening.contents.boot != cache.configuration.boot || opening.contents.closedAt != nil {
            cache.state.log.isBegun = false
        }
        cache.shared.changes.setStart(.cache, cache.state.log.start)
    }

    private func beginIfDue() throws(StoreError) {
        guard !cache.state.log.isBegun else { return }
        try cache.changeLog.begin(&cache.state.log)
        try cache.setMeta("boot", cache.configuration.boot)
        try cache.setMeta("closed_at", nil)
    }

    func close() throws(StoreError) {
        try beginIfDue()
        try cache.setMeta("closed_at", cache.revisions.reservedEnd)
        cache.state.log.isBegun = false
    }

    func forget(_ scopes: RowScopes) throws(StoreError) {
        try cache.hiding.removeMarks(of: scopes)
        try cache.changeLog.remove(scopes, &cache.state.log)
    }
}
