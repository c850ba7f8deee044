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
    package func changes(
        after first: Revision,
        through last: Revision,
        of scope: Scope
    ) async throws(StoreError) -> ChangePage? {
        try await read { [shared] reader throws(StoreError) in
            let pages = try reader.loggedChanges(after: first, through: last, of: scope)
            // Looked at last: what was trimmed is said here before it is gone.
            guard shared.changes.start <= first else { return nil }
            let through = pages.reduce(last) { min($0, $1.through) }
            let changes = pages.flatMap(\.changes).filter { $0.revision <= through }
            return ChangePage(changes: Self.sorted(changes), through: through)
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
        let kept = try keptReader()
            .changes(after: first, through: last, of: scope, limit: limit)
        return [cached, kept].compactMap { $0 }
    }
}

extension KeptReader {
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
