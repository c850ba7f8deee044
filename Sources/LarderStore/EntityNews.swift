import LarderModel
import LarderNormalize
import Synchronization

/// What a step in `state.db` has made of what an entity shows.
struct EntityNews: Sendable {
    let scope: ScopeKey
    let revision: Revision
    let cause: ChangeCause
    let change: EntityChange
}

/// Tells whoever watches an entry that an entity which it shows looks different, as a modifier of
/// the entity was accepted or has left the queue, or its base has changed under one.
///
/// Who refers to whom stands in `cache.db`, so it is looked up there behind the commit; the steps
/// are not done with by then, so it is one step for all who watch.
final class EntityTeller: Sendable {
    private let reader: Mutex<StoreReader>
    private let shared: SharedCacheState

    init(_ reader: consuming sending StoreReader, _ shared: SharedCacheState) {
        self.reader = Mutex(reader)
        self.shared = shared
    }

    /// Has itself told of what happens, for as long as somebody holds it.
    func listen() {
        shared.kept.whenEntitiesChange { [weak self] in self?.tell($0) }
    }

    /// Called on the thread of the writer of `state.db`.
    private func tell(_ news: [EntityNews]) {
        guard shared.changes.isWatched || !shared.watches.isEmpty else { return }
        var changes: [Change] = []
        var rows: [RowKey] = []
        var isWhole = true
        var left = Limits.followedReferencesMax
        reader.withLock { reader in
            defer { reader.endTransaction() }
            for (revision, step) in Dictionary(grouping: news, by: \.revision) {
                for (scope, news) in Dictionary(grouping: step, by: \.scope) {
                    let found = try? reader.entries(showing: news, to: scope, atMost: &left)
                    guard let showing = found ?? nil else {
                        shared.changes.isNotWhole(revision)
                        isWhole = false
                        continue
                    }
                    for (key, shown) in showing.sorted(by: { $0.value.id.text < $1.value.id.text })
                    {
                        guard let cause = news.first?.cause else { continue }
                        var change = Change(revision, scope.scope, .put(shown.id, cause))
                        change.name(changed: shown.changed)
                        changes.append(change)
                        rows.append(key)
                    }
                    for news in news {
                        let change = Change(revision, scope.scope, news.change.event)
                        guard let told = try? reader.byOwnURL(change), let id = told.id else {
                            continue
                        }
                        changes.append(told)
                        rows.append(RowKey(scope, id))
                    }
                }
            }
        }
        shared.changes.changed(changes)
        if isWhole { shared.watches.rowsChanged(rows) } else { shared.watches.allChanged() }
    }
}

extension StoreReader {
    /// The entries that show news of entities to one who sees what is shared, too; nil where they
    /// are too many to be followed.
    fileprivate func entries(
        showing news: [EntityNews],
        to scope: ScopeKey,
        atMost left: inout Int
    ) throws(StoreError) -> [RowKey: (id: EntryID, changed: [EntityKey])]? {
        var entries: [RowKey: (id: EntryID, changed: [EntityKey])] = [:]
        for place in places(of: scope) {
            let changes = news.map { $0.change.moved(to: place) }
            let limit = left
            let found = try reading { file throws(StoreError) in
                try file.references().entries(showing: changes, limit: limit)
            }
            guard let found else { continue }
            left = found.left
            guard found.isWhole else { return nil }
            entries.merge(found.entries) { own, _ in own }
        }
        return entries
    }

    /// What a change of an entity is under its own URL; nil where that has a row, which shows what it
    /// shows, and where no modifier has a part in it.
    func byOwnURL(_ change: Change) throws(StoreError) -> Change? {
        guard let (name, cause) = change.changedEntity, let id = shared.rules.ownID(of: name) else {
            return nil
        }
        let scope = key(for: change.scope)
        let targets = shared.kept.place(scope, EntryID(name))?.targets ?? 0
        guard cause.source == .modifier || targets > 0 else { return nil }
        for place in places(of: scope) {
            guard try row(place, id).map({ $0.entry.kind == .tombstone }) ?? true else {
                return nil
            }
        }
        let isPut = if case .put = change.event { true } else { false }
        let event = isPut ? Change.Event.put(id, cause) : .delete(id, cause)
        var told = Change(change.revision, change.scope, event)
        told.name(changed: [name.key])
        return told
    }

    /// Where what a scope is shown may stand.
    package func places(of scope: ScopeKey) -> [ScopeKey] {
        scope.scope == .shared ? [scope] : [scope, shared.key(for: .shared)]
    }
}

extension EntityChange {
    /// The same of the entity that another scope has under the name.
    fileprivate func moved(to scope: ScopeKey) -> EntityChange {
        EntityChange(name, at: RowKey(scope, EntryID(name)), members, event)
    }
}
