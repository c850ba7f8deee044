package import LarderModel

/// Changes in the order of their revisions, from both files.
package struct ChangePage: Sendable {
    package let changes: [Change]
    /// They are all there are up to it.
    package let through: Revision
}

extension CacheStore {
    /// What changes, as it is released.
    package var changes: ChangeFeed { shared.changes }

    /// A page of the changes of a scope and of what is shared, after one revision and up to a
    /// released one; nil where the logs do not reach back that far.
    ///
    /// The entries of interest that show an entity which has changed are among them, as far as the
    /// references of now tell.
    package func changes(
        after first: Revision,
        through last: Revision,
        of scope: Scope,
        showing isWanted: @escaping @Sendable (EntryID) -> Bool = { _ in false }
    ) async throws(StoreError) -> ChangePage? {
        try await read { [shared] reader throws(StoreError) in
            let pages = try reader.loggedChanges(after: first, through: last, of: scope)
            // Looked at last: what was trimmed is said here before it is gone.
            guard shared.changes.start <= first else { return nil }
            let through = pages.reduce(last) { min($0, $1.through) }
            let changes = pages.flatMap(\.changes).filter { $0.revision <= through }
            let all = try reader.withEntries(showing: Self.sorted(changes), where: isWanted)
            return all.map { ChangePage(changes: $0, through: through) }
        }
    }

    /// The number of a step that leaves nothing in the store, such as an answer that is only told.
    package func nextRevision() throws(StoreError) -> Revision {
        try revisions.spend()
    }

    /// By revision; within a step as they stand.
    private static func sorted(_ changes: [Change]) -> [Change] {
        changes.enumerated()
            .sorted { ($0.element.revision, $0.offset) < ($1.element.revision, $1.offset) }
            .map(\.element)
    }
}

extension StoreReader {
    /// Changes with those of the entries that show the entities among them, behind the last of each
    /// step; nil where they are too many to be told.
    fileprivate func withEntries(
        showing changes: [Change],
        where isWanted: (EntryID) -> Bool
    ) throws(StoreError) -> [Change]? {
        var all: [Change] = []
        var rest = changes[...]
        while let first = rest.first {
            let step = rest.prefix { $0.revision == first.revision }
            rest = rest.dropFirst(step.count)
            all += step
            for (scope, entities) in Dictionary(grouping: step, by: \.scope) {
                let changed = entities.compactMap(\.changedEntity)
                guard let cause = changed.first?.cause else { continue }
                let known = Set(entities.compactMap(\.id))
                var told = known
                for place in places(of: key(for: scope)) {
                    let found = try entries(
                        of: place,
                        showing: changed.map(\.name),
                        where: { isWanted($0) && !told.contains($0) }
                    )
                    guard let showing = found else { return nil }
                    for (id, keys) in showing.sorted(by: { $0.id.text < $1.id.text }) {
                        told.insert(id)
                        var change = Change(first.revision, scope, .put(id, cause))
                        change.name(changed: keys)
                        all.append(change)
                    }
                }
                for change in entities {
                    guard let change = try byOwnURL(change), let id = change.id, isWanted(id),
                        told.insert(id).inserted
                    else { continue }
                    all.append(change)
                }
            }
            guard all.count - changes.count <= Limits.changesReadyMax else { return nil }
        }
        return all
    }

    /// What each file's log has.
    fileprivate func loggedChanges(
        after first: Revision,
        through last: Revision,
        of scope: Scope
    ) throws(StoreError) -> [(changes: [Change], through: Revision)] {
        let limit = Limits.changePageRows
        let cached = try reading { file throws(StoreError) in
            try ChangeLogReader(file.connection, hasModifiers: false)
                .changes(after: first, through: last, of: scope, limit: limit)
        }
        let saved = try stateReader()
            .changes(after: first, through: last, of: scope, limit: limit)
        return [cached, saved].compactMap { $0 }
    }
}

extension Change {
    /// The entity that has another value by it, or is deleted.
    var changedEntity: (name: EntityName, cause: ChangeCause)? {
        switch event {
        case .put(let id, let cause), .delete(let id, let cause):
            id.entity.map { ($0, cause) }
        case .evict, .modifier: nil
        }
    }
}

extension StateReader {
    fileprivate func changes(
        after first: Revision,
        through last: Revision,
        of scope: Scope,
        limit: Int
    ) throws(StoreError) -> (changes: [Change], through: Revision) {
        try ChangeLogReader(connection, hasModifiers: true)
            .changes(after: first, through: last, of: scope, limit: limit)
    }
}
