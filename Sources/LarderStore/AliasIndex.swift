package import LarderModel
import Synchronization

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
