package import LarderModel
import LarderNormalize
package import LarderStore
package import LarderWire

/// The id / data / timestamp cache itself.
extension Engine {
    /// Reads an entry where it lies, on the reader's own thread: the hot path.
    ///
    /// A tombstone is handed to `read` like any row; a normalized answer is put together, with what
    /// modifiers make of its entities unless `isBase` says otherwise.
    package func readEntry<Value>(
        _ id: EntryID,
        _ scope: ScopeKey,
        _ reader: StoreReader,
        isBase: Bool = false,
        now: Timestamp,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> EntryRead<Value> {
        let sight = isBase ? EntitySight.base(of: scope) : .view(of: scope)
        var found = try readEntry(in: scope, id, sight, reader, now, read)
        if found == nil, let shared = context.sharedScope(of: id) {
            found = try readEntry(in: shared, id, sight, reader, now, read)
        }
        if found == nil, !isBase,
            let made = try context.targetedEntity(at: id, scope, reader, now: now)
        {
            found = .rebuilt(made.entry, made.shown.bytes, made.shown.overlay)
        }
        context.count(isHit: found?.isHit ?? false)
        return found ?? .miss
    }

    private func readEntry<Value>(
        in scope: ScopeKey,
        _ id: EntryID,
        _ sight: EntitySight,
        _ reader: StoreReader,
        _ now: Timestamp,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> EntryRead<Value>? {
        switch try reader.shownRow(scope, id, for: sight, now: now, read) {
        case nil: nil
        case .whole(let value)?: .row(value)
        case .normalized(.shown(let shown), _)?:
            .rebuilt(shown.entry, shown.answer.bytes, Overlay(shown))
        case .normalized(.deleted(let tombstone), _)?: .rebuilt(tombstone, [], .none)
        case .normalized(.missing, _)?: .miss
        }
    }

    /// The body of an entry that ``readEntry(_:_:_:now:_:)`` has read; nil when it was replaced.
    package func openBody(
        _ body: ChunkedBody,
        of id: EntryID,
        _ scope: ScopeKey
    ) async throws(StoreError) -> BodyReader? {
        for place in context.sight(scope, id).scopes {
            let reader = try await store.openBody(body, of: place, id, now: clock.now())
            if let reader { return reader }
        }
        return nil
    }

    /// What an entry shows that modifiers target, or have failed on; nil for one that none has, which
    /// costs two looks into memory.
    package func shown(
        _ id: EntryID,
        _ scope: ScopeKey,
        _ reader: StoreReader,
        now: Timestamp
    ) throws(StoreError) -> ShownRead? {
        guard store.isTargeted(scope, id) else {
            let failed = try reader.deadLetters(scope, id)
            guard failed > 0 else { return nil }
            return .base(Overlay(pending: [], failed: failed, isComplete: true))
        }
        let answer = try CachedAnswer(reader, Sight(scope), id, now: now)
        context.count(isHit: answer != nil)
        guard let answer else { return .miss }
        guard let made = answer.made else { return .base(answer.overlay) }
        return .made(answer.entry, made, answer.overlay)
    }

    /// A client's own blob on its way in; see ``BlobIntake``.
    package func takeBlob(
        _ id: EntryID,
        _ scope: ScopeKey,
        mediaType: String?,
        ttl: Duration?,
        isPinned: Bool = false,
        client: ClientTag? = nil
    ) throws(Problem) -> BlobIntake {
        if let origin = context.origins.origin(of: id, for: scope.scope.uid) {
            throw Problem(.originID, "'\(id)' lies under the base URL of origin '\(origin.name)'")
        }
        return BlobIntake(
            context,
            id,
            scope,
            mediaType: mediaType,
            ttl: ttl,
            isPinned: isPinned,
            client: client
        )
    }

    /// Deletes a blob, or forgets a fetched entry, without a tombstone.
    ///
    /// False when there was none. What everybody sees is forgotten where no row of the client's own
    /// stands before it, if `mayForgetShared`, which is asked only then, says so.
    package func remove(
        _ id: EntryID,
        _ scope: ScopeKey,
        client: ClientTag? = nil,
        mayForgetShared: () throws(Problem) -> Bool = { false }
    ) async throws(Problem) -> Bool {
        if try await delete(scope, id, client) { return true }
        guard let shared = context.sharedScope(of: id), try await isThere(shared, id) else {
            return false
        }
        guard try mayForgetShared() else {
            throw Problem(
                .notPermitted,
                "'\(id)' is seen by all users, so that none of them may remove it",
                hint: "An administrator may: with DELETE, or POST /v1/evict and scope=shared."
            )
        }
        return try await delete(shared, id, client)
    }

    private func delete(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ client: ClientTag?
    ) async throws(Problem) -> Bool {
        do throws(StoreError) {
            return try await store.delete(scope, id, client: client) != nil
        } catch {
            throw Problem(error)
        }
    }

    private func isThere(_ scope: ScopeKey, _ id: EntryID) async throws(Problem) -> Bool {
        let now = clock.now()
        do throws(StoreError) {
            return try await store.read { reader throws(StoreError) in
                try reader.entry(scope, id, now: now) != nil
            }
        } catch {
            throw Problem(error)
        }
    }

    /// A page of the rows of one scope or several; with a command for others' rows, each says
    /// whose it is.
    package func list(
        _ command: EntryListCommand,
        _ scopes: RowScopes
    ) async throws(Problem) -> EntryPage {
        var filter = RowFilter(scopes)
        filter.prefix = command.prefix
        filter.origin = command.origin
        filter.shownAt = clock.now()
        filter.part = .entries
        let order = RowOrder(command.sort)
        let cursor = try command.cursor.map { text throws(Problem) in try RowCursor(text) }
        let limit = command.limit
        let rows: [ListedRow]
        do throws(StoreError) {
            if command.sort == .used { try await store.flushTouches() }
            rows = try await store.read { [filter] reader throws(StoreError) in
                try reader.list(filter, order: order, after: cursor, limit: limit)
            }
        } catch {
            throw Problem(error)
        }
        let now = clock.now()
        let items = rows.map { row in
            var item = EntryListItem(
                entry: row.entry,
                accountedBytes: row.size,
                lastUsed: row.lastUsed,
                isPinned: row.isPinned,
                now: now
            )
            if command.scope.isOthers { item.scope = row.scope }
            return item
        }
        let next = rows.count == limit ? rows.last?.cursor(order).text : nil
        return EntryPage(items: items, next: next)
    }
}

extension RowOrder {
    fileprivate init(_ sort: EntrySort) {
        switch sort {
        case .id: self = .id
        case .size: self = .size
        case .age: self = .age
        case .used: self = .used
        }
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

/// What a read of an entry came to.
package enum EntryRead<Value> {
    case row(Value)
    /// A normalized answer as it is now, with its bytes; none for the tombstone of one that is an
    /// entity.
    case rebuilt(Entry, [UInt8], Overlay)
    case miss

    fileprivate var isHit: Bool { if case .miss = self { false } else { true } }
}
