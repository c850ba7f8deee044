import LarderModel

/// What a writer remembers of its file's log of changes; goes back with a transaction that is
/// rolled back.
struct ChangeLogState {
    /// What the rows hold, as counted against ``Limits/changeLogBytesMax``.
    var rows: Int64 = 0
    var bytes: Int64 = 0
    /// The log has every change after it.
    var start = Revision(0)
    /// Whether the file says so too; where it does not, it is told with the next change.
    var isBegun = false
    /// What the open transaction has changed.
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
    /// Changes of one step.
    static let places: Int64 = 512

    private let insert: SQLiteStatement
    private let oldest: SQLiteStatement
    private let setStart: SQLiteStatement
    private let clear: SQLiteStatement
    private let hasModifiers: Bool

    /// `hasModifiers` says that it is the log of `state.db`.
    init(_ connection: SQLiteConnection, hasModifiers: Bool) throws(StoreError) {
        self.hasModifiers = hasModifiers
        insert = try connection.prepare(
            hasModifiers
                ? """
                INSERT OR REPLACE INTO change_log (change, scope, id, kind, source, reason, cause, client,
                    state, mark, why, targets, problem)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
                """
                : """
                INSERT OR REPLACE INTO change_log (change, scope, id, kind, source, reason, cause, client)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                """
        )
        let size = Self.size(hasModifiers: hasModifiers)
        oldest = try connection.prepare(
            """
            DELETE FROM change_log WHERE change IN
                (SELECT change FROM change_log ORDER BY change LIMIT ?1)
            RETURNING change, \(size)
            """
        )
        clear = try connection.prepare("DELETE FROM change_log")
        setStart = try connection.prepare("UPDATE change_log_start SET rev = ?1 WHERE one = 1")
    }

    /// What a row counts: its texts, and a fixed overhead.
    private static func size(hasModifiers: Bool) -> String {
        var texts = ["scope", "id", "cause", "client"]
        if hasModifiers { texts += ["targets", "problem"] }
        let lengths = texts.map { "coalesce(length(CAST(\($0) AS BLOB)), 0)" }
        return (lengths + ["\(Limits.rowOverheadBytes / 2)"]).joined(separator: " + ")
    }

    /// What an opened file's log holds; it is not begun, unless `isWhole` says that nothing of it
    /// was lost since it was written.
    ///
    /// One that cannot be read begins anew after `last`: it is worth no row of the file.
    static func read(
        _ connection: SQLiteConnection,
        hasModifiers: Bool,
        isWhole: Bool,
        last: Revision
    ) -> ChangeLogState {
        let anew = ChangeLogState(start: last)
        guard isWhole else { return anew }
        return (try? read(connection, hasModifiers: hasModifiers, last: last)) ?? anew
    }

    private static func read(
        _ connection: SQLiteConnection,
        hasModifiers: Bool,
        last: Revision
    ) throws(StoreError) -> ChangeLogState {
        var state = ChangeLogState(start: last)
        guard
            let start = try connection.integer("SELECT rev FROM change_log_start WHERE one = 1"),
            Limits.revisions.contains(start), start <= last.number
        else { return state }
        let sums = try connection.prepare(
            "SELECT count(*), coalesce(sum(\(size(hasModifiers: hasModifiers))), 0) FROM change_log"
        )
        guard try sums.step() else { return state }
        state.rows = sums.integer(0)
        state.bytes = sums.integer(1)
        state.start = Revision(start)
        state.isBegun = true
        return state
    }

    // MARK: Changes

    /// Appends what a step has changed, in the transaction that has changed it.
    func append(_ change: Change, to state: inout ChangeLogState) throws(StoreError) {
        try append(change, more: [], to: &state)
        state.changes.append(change)
    }

    /// The same of many changes of one step, of one scope and cause: in few rows, each with the ids
    /// of some.
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

