package import LarderModel
import LarderNormalize

extension Store {
    package func setOrigins(_ names: OriginNames) { shared.origins = names }

    /// Users may see other rows than before, under the same origins.
    package func noteCredentialChange() { shared.noteOriginChange() }

    /// Merges an answer's entities into the known ones and stores its own part, in one step.
    ///
    /// A durable answer goes into `state.db` with its entities. If `fence` covers its id or one of
    /// its entities, the fence decides what is stored.
    package func put(
        _ answer: NewAnswer,
        now: Timestamp,
        fence: AnswerFence? = nil
    ) async throws(StoreError) -> AnswerReceipt {
        try refuseWhileFull(answer.entry)
        return try await submit(now: now, isRepeatable: true, cache: .optional) {
            writer throws(StoreError) in try writer.answers.put(answer, fence: fence, now: now)
        }
    }

    @discardableResult package func put(
        _ entities: NewEntities,
        now: Timestamp
    ) async throws(StoreError) -> PutReceipt {
        try await commits.submit(
            isRepeatable: true,
            promotes: !shared.residency.isEmpty,
            cache: .optional
        ) { writer throws(StoreError) in try writer.answers.put(entities, now: now) }
    }

    /// Replaces an entity by a tombstone, unless a fetch that started later has brought the entity.
    ///
    /// Returns the revision of the step; nil if nothing has changed.
    @discardableResult package func delete(
        _ entity: EntityRemoval,
        now: Timestamp
    ) async throws(StoreError) -> Revision? {
        try await commits.submit(isRepeatable: true, cache: .optional) {
            writer throws(StoreError) in try writer.answers.delete(entity, now: now)
        }
    }

    /// Stores that a URL is gone and that the entity is whose own URL it is, both or neither.
    ///
    /// An answer that `fence` covers says nothing. A kill may leave the part in `state.db` alone.
    package func writeTombstone(
        _ tombstone: NewEntry,
        with entity: EntityRemoval,
        fence: AnswerFence?,
        now: Timestamp
    ) async throws(StoreError) -> PutReceipt {
        try await submit(now: now, isRepeatable: true, cache: .optional) {
            writer throws(StoreError) in
            let scope = tombstone.scope
            let put = try writer.entries.put(tombstone, fence: fence, now: now)
            guard case .done = put, fence?.covers(scope, tombstone.entry.id) != true,
                fence?.keepsOut(scope, EntryID(entity.name)) != true
            else { return put }
            if let step = try writer.answers.delete(entity, now: now) {
                // The entity showed the later step under its URL, and may leave before the URL does.
                try writer.entries.raise(tombstone.name, to: step)
            }
            return put
        }
    }

    /// An entity asked for by its key stays without references until it is used least recently.
    package func noteDirectUse(_ scope: ScopeKey, _ id: EntryID) {
        shared.noteDirectUses([RowKey(scope, id)])
    }

    package var changes: ChangeFeed { shared.changes }

    /// A page of changes of a scope and of shared rows, after `first` and up to a released
    /// revision.
    ///
    /// Nil if the logs do not reach back that far. The page includes entries of interest that show
    /// a changed entity, as far as the present references tell.
    package func changes(
        after first: Revision,
        through last: Revision,
        of scope: Scope,
        showing isWanted: @escaping @Sendable (EntryID) -> Bool = { _ in false }
    ) async throws(StoreError) -> ChangePage? {
        try await read { [shared] reader throws(StoreError) in
            let pages = try reader.changes.logged(after: first, through: last, of: scope)
            // This check comes last, because the start moves before changes are trimmed.
            guard shared.changes.start <= first else { return nil }
            let through = pages.reduce(last) { min($0, $1.through) }
            let changes = pages.flatMap(\.changes).filter { $0.revision <= through }
            let sorted = changes.sorted { $0.revision < $1.revision }
            let all = try reader.changes.withEntries(showing: sorted, where: isWanted)
            return all.map { ChangePage(changes: $0, through: through) }
        }
    }

    /// The number of a step that leaves nothing in the store, such as an answer that is only told.
    ///
    /// At a block's end it waits for the writer, which reserves the next one before a transaction.
    /// So no command of the writer may call it.
    package func nextRevision() throws(StoreError) -> Revision {
        let revisions = stateFile.revisions
        if let revision = revisions.spend() { return revision }
        try commits.submitBlocking { _ throws(StoreError) in }
        guard let revision = revisions.spend() else { throw revisions.failure }
        return revision
    }
}

/// Changes in the order of their revisions, from both files.
package struct ChangePage: Sendable {
    package let changes: [Change]
    package let through: Revision
}

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
        guard !updates.isEmpty else { return }
        guard shared.changes.isWatched || !shared.watches.isEmpty else {
            // A watcher that joins before the step is published reads the log for the answers.
            return shared.changes.isNotWhole()
        }
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
