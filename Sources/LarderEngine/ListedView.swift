import LarderModel
import LarderStore
import LarderWire

/// A row of a list as its user sees it.
struct ListedView: Sendable {
    let row: ListedRow
    /// As it is shown.
    let entry: Entry
    /// `modifier` where no server has said what is shown; else `cache`.
    let source: AnswerSource
}

extension Views {
    /// A page of a list, and where the next one begins; nil on the last.
    ///
    /// Rows under which nothing shows are left out, so a page may have fewer rows than its limit, or
    /// none, and not be the last; so it is too where views have taken what one read may.
    func page(
        _ filter: RowFilter,
        order: RowOrder,
        after cursor: RowCursor?,
        limit: Int
    ) async throws(StoreError) -> (views: [ListedView], next: RowCursor?) {
        let now = clock.now()
        return try await store.read { reader throws(StoreError) in
            defer { reader.endTransaction() }
            let rows = try reader.lists.page(filter, order: order, after: cursor, limit: limit)
            var views: [ListedView] = []
            var bytesLeft = Limits.batchBytesMax
            for row in rows {
                guard let view = try self.listed(row, reader, now: now) else { continue }
                views.append(view)
                // Its bytes were made at this read.
                if view.entry.body != row.entry.body { bytesLeft -= view.entry.body.byteCount }
                guard bytesLeft > 0 else { return (views, row.cursor(order)) }
            }
            return (views, rows.count == limit ? rows.last?.cursor(order) : nil)
        }
    }

    /// What shows under a row's id; nil where nothing does, or only a row of another scope.
    ///
    /// With a viewer it is what that one sees of a shared row.
    func listed(
        _ row: ListedRow,
        for viewer: ScopeKey? = nil,
        _ reader: StoreReader,
        now: Timestamp
    ) throws(StoreError) -> ListedView? {
        let (id, home) = (row.entry.id, store.key(for: row.scope))
        let scope = viewer ?? home
        guard row.isBare || context.hasChanges(scope, id) || mayBeOther(row.entry, in: scope) else {
            return ListedView(row: row, entry: row.entry, source: .cache)
        }
        guard let head = try head(of: id, for: scope, reader, now: now),
            head.place == home || viewer != nil
        else {
            return nil
        }
        var entry = head.entry
        entry.origin = entry.origin ?? row.entry.origin
        // The list is in the order of what the row says.
        entry.storedAt = row.entry.storedAt
        return ListedView(row: row, entry: entry, source: head.source)
    }

    /// Whether what shows may be newer than its row: what is put together of entities, and what is
    /// remembered as gone of one that is known of since.
    private func mayBeOther(_ entry: Entry, in scope: ScopeKey) -> Bool {
        switch entry.kind {
        case .fetched: entry.origin.map { context.origins.entityRules[$0] != nil } == true
        case .tombstone: context.entity(at: entry.id, in: scope) != nil
        case .blob, .variants, .entity: false
        }
    }
}
