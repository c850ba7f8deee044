package import LarderModel
import Synchronization

/// A temporary id, and the state of the write that creates the thing.
package struct StoredTemporary: Equatable, Sendable {
    package enum State: Int64, Sendable {
        case waiting = 0
        case known = 1
        /// The write that creates it was not confirmed.
        case failed = 2
        /// The write was confirmed, and no answer told the id.
        case missing = 3
    }

    package let name: TemporaryID
    /// The id with the name: that of an entity, or the name itself.
    package let id: EntryID
    package let origin: OriginName
    package let creator: ModifierNumber
    package let state: State
    package let real: EntryID?
    /// The origin's id as JSON; opaque here.
    package let value: [UInt8]
    var usedAt: Timestamp

    init?(_ row: SQLiteStatement) {
        guard let name = row.text("name").flatMap({ TemporaryID($0) }),
            let id = row.text("id").flatMap({ try? EntryID(stored: $0) }),
            let origin = row.text("origin").flatMap({ try? OriginName($0) }),
            let state = State(rawValue: row.integer("state"))
        else { return nil }
        let real = row.text("real_id").flatMap { try? EntryID(stored: $0) }
        guard state != .known || real != nil else { return nil }
        (self.name, self.id, self.origin, self.state, self.real) = (name, id, origin, state, real)
        creator = ModifierNumber(row.integer("creator"))
        value = Array(row.bytes("value"))
        usedAt = Timestamp(milliseconds: row.integer("used_at"))
    }

    static let columns = "name, id, origin, creator, state, real_id, value, used_at"
}

/// A temporary id that a modifier names.
package struct TemporaryUse: Equatable, Sendable {
    package let name: TemporaryID
    /// The id with the name, if this modifier creates the thing.
    package let made: EntryID?

    package init(_ name: TemporaryID, made: EntryID? = nil) {
        (self.name, self.made) = (name, made)
    }
}

struct TemporaryRows {
    let connection: SQLiteConnection

    private func rows<each Value: SQLiteValue>(
        _ condition: String,
        _ values: repeat (String, each Value)
    ) throws(StoreError) -> [StoredTemporary] {
        let sql = "SELECT \(StoredTemporary.columns) FROM temporary_id WHERE \(condition)"
        return try connection.statement(sql, repeat each values).all(StoredTemporary.init)
    }

    func find(_ name: TemporaryID, _ scope: ScopeKey) throws(StoreError) -> StoredTemporary? {
        let (scope, name) = ((":scope", scope.text), (":name", name.text))
        return try rows("scope = :scope AND name = :name", scope, name).first
    }

    /// Whether the temporary ids of new modifiers are as the engine found them.
    ///
    /// An edit may make again what its own modifier made before.
    func areAsFound(
        _ new: [NewModifier],
        editing number: ModifierNumber? = nil
    ) throws(StoreError) -> Bool {
        var made: Set<TemporaryID> = []
        for modifier in new {
            for use in modifier.temporaries {
                let found = try find(use.name, modifier.scope)
                if use.made != nil {
                    let isFree = found == nil || found?.creator == number
                    guard isFree, made.insert(use.name).inserted else { return false }
                } else if found?.state != .waiting, !made.contains(use.name) {
                    return false
                }
            }
        }
        return true
    }

    func creators(of modifier: NewModifier) throws(StoreError) -> [ModifierNumber] {
        var creators: [ModifierNumber] = []
        for use in modifier.temporaries where use.made == nil {
            guard let found = try find(use.name, modifier.scope), found.state == .waiting,
                !creators.contains(found.creator), !modifier.dependsOn.contains(found.creator)
            else { continue }
            creators.append(found.creator)
        }
        return creators
    }

    /// The things that a modifier makes, and that it does not make once it is as an edit says.
    func dropped(
        by new: NewModifier,
        _ number: ModifierNumber
    ) throws(StoreError) -> [StoredTemporary] {
        try rows("creator = :creator", (":creator", number.value)).filter { stored in
            !new.temporaries.contains(TemporaryUse(stored.name, made: stored.id))
        }
    }

