package import LarderAPI
package import LarderModel
import LarderNormalize
package import LarderStore
import LarderWire
import Synchronization

package struct Entries: EnginePart {
    let context: EngineContext

    /// The body of an entry whose row a view has shown; nil when it was replaced.
    package func openBody(
        _ body: ChunkedBody,
        of id: EntryID,
        _ scope: ScopeKey
    ) async throws(Problem) -> BodyReader? {
        for place in context.lookupScopes(scope, id).scopes {
            let reader = try await storing(
                await store.bodies.open(body, of: place, id, now: clock.now())
            )
            if let reader { return reader }
        }
        return nil
    }

    package func take(
        _ id: EntryID,
        _ scope: ScopeKey,
        mediaType: String?,
        ttl: Duration?,
        isPinned: Bool = false,
        client: ClientTag? = nil,
        conditions: WriteConditions = WriteConditions()
    ) throws(Problem) -> BlobUpload {
        if let origin = context.origins.origin(of: id, for: scope.scope.uid) {
            throw Problem(.originID, "'\(id)' lies under the base URL of origin '\(origin.name)'")
        }
        return BlobUpload(
            context: context,
            mediaType: mediaType,
            ttl: ttl,
            client: client,
            condition: condition(conditions, of: id, scope),
            receiver: BodyReceiver(
                store,
                isStored: true,
                for: TargetName(scope, id),
                isPinning: isPinned
            )
        )
    }

    /// Whether a read of an id would meet the conditions of a write; nil if there are none.
    private func condition(
        _ conditions: WriteConditions,
        of id: EntryID,
        _ scope: ScopeKey,
        unlessMissing: Bool = false
    ) -> WriteCondition? {
        guard !conditions.isEmpty else { return nil }
        return WriteCondition(scope, id) { [context] reader throws(StoreError) -> Bool in
            let now = context.clock.now()
            let look = EntryReader(context: context, scope: scope, reader: reader, now: now)
            guard let view = try look.view(of: id, row: { row, _ in row.entityTag }) else {
                return unlessMissing || conditions.areMet(by: nil)
            }
            return switch view.content {
            case .row(let tag): conditions.areMet(by: tag)
            case .made(let entry, _): conditions.areMet(by: entry.entityTag)
            case .deleted: conditions.areMet(by: nil)
            }
        }
    }

    /// Deletes a blob, or forgets a fetched entry, without a tombstone.
    ///
    /// Returns the revision of the removal, or nil if there was no row.
    ///
    /// A shared row is refused unless the client names the shared scope. So a repeated DELETE never
    /// removes what its client did not name.
    package func remove(
        _ id: EntryID,
        _ scope: ScopeKey,
        client: ClientTag? = nil,
        conditions: WriteConditions = WriteConditions()
    ) async throws(Problem) -> Revision? {
        let own = condition(conditions, of: id, scope, unlessMissing: true)
        let removed = try await storing(await store.delete(scope, id, client: client, if: own))
        if let removed { return removed.revision }
        guard let shared = context.sharedScope(of: id, for: scope), shared != scope else {
            return nil
        }
        let now = clock.now()
        let isThere = try await context.read { reader throws(StoreError) in
            try reader.entry(shared, id, now: now) != nil
                && !reader.isHidden(id, in: shared, from: scope)
        }
        guard isThere else { return nil }
        throw Problem(
            .notPermitted,
            "'\(id)' is seen by all users, and you have no row of your own under it",
            hint: "An administrator removes it for all users: DELETE with scope=shared."
        )
    }

    /// A page of the rows of one scope or several: of entities with a prefix of theirs, else of
    /// entries.
    ///
    /// `tellsOwners` says whether each row names its owner.
    package func list(
        _ query: EntryListQuery,
        _ scopes: RowScopes,
        tellsOwners: Bool = false
    ) async throws(Problem) -> Page<EntryItem> {
        var filter = RowFilter(scopes)
        if let prefix = query.prefix, !prefix.isEmpty {
            filter.prefix = try EntryID.prefix(command: prefix)
        }
        filter.origin = try OriginName?(command: query.origin)
        filter.shownAt = clock.now()
        filter.part = filter.prefix?.hasPrefix(EntryID.entityMark) == true ? .entities : .entries
        let order = query.sort.flatMap { RowOrder(rawValue: $0.rawValue) } ?? .id
        let limit = try query.page.checkedLimit()
        let cursor = try query.page.cursor.map(RowCursor.init)
        let page = try await storingAll { [filter] () async throws(StoreError) in
            if order == .used { try await store.flushTouches() }
            return try await self.page(filter, order: order, after: cursor, limit: limit)
        }
        let now = clock.now()
        let items = page.heads.map { head in
            var item = EntryItem(head.entry, in: head.row, head.source, now: now)
            if tellsOwners { item.tell(head.place.scope) }
            return item
        }
        return Page(items: items, next: page.next?.text)
    }
}

extension EntryItem {
    init(_ entry: Entry, in row: ListedRow?, _ source: AnswerSource, now: Timestamp) {
        self.init(
            entry,
            accountedBytes: row?.size ?? 0,
            pinned: row?.isPinned ?? false,
            source: source,
            now: now
        )
    }
}

extension RowCursor {
    /// The form in which it travels, opaque to clients: `VALUE/SCOPE/ID`, where no scope has a
    /// slash.
    var text: String { "\(value)/\(scope)/\(id)" }

    init(_ text: String) throws(Problem) {
        let parts = text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let value = Int64(parts[0]) else {
            throw Problem(.badRequest, "'\(text)' is not a cursor that a list has given")
        }
        self.init(value: value, scope: String(parts[1]), id: String(parts[2]))
    }
}