    /// Appends a row; `more` are the ids of changes that differ from it in nothing else.
    private func append(
        _ change: Change,
        more: [EntryID],
        to state: inout ChangeLogState
    ) throws(StoreError) {
        if state.step == change.revision {
            state.place += 1
        } else {
            (state.step, state.place) = (change.revision, 0)
        }
        guard state.place < Self.places else { return try restart(after: change, &state) }
        bind(change, place: state.place)
        let tail = more.map { "\n" + $0.text }.joined()
        if let id = change.id, !more.isEmpty { insert.bind(3, id.text + tail) }
        try insert.run()
        state.rows += 1
        state.bytes += change.loggedBytes + Int64(tail.utf8.count)
        let isOver =
            state.rows > Limits.changeLogRowsMax || state.bytes > Limits.changeLogBytesMax
        if isOver { try trim(&state) }
    }

    /// Begins anew with the next step: this one has changed more than can be written down.
    private func restart(after change: Change, _ state: inout ChangeLogState) throws(StoreError) {
        try clear.run()
        (state.rows, state.bytes) = (0, 0)
        state.start = max(state.start, change.revision)
        try begin(state)
    }

    /// Says after which revision the log is whole.
    func begin(_ state: ChangeLogState) throws(StoreError) {
        setStart.bind(1, state.start.number)
        try setStart.run()
    }

    private func trim(_ state: inout ChangeLogState) throws(StoreError) {
        oldest.bind(1, Limits.changeLogBatchRows)
        defer { oldest.reset() }
        while try oldest.step() {
            state.rows -= 1
            state.bytes -= oldest.integer(1)
            state.start = max(state.start, Revision(oldest.integer(0) / Self.places))
        }
        try begin(state)
    }

    private func bind(_ change: Change, place: Int64) {
        insert.bind(1, change.revision.number * Self.places + place)
        insert.bind(2, change.scope.text)
        insert.bind(8, change.client?.text)
        switch change.event {
        case .put(let id, let cause): bind(id, kind: 0, cause)
        case .delete(let id, let cause): bind(id, kind: 1, cause)
        case .evict(let id, let reason, _):
            insert.bind(3, id.text)
            insert.bind(4, 2)
            insert.bind(5, Int64?.none)
            insert.bind(6, reason.rawValue)
            insert.bind(7, String?.none)
            if hasModifiers { bindModifier(nil) }
        case .modifier(let modifier):
            precondition(hasModifiers, "modifiers stand in state.db")
            insert.bind(3, modifier.id.text)
            insert.bind(4, 3)
            insert.bind(5, Int64?.none)
            insert.bind(6, Int64?.none)
            insert.bind(7, String?.none)
            bindModifier(modifier)
        }
    }

    private func bind(_ id: EntryID, kind: Int64, _ cause: ChangeCause) {
        insert.bind(3, id.text)
        insert.bind(4, kind)
        insert.bind(5, cause.source.rawValue)
        insert.bind(6, Int64?.none)
        insert.bind(7, cause.text)
        if hasModifiers { bindModifier(nil) }
    }

    private func bindModifier(_ modifier: ModifierChange?) {
        insert.bind(9, modifier?.state.rawValue)
        insert.bind(10, modifier?.mark?.rawValue)
        insert.bind(11, modifier?.reason?.rawValue)
        insert.bind(12, modifier?.targets.map(\.text).joined(separator: "\n"))
        insert.bind(13, modifier?.problem)
    }
}

extension Change {
    /// Whether another one differs from it in its id only.
    fileprivate func isAlike(_ other: Change) -> Bool {
        guard revision == other.revision, scope == other.scope else { return false }
        return switch (event, other.event) {
        case (.put(_, let cause), .put(_, let second)): cause == second
        case (.delete(_, let cause), .delete(_, let second)): cause == second
        case _: false
        }
    }

    /// What its row counts, as SQLite tells it of the row.
    fileprivate var loggedBytes: Int64 {
        var bytes = Limits.rowOverheadBytes / 2 + scope.text.utf8.count
        bytes += client?.text.utf8.count ?? 0
        switch event {
        case .put(let id, let cause), .delete(let id, let cause):
            bytes += id.text.utf8.count + (cause.text?.utf8.count ?? 0)
        case .evict(let id, _, _):
            bytes += id.text.utf8.count
        case .modifier(let modifier):
            let targets = modifier.targets.reduce(-1) { $0 + $1.text.utf8.count + 1 }
            bytes += modifier.id.text.utf8.count + max(0, targets) + modifier.problem.count
        }
        return Int64(bytes)
    }
}
