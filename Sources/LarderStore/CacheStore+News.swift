package import LarderModel

/// A row by which another thing is seen, although nobody has put it.
package struct RowNews: Sendable {
    /// Where the row stands.
    let place: ScopeKey
    let id: EntryID
    /// Who sees it.
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
        let kept = rows.filter { shared.kept.covers($0.place, $0.id) }
        let cached = rows.filter { !shared.kept.covers($0.place, $0.id) }
        if !cached.isEmpty {
            try await queue.submit { writer throws(StoreError) in
                try writer.renew(cached)
            }
        }
        guard !kept.isEmpty else { return }
        try await revisions.step { (step) async throws(StoreError) in
            try await stateFile.settle { writer throws(StoreError) in
                try writer.renew(kept, step)
            }
        }
    }
}

extension CacheWriter {
    fileprivate func renew(_ rows: [RowNews]) throws(StoreError) {
        let revision = try nextRevision()
        for row in rows {
            guard let file, let found = try find(row.place, row.id).0 else { continue }
            try file.connection.execute(
                "UPDATE entry SET rev = \(revision.number) WHERE key = \(found.key.number)"
            )
            noteChange(of: found.key)
        }
        try log(together: rows.map { Change(revision, $0.viewer, $0.event) })
    }
}

extension StateWriter {
    fileprivate func renew(
        _ rows: [RowNews],
        _ revision: Revision
    ) throws(StoreError) {
        for row in rows {
            if let found = try find(row.place, row.id) {
                try addTargets(0, to: found, row.place, revision)
                state.changedRows.append(RowKey(row.place, row.id))
            }
            try log(Change(revision, row.viewer, row.event))
        }
    }
}
