import LarderModel

enum ChangeLogColumn: Int32, TableColumn {
    case change, scope, id, kind, source, reason, cause, client
    /// Columns that only `state.db` has.
    case state, mark, why, targets, problem, hiddenFrom

    static func all(hasModifiers: Bool) -> Set<Self> {
        hasModifiers
            ? all(but: []) : all(but: [.state, .mark, .why, .targets, .problem, .hiddenFrom])
    }
}

struct ChangeLogReader {
    private typealias Column = ChangeLogColumn

    private let statement: SQLiteStatement
    private let hasModifiers: Bool

    init(_ connection: SQLiteConnection, hasModifiers: Bool) throws(StoreError) {
        self.hasModifiers = hasModifiers
        statement = try connection.prepare(
            """
            SELECT \(ChangeLogColumn.list(ChangeLogColumn.all(hasModifiers: hasModifiers))) FROM change_log
            WHERE change >= :first AND change < :end AND scope IN (:scope, 'shared')
            ORDER BY change LIMIT :limit
            """
        )
    }

    /// At most `limit` changes of a scope and of what is shared after one revision and up to
    /// another, in order; and up to which revision they are all there are.
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
            // What cannot be read is damage; the row's id is heard of with its next change.
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
        case 3 where hasModifiers: return modifier(text, client).map { .modifier($0) }
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
        change.client = client
        return change
    }
}
