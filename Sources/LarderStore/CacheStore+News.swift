package import LarderModel

/// A row by which another thing is seen, although nobody has put it.
package struct RowNews: Sendable {
    let place: ScopeKey
    let id: EntryID
    let viewer: Scope
    let event: Change.Event

    package init(_ id: EntryID, in place: ScopeKey, seenBy viewer: Scope, _ event: Change.Event) {
        self.id = id
        self.place = place
        self.viewer = viewer
        self.event = event
    }
}

extension CacheStore {
    /// Has rows say from a step of their own on what they say, and tells it to those who watch them.
    ///
    /// What has no row is told all the same.
    package func renew(_ rows: [RowNews]) async throws(StoreError) {
        try await commits.submit(cache: .optional) { writer throws(StoreError) in
            try writer.entries.renew(rows)
        }
    }
}
