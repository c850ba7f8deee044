import LarderModel
import LarderNormalize

/// Shared rows that are hidden from users, in the file where the row is.
struct Hiding: WriterPart {
    let writer: StoreWriter

    /// Hides the shared row under a name's id, with `revision` only an older one, from its user.
    func hideShared(_ name: TargetName, olderThan revision: Revision? = nil) throws(StoreError) {
        try cacheIfAny?.hiding.hideShared(name, olderThan: revision)
        try hideSaved(name, olderThan: revision)
    }

    /// Marks shared rows as hidden after an answer was stored in a file.
    ///
    /// A user's own answer hides the shared row under its id. A shared answer is hidden from users
    /// whose own answers are later.
    func noteStored(
        _ new: NewEntry,
        in file: BodyFile,
        by fence: AnswerFence?
    ) throws(StoreError) {
        let (scope, id) = (new.scope, new.entry.id)
        if new.hidesShared {
            fence?.storesOwn(scope, id)
            // The row of `cache.db` has hidden that of `cache.db` itself.
            if file == .state { try hideShared(new.name) } else { try hideSaved(new.name) }
        }
        guard scope == shared.sharedScope, let fence else { return }
        for scope in fence.hiddenFrom(id) { try hideShared(TargetName(scope, id)) }
    }

    /// The same for one in `state.db` alone, where `cache.db` sees to its own.
    func hideSaved(_ name: TargetName, olderThan revision: Revision? = nil) throws(StoreError) {
        let place = shared.sharedName(name.id)
        guard name != place, let row = try durable(place), row.hasEntry,
            revision.map({ row.revision < $0 }) ?? true
        else { return }
        let mark = HiddenMark(scope: name.scope.text, revision: revisions.last.number)
        try state.rows.hide(row, mark)
    }

    /// Hides the shared row under a saved row's id from the row's user, before the saved row
    /// leaves.
    ///
    /// An earlier mark may have been lost with a commit of `cache.db`.
    func hideShared(_ found: DurableRow) throws(StoreError) {
        let (scope, id) = (found.name.scope, found.name.id)
        guard found.hasEntry, scope != shared.sharedScope else { return }
        guard id.isEntity, try sharedEntity(id).isLater(than: found.revision) else {
            return try hideShared(found.name, olderThan: found.revision)
        }
        // The user sees the shared row from now on, which may be the same since long ago.
        try entries.raise(shared.sharedName(id), to: found.revision)
    }

    private func sharedEntity(_ id: EntryID) throws(StoreError) -> HeldEntity {
        let place = shared.sharedName(id)
        if let saved = try state.rows.entry(place), saved.entry != nil { return saved.held }
        guard let name = id.entity else { return .unknown }
        return try cacheIfAny?.answers.find(name, in: place.scope).held ?? .unknown
    }

    func isHidden(_ id: EntryID, from scope: ScopeKey) throws(StoreError) -> Bool {
        guard shared.mayHideRows else { return false }
        if shared.residency.covers(shared.sharedScope, id),
            let isHidden = try state.reader.isHidden(id, from: scope)
        {
            return isHidden
        }
        let key = RowKey(shared.sharedScope, id)
        return try cacheIfAny?.hidden.contains(key.number, scope.text) ?? false
    }

    func takeMarks(of name: TargetName) throws(StoreError) {
        guard name.scope == shared.sharedScope, shared.mayHideRows,
            let cache = try cacheIfAny, let row = try state.rows.find(name)
        else { return }
        for mark in try cache.hidden.marks(of: RowKey(name.scope, name.id).number) {
            try state.rows.hide(row, mark)
        }
    }

    func giveMarks(of row: DurableRow) throws(StoreError) {
        guard row.name.scope == shared.sharedScope, shared.mayHideRows else { return }
        try cache.hiding.replaceMarks(of: row.name, try state.hidden.marks(of: row.number))
    }
}

extension StateReader {
    /// Whether the shared row is hidden from the user of a scope; nil without an entry here.
    func isHidden(_ id: EntryID, from scope: ScopeKey) throws(StoreError) -> Bool? {
        let sql = """
            SELECT EXISTS (SELECT 1 FROM hidden WHERE hidden.claim = claim.claim AND hidden.scope = :user)
            FROM claim WHERE scope = :scope AND id = :id AND kind IS NOT NULL
            """
        let statement = try connection.statement(sql)
        statement.bind((":scope", Scope.shared.text), (":id", id.text), (":user", scope.text))
        return try statement.first { $0.isTrue(.only) }
    }
}

/// A user from whom a shared row is hidden.
struct HiddenMark: Sendable {
    let scope: String
    /// The last one that was given when the user's own row was stored.
    let revision: Int64
}

/// The table `hidden` of one file, whose column `key` names the shared row.
struct HiddenTable {
    private let connection: SQLiteConnection
    private let key: String
    private let find: String

    init(_ connection: SQLiteConnection, key: String) {
        (self.connection, self.key) = (connection, key)
        find = "SELECT 1 FROM hidden WHERE \(key) = :row AND scope = :scope"
    }

