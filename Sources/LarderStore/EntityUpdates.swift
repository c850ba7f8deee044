import LarderModel
import LarderNormalize

struct EntityUpdates: Sendable {
    let scope: ScopeKey
    let revision: Revision
    let cause: ChangeCause
    /// Scopes that see something of their own instead of this entity.
    let hiddenFrom: [Scope]
    let change: EntityChange
    /// Whether it looks different; else only what waits or has failed on it is another.
    var isSeen = true
}

/// Notifies watchers of answers that an entity in them looks different.
///
/// The cause is a modifier of the entity that was accepted or has left the queue, or a new base
/// under one. It is one step for all answers.
extension StoreWriter {
    func tell(_ updates: [EntityUpdates]) {
        let isHeard = shared.changes.isWatched || !shared.watches.isEmpty
        guard isHeard, !updates.isEmpty else { return }
        var changes: [Change] = []
        var left = Limits.followedReferencesMax
        var rows = rowsWithMarks(of: updates.filter { !$0.isSeen }, atMost: &left)
        let seen = updates.filter(\.isSeen)
        for (revision, step) in Dictionary(grouping: seen, by: \.revision) {
            for (scope, updates) in Dictionary(grouping: step, by: \.scope) {
                // An answer is hidden from the scopes that see none of its changed entities.
                let hiddenFrom = updates.dropFirst().reduce(updates.first?.hiddenFrom ?? []) {
                    hidden,
                    updates in
                    hidden.filter(updates.hiddenFrom.contains)
                }
                guard let cause = updates.first?.cause,
                    let showing = try? entries(showing: updates, to: scope, atMost: &left)
                else {
                    shared.changes.isNotWhole()
                    return shared.watches.allChanged()
                }
                for (key, shown) in showing.sorted(by: { $0.value.id.text < $1.value.id.text }) {
                    var change = Change(revision, scope.scope, .put(shown.id, cause))
                    change.name(changed: shown.changed)
                    change.hiddenFrom = hiddenFrom
                    changes.append(change)
                    rows.append(key)
                }
                for updates in updates {
                    var change = Change(revision, scope.scope, updates.change.event)
                    change.hiddenFrom = updates.hiddenFrom
                    guard var told = try? byOwnURL(change), let id = told.id else { continue }
                    told.hiddenFrom = updates.hiddenFrom
                    changes.append(told)
                    rows.append(RowKey(scope, id))
                }
            }
        }
        shared.changes.changed(changes)
        shared.watches.rowsChanged(rows)
    }

    /// Followers of these rows look for themselves; no watcher is told.
    private func rowsWithMarks(of updates: [EntityUpdates], atMost left: inout Int) -> [RowKey] {
        guard !shared.watches.isEmpty else { return [] }
        var rows: [RowKey] = []
        for (scope, updates) in Dictionary(grouping: updates, by: \.scope) {
            guard let showing = try? entries(showing: updates, to: scope, atMost: &left) else {
                shared.watches.allChanged()
                return []
            }
            rows += showing.keys
        }
        return rows
    }

    private func entries(
        showing updates: [EntityUpdates],
        to scope: ScopeKey,
        atMost left: inout Int
    ) throws(StoreError) -> [RowKey: (id: EntryID, changed: [EntityKey])]? {
        var entries: [RowKey: (id: EntryID, changed: [EntityKey])] = [:]
        let tables =
            [files.state.reader.references] + (files.cache.file.map { [$0.references] } ?? [])
        let reader = ReferenceReader(tables: tables, residency: shared.residency)
        for place in shared.places(of: scope) {
            let changes = updates.map { updates in
                var change = updates.change
                change.key = RowKey(place, EntryID(change.name))
                return change
            }
            let found = try reader.entries(showing: changes, in: place, limit: left)
            left = found.left
            guard found.isWhole else { return nil }
            entries.merge(found.entries) { own, _ in own }
        }
        return entries
    }

    private func byOwnURL(_ change: Change) throws(StoreError) -> Change? {
        try shared.byOwnURL(change) { place, id throws(StoreError) in
            // The group is committed: a look by ``durable(_:)`` would begin another transaction.
            if shared.residency.covers(place, id),
                let saved = try files.state.rows.find(TargetName(place, id)),
                saved.hasEntry || saved.isTargeted
            {
                return saved.kind != .tombstone
            }
            guard files.cache.file != nil, let row = try files.cache.rows.find(place, id) else {
                return false
            }
            return row.kind != .tombstone
        }
    }
}