extension Entries {
    /// Sends the cached entries of several ids, read at one moment.
    ///
    /// The batch sends a frame for each id, in their order, and then `end`.
    ///
    /// Frames are sent as fast as the client takes them, until the daemon ends. A problem that this
    /// function throws is the only reply.
    package func batch(
        _ ids: [EntryID],
        _ scope: ScopeKey,
        emit: (BatchFrame) async -> Bool
    ) async throws(Problem) {
        guard context.batches.withLock({ $0.take(scope.scope.uid) }) else {
            throw Problem(.overloaded, "too many batches are being read already")
        }
        defer { context.batches.withLock { $0.release(scope.scope.uid) } }
        let began = clock.monotonic()
        let now = clock.now()
        var found = try await context.read { [context] reader throws(StoreError) in
            try EntryReader(context: context, scope: scope, reader: reader, now: now).batch(ids)
        }
        let time = clock.monotonic() - began
        found.reverse()
        while let frame = found.popLast() {
            // A slow client would be cut off in the middle.
            guard !context.isDraining else {
                _ = await emit(.end(EndFrame(outcome: .shutdown, cacheTime: time)))
                return
            }
            let isHit = if case .miss = frame { false } else { true }
            context.count(isHit: isHit)
            guard await emit(frame) else { return }
        }
        _ = await emit(.end(EndFrame(outcome: .cache, cacheTime: time)))
    }

    /// A page of a list, and the cursor of the next page; nil on the last.
    ///
    /// Rows whose view shows nothing are left out. A page that is not the last may therefore have
    /// fewer rows than its limit, or none. The same happens if views used up the loopBudget of one
    /// read.
    ///
    /// Each row is shown as its owner sees it, or as `viewer` does, who may see another row instead.
    func page(
        _ filter: RowFilter,
        as viewer: ScopeKey? = nil,
        order: RowOrder,
        after cursor: RowCursor?,
        limit: Int
    ) async throws(StoreError) -> (heads: [EntryHead], next: RowCursor?) {
        let now = clock.now()
        return try await store.read { [context] reader throws(StoreError) in
            defer { reader.endTransaction() }
            let rows = try reader.lists.page(filter, order: order, after: cursor, limit: limit)
            var heads: [EntryHead] = []
            var bytesLeft = Limits.batchBytesMax
            for row in rows {
                let place = context.store.key(for: row.scope)
                let scope = viewer ?? place
                let look = EntryReader(context: context, scope: scope, reader: reader, now: now)
                guard let head = try look.listed(row, in: place) else { continue }
                heads.append(head)
                // The bytes of this entry were built during this read.
                if head.entry.body != row.entry.body { bytesLeft -= head.entry.body.byteCount }
                guard bytesLeft > 0 else { return (heads, row.cursor(order)) }
            }
            return (heads, rows.count == limit ? rows.last?.cursor(order) : nil)
        }
    }
}

extension EntryReader {
    /// The views of several ids at one moment, in the order of the ids.
    ///
    /// Each view has its bytes, also those of JSON in chunks, up to ``Limits/batchBytesMax`` for
    /// all together. A view comes without bytes if they exceed that, or if they are not JSON and
    /// too large for a row.
    fileprivate func batch(_ ids: [EntryID]) throws(StoreError) -> [BatchFrame] {
        defer { reader.endTransaction() }
        return try reader.inConsistentSnapshot { () throws(StoreError) in
            var left = Limits.batchBytesMax
            return try ids.map { id throws(StoreError) in try frame(of: id, &left) }
        }
    }

    private func frame(of id: EntryID, _ left: inout Int) throws(StoreError) -> BatchFrame {
        guard let answer = try answer(of: id) else { return .miss(MissFrame(id)) }
        guard answer.entry.kind != .tombstone else {
            return .deleted(CachedDeletionFrame(id, answer.deletion))
        }
        var bytes: [UInt8]?
        if answer.entry.body.byteCount <= left {
            if case .bytes(let whole) = answer.body { bytes = whole }
            if let body = answer.chunkedJSON {
                bytes = try reader.bodies.whole(body)
                // A chunk of it is missing or damaged, so the row has to go.
                guard bytes != nil else {
                    context.store.bodies.drop(body, of: answer.place, id)
                    return .miss(MissFrame(id))
                }
            }
        }
        left -= bytes?.count ?? 0
        return .snapshot(SnapshotFrame(answer, bytes, for: scope.scope, now: now))
    }

    /// The view under the id of a row; nil if nothing shows there, or only a row of another scope.
    fileprivate func listed(
        _ row: ListedRow,
        in place: ScopeKey
    ) throws(StoreError) -> EntryHead? {
        let id = row.entry.id
        guard place != scope || row.isBare || context.hasChanges(scope, id) || mayBeOther(row.entry)
        else {
            return EntryHead(entry: row.entry, source: .cache, place: scope, row: row)
        }
        guard var head = try head(of: id), head.place == place else { return nil }
        head.row = row
        head.entry.origin = head.entry.origin ?? row.entry.origin
        // The list is in the order of what the row says.
        head.entry.storedAt = row.entry.storedAt
        return head
    }

    /// Whether the view may be newer than the row.
    ///
    /// That holds for what is built from entities, and for the tombstone of a URL whose entity is
    /// known since.
    private func mayBeOther(_ entry: Entry) -> Bool {
        switch entry.kind {
        case .fetched: entry.origin.map { context.origins.entityRules[$0] != nil } == true
        case .tombstone: context.entity(at: entry.id, in: scope) != nil
        case .entity: true
        case .blob, .variants: false
        }
    }
}