    func contains(_ row: Int64, _ scope: String) throws(StoreError) -> Bool {
        try connection.statement(find, (":row", row), (":scope", scope)).step()
    }

    /// Adds a mark; true for a new one, while one that is there gets the later revision.
    func add(_ mark: HiddenMark, to row: Int64) throws(StoreError) -> Bool {
        let isNew = try !contains(row, mark.scope)
        let sql = """
            INSERT INTO hidden (\(key), scope, rev) VALUES (:row, :scope, :rev)
            ON CONFLICT (\(key), scope) DO UPDATE SET rev = max(rev, :rev)
            """
        try connection.statement(sql)
            .run((":row", row), (":scope", mark.scope), (":rev", mark.revision))
        return isNew
    }

    func marks(of row: Int64) throws(StoreError) -> [HiddenMark] {
        let sql = "SELECT scope, rev FROM hidden WHERE \(key) = :row"
        return try connection.statement(sql, (":row", row)).all { row in
            HiddenMark(scope: row.text("scope") ?? "", revision: row.integer("rev"))
        }
    }

    /// Removes the marks of a row, with `revision` those that were not set later; their scopes.
    func remove(of row: Int64, upTo revision: Revision?) throws(StoreError) -> [String] {
        let sql = "DELETE FROM hidden WHERE \(key) = :row AND rev <= :rev RETURNING scope"
        let last = (":rev", revision?.number ?? .max)
        return try connection.statement(sql, (":row", row), last).all { $0.text(.only) ?? "" }
    }

    /// Removes the marks of some users; the scope of each.
    func remove(_ scopes: RowScopes) throws(StoreError) -> [String] {
        let sql = "DELETE FROM hidden WHERE \(scopes.condition) RETURNING scope"
        return try connection.statement(sql, of: scopes).all { $0.text(.only) ?? "" }
    }
}

/// Shared rows that are hidden from users.
///
/// A row of a user's own comes before the shared row under its id. Once the own row has gone, its
/// user has a miss: the shared row may be older than what the user has seen (P-14).
///
/// Invariants:
///
/// 1. While a user's own row is in `cache.db`, and after it has gone, the shared row under its id
///    is hidden from that user. It stays hidden until the shared row has an answer whose request
///    started after the own row was stored.
/// 2. The mark is committed with the own row. An own row of `state.db` may lose it in a crash; the
///    writer marks the shared row again before that own row leaves `state.db`.
/// 3. Such an answer gives the shared row a later revision even if the bytes are the same. A
///    confirmation or a raised revision keeps the mark. It goes with the shared row.
struct CacheHiding {
    let cache: CacheWriter

    func hideShared(_ name: TargetName, olderThan revision: Revision? = nil) throws(StoreError) {
        guard name.scope.scope != .shared,
            let row = try cache.rows.find(cache.shared.sharedScope, name.id),
            revision.map({ row.revision < $0 }) ?? true
        else { return }
        // Before the commit: a reader that sees the own row gone has to look for the mark.
        cache.shared.noteHiddenRow()
        let last = cache.revisions.last.number
        try hide(row.key, HiddenMark(scope: name.scope.text, revision: last))
    }

    private func hide(_ key: RowKey, _ mark: HiddenMark) throws(StoreError) {
        guard try cache.hidden.add(mark, to: key.number) else { return }
        cache.state.totals.bytes += Limits.hiddenMarkBytes
        if cache.state.totals.bytes > cache.state.totals.budget { cache.state.isShrinking = true }
        cache.noteChange(of: key)
    }

    func replaceMarks(of name: TargetName, _ marks: [HiddenMark]) throws(StoreError) {
        guard let row = try cache.rows.find(name.scope, name.id) else { return }
        try unhide(row.key)
        for mark in marks { try hide(row.key, mark) }
    }

    /// Removes the marks of a row, with `revision` those that were not set later; whether there
    /// were any.
    @discardableResult
    func unhide(_ key: RowKey, upTo revision: Revision? = nil) throws(StoreError) -> Bool {
        guard cache.shared.mayHideRows else { return false }
        let removed = try cache.hidden.remove(of: key.number, upTo: revision)
        cache.state.totals.bytes -= Int64(removed.count) * Limits.hiddenMarkBytes
        return !removed.isEmpty
    }

    func removeMarks(of scopes: RowScopes) throws(StoreError) {
        let removed = try cache.hidden.remove(scopes)
        cache.state.totals.bytes -= Int64(removed.count) * Limits.hiddenMarkBytes
    }

    /// Shows a shared row again to users, as an answer has come for it; whether it was hidden from
    /// any.
    ///
    /// The answer then gets a later revision than what they have seen. `start` is the last revision
    /// that was published when its request started: an earlier answer may be older than their own
    /// rows (P-06).
    func endHiding(
        _ key: RowKey,
        of scope: ScopeKey,
        since start: Revision?
    ) throws(StoreError) -> Bool {
        guard scope.scope == .shared else { return false }
        return try unhide(key, upTo: start)
    }
}
