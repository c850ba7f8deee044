import LarderAPI
import LarderModel
import LarderStore
import LarderWire

/// The list of a set: the entries that a command names, and those that its queries select.
struct PrefetchList: EnginePart {
    let context: EngineContext
    let scope: ScopeKey

    /// A set with checked values.
    struct Order {
        var items: [NewPrefetchItem] = []
        var refresh: Duration?
        var expires: Duration?
        var definition: [UInt8] = []
        /// The latest use of any entity in `cache.db`, in the order of uses.
        var latestUse: Int64 = 0
    }

    /// The last evaluation of a set's queries.
    struct LastQuery {
        /// Nil if it was before the daemon started.
        var latestUse: Int64?
        /// Entities that it has taken out of the list.
        var left: Set<EntryID> = []
    }

    /// Reads a command and evaluates its queries; `again` if they were evaluated before.
    func order(
        _ command: PrefetchCommand,
        again: LastQuery? = nil
    ) async throws(Problem) -> Order {
        try command.items.checkCount("items", in: 1...Limits.prefetchItemsMax)
        var order = Order()
        // A list with the same URL again and again would take room for nothing.
        var (stored, urls) = (command, Set<String>())
        stored.items.removeAll { $0.url.map { !urls.insert($0).inserted } ?? false }
        order.definition = APIEncoder().encode(stored)
        order.refresh = command.refresh
        order.expires = try command.expires?.checked("expires", in: Limits.prefetchTimes)
        var known: Set<EntryID> = []
        for (place, item) in command.items.enumerated() {
            for item in try await items(of: item, "items[\(place)]", command, again, &order) {
                if known.insert(item.id).inserted { order.items.append(item) }
            }
            guard again != nil || order.items.count <= Limits.prefetchItemsMax else {
                throw Problem(
                    .badRequest,
                    "items: a set has at most \(Limits.prefetchItemsMax) entries"
                )
            }
        }
        let most =
            command.refresh == nil ? Limits.prefetchItemsMax : Limits.polledRowsPerUserMax
        if again != nil { order.items = Array(order.items.prefix(most)) }
        guard order.items.count <= most else {
            throw Problem(
                .badRequest,
                "refresh: the set has \(order.items.count) entries, and at most "
                    + "\(Limits.polledRowsPerUserMax) of one user can be asked for again and again"
            )
        }
        return order
    }

    private func items(
        of item: PrefetchItem,
        _ place: String,
        _ command: PrefetchCommand,
        _ again: LastQuery?,
        _ order: inout Order
    ) async throws(Problem) -> [NewPrefetchItem] {
        switch (item.url, item.entities) {
        case (let text?, nil):
            let url = try Problem.checking("\(place).url", .badURL) { () throws(ModelError) in
                try WebURL(text)
            }
            let origin = try context.origin(of: url, in: scope)
            try command.refresh?.checkRefresh(at: origin)
            let id = try EntryID(command: url.text, of: "\(place).url")
            guard PinAttempt(context, scope, id) != nil else {
                throw Problem(.badRequest, "\(place).url: '\(id)' names a temporary id")
            }
            return [NewPrefetchItem(id)]
        case (nil, let query?):
            let origin = try context.origin(
                named: OriginName(command: query.origin),
                for: scope.scope.uid
            )
            try command.refresh?.checkRefresh(at: origin)
            let limit = query.limit ?? Limits.prefetchEntities
            let most =
                command.refresh == nil ? Limits.prefetchItemsMax : Limits.polledRowsPerUserMax
            guard (1...most).contains(limit) else {
                let reason = command.refresh == nil ? "" : " of a set with refresh"
                throw Problem(
                    .badRequest,
                    "\(place).entities.limit\(reason): \(limit) is not in 1...\(most)"
                )
            }
            let types = origin.normalize?.types ?? []
            guard types.contains(where: { $0.type == query.type && $0.url != nil }) else {
                throw Problem(
                    .badRequest,
                    "\(place).entities: the origin '\(origin.name)' has no URL for the type "
                        + "'\(query.type)'",
                    hint: "Give the origin's normalize.types a url for it."
                )
            }
            return try await entities(ofType: query.type, at: origin.name, limit, again, &order)
        case (_, _):
            throw Problem(.badRequest, "\(place): one of url and entities is to be given")
        }
    }

    /// The entities that were used most recently, by their own URLs.
    ///
    /// No uses are noted of a row in `state.db`: one that a query has selected counts as used when it
    /// was selected. One that leaves the list goes back to `cache.db` as if it were used then, which
    /// the next evaluation must not take for a use.
    private func entities(
        ofType type: String,
        at origin: OriginName,
        _ limit: Int,
        _ again: LastQuery?,
        _ order: inout Order
    ) async throws(Problem) -> [NewPrefetchItem] {
        let keys = EntityKey.typePrefix(type)
        let prefix = EntryID.entityPrefix(origin) + keys
        let example = try EntryID(command: "entity:\(origin)/\(keys)1")
        let selected = try await storing(await store.prefetches.uses(in: scope))
        let since = again.map { $0.latestUse ?? selected.values.max() ?? 0 }
        var ranks: [EntryID: Rank] = [:]
        for place in context.lookupScopes(scope, example).scopes {
            var filter = RowFilter(scope: place)
            (filter.prefix, filter.part) = (prefix, .entities)
            var cursor: RowCursor?
            repeat {
                let (wanted, after) = (filter, cursor)
                let rows = try await context.read { reader throws(StoreError) in
                    let limit = Limits.pageRowsMax
                    return try reader.lists.page(wanted, order: .id, after: after, limit: limit)
                }
                for row in rows where row.entry.kind != .tombstone {
                    guard let id = url(of: row.entry.id) else { continue }
                    var rank = Rank(group: 2, used: row.lastUsed)
                    if row.isOfState {
                        rank = Rank(group: selected[id] == nil ? 0 : 1, used: selected[id] ?? 0)
                    } else {
                        order.latestUse = max(order.latestUse, row.lastUsed)
                    }
                    if let since, rank.group == 2,
                        rank.used <= since || again?.left.contains(id) == true
                    {
                        rank.group = 0
                    }
                    if since == nil { rank.group = 0 }
                    ranks[id] = max(ranks[id] ?? rank, rank)
                }
                if ranks.count > 2 * limit {
                    let first = Self.first(limit, of: ranks)
                    ranks = Dictionary(uniqueKeysWithValues: first.map { ($0.key, $0.value) })
                }
                cursor = rows.count == Limits.pageRowsMax ? rows.last?.cursor(.id) : nil
            } while cursor != nil
        }
        return Self.first(limit, of: ranks).map { NewPrefetchItem($0.key, used: $0.value.used) }
    }

    /// Entities that were used since the last evaluation come first, then those that it has selected.
    private struct Rank: Comparable {
        var group: Int
        var used: Int64

        static func < (left: Rank, right: Rank) -> Bool {
            (left.group, left.used) < (right.group, right.used)
        }
    }

    private func url(of entity: EntryID) -> EntryID? {
        let url = entity.entity.flatMap { context.origins.ownURL(of: $0) }
        return url.flatMap { try? EntryID($0) }
    }

    private static func first(
        _ limit: Int,
        of ranks: [EntryID: Rank]
    ) -> ArraySlice<(key: EntryID, value: Rank)> {
        ranks.sorted { ($1.value, $0.key.text) < ($0.value, $1.key.text) }.prefix(limit)
    }
}
