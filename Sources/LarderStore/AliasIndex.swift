package import LarderModel
import Synchronization

/// The temporary ids whose writes are settled, in memory: every read asks for them.
///
/// The index changes after the commit that changes the table. It has at most
/// ``Limits/aliasesPerUserMax`` ids of each user.
package final class AliasIndex: Sendable {
    struct Key: Hashable, Sendable {
        /// The text of the scope.
        let scope: String
        let name: TemporaryID
    }

    package struct Alias: Equatable, Sendable {
        /// The id with the temporary name.
        package let id: EntryID
        /// Nil where the origin has not told an id.
        package let real: EntryID?
        /// The origin's id as JSON; opaque here.
        package let value: [UInt8]
        var usedAt: Timestamp

        init(_ stored: StoredTemporary) {
            (id, real, value, usedAt) = (stored.id, stored.real, stored.value, stored.usedAt)
        }

        init(_ renamed: RenamedID, at now: Timestamp) {
            (id, real, value, usedAt) = (renamed.from, renamed.to, renamed.value, now)
        }
    }

    private struct State {
        var aliases: [Key: Alias] = [:]
        /// Names that were used since their row was written.
        var used: Set<Key> = []
    }

    private let state = Mutex(State())
    // Released after a change of the aliases; acquired before a look.
    private let count = Atomic(0)

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// The alias of a name; a use once a day is noted.
    func alias(of name: TemporaryID, _ scope: ScopeKey, now: Timestamp) -> Alias? {
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

    func set(_ key: Key, _ alias: Alias) { change { $0.aliases[key] = alias } }

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

    /// The alias of a temporary id whose write is settled.
    package func alias(of name: TemporaryID, in scope: ScopeKey) -> AliasIndex.Alias? {
        store.shared.aliases.alias(of: name, scope, now: store.now())
    }

    package func temporaries(
        _ names: [TemporaryID],
        _ scope: ScopeKey
    ) async throws(StoreError) -> [TemporaryID: StoredTemporary] {
        try await store.read { reader throws(StoreError) in
            try reader.stateReader().temporaries(names, scope)
        }
    }
}