    /// Forgets what a modifier names, and things that it made.
    func forget(_ made: [StoredTemporary], of number: ModifierNumber) throws(StoreError) {
        try connection.execute("DELETE FROM temporary_use WHERE modifier = \(number)")
        for stored in made {
            try connection.statement(
                "DELETE FROM temporary_id WHERE creator = :creator AND name = :name"
            ).run((":creator", number.value), (":name", stored.name.text))
        }
    }

    /// Adds what a modifier names, and the things that it makes, except those that are there.
    func add(
        _ modifier: NewModifier,
        _ number: ModifierNumber,
        _ now: Timestamp,
        made state: StoredTemporary.State = .waiting
    ) throws(StoreError) {
        for use in modifier.temporaries {
            if let made = use.made {
                try connection.statement(
                    """
                    INSERT OR IGNORE INTO temporary_id
                        (scope, name, id, origin, creator, state, used_at)
                    VALUES (:scope, :name, :id, :origin, :creator, :state, :used_at)
                    """
                ).run(
                    (":state", state.rawValue),
                    (":scope", modifier.scope.text),
                    (":name", use.name.text),
                    (":id", made.text),
                    (":origin", modifier.origin.text),
                    (":creator", number.value),
                    (":used_at", now.milliseconds)
                )
            }
            try connection.statement(
                """
                INSERT INTO temporary_use (temporary_id, modifier)
                SELECT temporary_id, :modifier FROM temporary_id
                WHERE scope = :scope AND name = :name
                """
            ).run(
                (":modifier", number.value),
                (":scope", modifier.scope.text),
                (":name", use.name.text)
            )
        }
    }

    /// The things that a modifier creates and whose ids are not known yet.
    func waiting(madeBy number: ModifierNumber) throws(StoreError) -> [StoredTemporary] {
        let condition = "creator = :creator AND state = 0 ORDER BY temporary_id"
        return try rows(condition, (":creator", number.value))
    }

    func users(of name: TemporaryID, _ scope: ScopeKey) throws(StoreError) -> [ModifierNumber] {
        try connection.statement(
            """
            SELECT modifier FROM temporary_use WHERE temporary_id =
                (SELECT temporary_id FROM temporary_id WHERE scope = :scope AND name = :name)
            ORDER BY modifier
            """,
            (":scope", scope.text),
            (":name", name.text)
        ).all { ModifierNumber($0.integer(.only)) }
    }

    /// Notes that a write which creates things was not confirmed; returns their names.
    func fail(madeBy number: ModifierNumber) throws(StoreError) -> [TemporaryID] {
        try connection.statement(
            """
            UPDATE temporary_id SET state = 2 WHERE creator = :creator AND state = 0
            RETURNING name
            """,
            (":creator", number.value)
        ).all { $0.text(.only).flatMap { TemporaryID($0) } }
    }

    /// The state of each temporary id that a modifier names and another one creates.
    func used(by number: ModifierNumber) throws(StoreError) -> [StoredTemporary] {
        try connection.statement(
            """
            SELECT \(StoredTemporary.columns) FROM temporary_use JOIN temporary_id USING (temporary_id)
            WHERE modifier = :modifier AND creator <> :modifier
            """,
            (":modifier", number.value)
        ).all(StoredTemporary.init)
    }

    func setKnown(_ id: RenamedID, _ scope: ScopeKey, _ now: Timestamp) throws(StoreError) {
        try connection.statement(
            """
            UPDATE temporary_id SET state = 1, real_id = :real, value = :value, used_at = :used_at
            WHERE scope = :scope AND name = :name
            """
        ).run(
            (":real", id.to.text),
            (":value", id.value),
            (":used_at", now.milliseconds),
            (":scope", scope.text),
            (":name", id.name.text)
        )
    }

    func setMissing(_ name: TemporaryID, _ scope: ScopeKey) throws(StoreError) {
        try connection.statement(
            "UPDATE temporary_id SET state = 3 WHERE scope = :scope AND name = :name"
        ).run((":scope", scope.text), (":name", name.text))
    }

    /// Forgets the least recently used names of a user beyond the bound; returns them.
    func trim(_ scope: ScopeKey) throws(StoreError) -> [AliasIndex.Key] {
        guard let uid = scope.scope.uid else { return [] }
        let own = "scope > '\(uid):' AND scope < '\(uid);' AND state <> 0"
        return try remove(
            """
            temporary_id IN (SELECT temporary_id FROM temporary_id WHERE \(own)
                ORDER BY used_at LIMIT max(0, (SELECT count(*) FROM temporary_id WHERE \(own))
                    - \(Limits.aliasesPerUserMax)))
            """
        )
    }

