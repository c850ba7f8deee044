import LarderModel
import LarderStore
import LarderWire

struct ListedView: Sendable {
    let row: ListedRow
    let entry: Entry
    let source: AnswerSource
}

extension Entries {
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
        return try await store.read { [context] reader throws(StoreError) in
            defer { reader.endTransaction() }
            let rows = try reader.lists.page(filter, order: order, after: cursor, limit: limit)
            var views: [ListedView] = []
            var bytesLeft = Limits.batchBytesMax
            for row in rows {
                let scope = context.store.key(for: row.scope)
                let look = EntryReader(context: context, scope: scope, reader: reader, now: now)
                guard let view = try look.listed(row) else { continue }
                views.append(view)
                // Its bytes were made at this read.
                if view.entry.body != row.entry.body { bytesLeft -= view.entry.body.byteCount }
                guard bytesLeft > 0 else { return (views, row.cursor(order)) }
            }
            return (views, rows.count == limit ? rows.last?.cursor(order) : nil)
        }
    }
}

extension EntryReader {
    /// What shows under a row's id; nil where nothing does, or only a row of another scope, unless
    /// that may be.
    func listed(_ row: ListedRow, inAnyScope: Bool = false) throws(StoreError) -> ListedView? {
        let id = row.entry.id
        guard row.isBare || context.hasChanges(scope, id) || mayBeOther(row.entry) else {
            return ListedView(row: row, entry: row.entry, source: .cache)
        }
        guard let head = try head(of: id), head.place == scope || inAnyScope else { return nil }
        var entry = head.entry
        entry.origin = entry.origin ?? row.entry.origin
        // The list is in the order of what the row says.
        entry.storedAt = row.entry.storedAt
        return ListedView(row: row, entry: entry, source: head.source)
    }

    /// Whether what shows may be newer than its row: what is put together of entities, and what is
    /// remembered as gone of one that is known of since.
    private func mayBeOther(_ entry: Entry) -> Bool {
        switch entry.kind {
        case .fetched: entry.origin.map { context.origins.entityRules[$0] != nil } == true
        case .tombstone: context.entity(at: entry.id, in: scope) != nil
        case .blob, .variants, .entity: false
        }
    }
}