    /// Forgets the names of some scopes whose writes are settled; returns them.
    func forget(_ scopes: RowScopes) throws(StoreError) -> [AliasIndex.Key] {
        try remove("state <> 0 AND \(scopes.condition)", of: scopes)
    }

    func remove(
        _ condition: String,
        of scopes: RowScopes = .all
    ) throws(StoreError) -> [AliasIndex.Key] {
        try connection.statement(
            "DELETE FROM temporary_id WHERE \(condition) RETURNING scope, name",
            of: scopes
        ).all { row in
            guard let name = row.text("name").flatMap({ TemporaryID($0) }) else { return nil }
            return AliasIndex.Key(scope: row.text("scope") ?? "", name: name)
        }
    }

    func aliases() throws(StoreError) -> [(key: AliasIndex.Key, alias: StoredTemporary)] {
        try connection.statement(
            "SELECT scope, \(StoredTemporary.columns) FROM temporary_id WHERE state <> 0"
        ).all { row in
            guard let stored = StoredTemporary(row) else { return nil }
            let key = AliasIndex.Key(scope: row.text("scope") ?? "", name: stored.name)
            return (key: key, alias: stored)
        }
    }
}

/// The temporary ids whose writes are settled, in memory, changed after the commit of their table.
final class AliasIndex: Sendable {
    struct Key: Hashable, Sendable {
        let scope: String
        let name: TemporaryID
    }

    private struct State {
        var aliases: [Key: StoredTemporary] = [:]
        /// Names that were used since their row was written.
        var used: Set<Key> = []
    }

    private let state = Mutex(State())
    // Released after a change of the aliases; acquired before a look.
    private let count = Atomic(0)

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// The alias of a name; a use once a day is noted.
    func alias(of name: TemporaryID, _ scope: ScopeKey, now: Timestamp) -> StoredTemporary? {
        guard !isEmpty else { return nil }
        let key = Key(scope: scope.text, name: name)
        return state.withLock { state in
            guard var alias = state.aliases[key] else { return nil }
            if now.since(alias.usedAt) > Limits.aliasUseTime {
                alias.usedAt = now
                state.aliases[key] = alias
                state.used.insert(key)
            }
            return alias
        }
    }

    func set(_ key: Key, _ alias: StoredTemporary) { change { $0.aliases[key] = alias } }

    func remove(_ keys: [Key]) {
        change { state in
            for key in keys {
                state.aliases[key] = nil
                state.used.remove(key)
            }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            count.store(state.aliases.count, ordering: .releasing)
        }
    }

    /// The uses to be written, and whether a name was not used for so long that it is forgotten.
    func takeUses(now: Timestamp) -> (used: [(key: Key, at: Timestamp)], hasOld: Bool) {
        guard !isEmpty else { return ([], false) }
        return state.withLock { state in
            let used = state.used.compactMap { key in
                state.aliases[key].map { (key: key, at: $0.usedAt) }
            }
            state.used = []
            let hasOld = state.aliases.values.contains {
                now.since($0.usedAt) > Limits.aliasLifetime
            }
            return (used, hasOld)
        }
    }
}

extension ModifierStore {
    /// The id by which a thing goes: for a temporary one the real id, once the origin has told it.
    package func current(_ id: EntryID, in scope: ScopeKey) -> EntryID {
        guard !store.shared.aliases.isEmpty, let name = id.temporary,
            let alias = alias(of: name, in: scope), alias.id == id
        else { return id }
        return alias.real ?? id
    }

    package func alias(of name: TemporaryID, in scope: ScopeKey) -> StoredTemporary? {
        store.shared.aliases.alias(of: name, scope, now: store.now())
    }

    package func temporaries(
        _ names: [TemporaryID],
        _ scope: ScopeKey
    ) async throws(StoreError) -> [TemporaryID: StoredTemporary] {
        try await store.read { reader throws(StoreError) in
            let rows = TemporaryRows(connection: try reader.stateReader().connection)
            var found: [TemporaryID: StoredTemporary] = [:]
            for name in names { found[name] = try rows.find(name, scope) }
            return found
        }
    }
}
