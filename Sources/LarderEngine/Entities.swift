package import LarderAPI
import LarderJSON
package import LarderModel
import LarderNormalize
package import LarderStore
import LarderWire

package struct Entities: EnginePart {
    let context: EngineContext

    /// The origin whose entities are meant: the one that is named, else the only one that has rules.
    package func origin(_ origin: OriginName?, for uid: UInt32?) throws(Problem) -> OriginName {
        let table = context.origins
        if let origin {
            if case .unknown = table.origin(named: origin, for: uid) {
                throw Problem(.noSuchOrigin, "no origin has the name '\(origin)'")
            }
            return origin
        }
        let names = table.entityRules.keys.sorted()
        guard let only = names.first, names.count == 1 else {
            let list = names.map(\.text).joined(separator: ", ")
            throw Problem(
                .originNeeded,
                names.isEmpty
                    ? "no origin has rules for entities"
                    : "more than one origin has entities: \(list)"
            )
        }
        return only
    }

    package func name(
        _ key: EntityKey,
        of origin: OriginName?,
        for uid: UInt32?
    ) throws(Problem) -> EntityName {
        EntityName(key, of: try self.origin(origin, for: uid))
    }

    /// One entity with all its members, those of others in it as deep as `depth` says; nil for a
    /// miss.
    package func read(
        _ name: EntityName,
        as form: ShownView = .view,
        expanding depth: Int = 0,
        _ scope: ScopeKey
    ) async throws(Problem) -> EntryView<Never>? {
        let now = clock.now()
        let view = try await context.read {
            [context] reader throws(StoreError) -> EntryView<Never>? in
            var look = EntryReader(context: context, scope: scope, reader: reader, now: now)
            look.form = form
            return try look.view(of: name, expanding: depth)
        }
        for place in context.sight(scope, EntryID(name)).scopes {
            store.noteDirectUse(place, EntryID(name))
        }
        context.count(isHit: view != nil)
        return view
    }

    /// Takes an entity from a client that has learned it elsewhere, as if its origin had said it now.
    ///
    /// `json` is an object that says of itself that it is this one, or nothing; entities in it are
    /// taken too.
    package func set(
        _ name: EntityName,
        json: [UInt8],
        _ scope: ScopeKey,
        client: ClientTag?
    ) async throws(Problem) -> EntitiesReceipt {
        guard let rules = context.origins.entityRules[name.origin] else {
            throw Problem(.badRequest, "origin '\(name.origin)' has no rules for entities")
        }
        let splitter = Splitter(rules, bodyBytesMax: Limits.normalizedBodyBytesMax)
        let (said, outcome) = try await storing(
            await context.splitting.pass { () async throws(StoreError) in
                try await store.work(onBytes: json.count) {
                    (
                        splitter.key(of: json, path: "/"),
                        splitter.split(json, path: "/", as: name.key)
                    )
                }
            }
        )
        if let said, said != name.key {
            throw Problem(.badRequest, "it says that it is '\(said)', not '\(name.key)'")
        }
        switch outcome {
        case .whole(let reason, _):
            throw Problem(.badRequest, "it cannot be taken as '\(name.key)': \(reason.message)")
        case .split(let split):
            return try await storingAll { () async throws(StoreError) in
                let entities = NewEntities(
                    split,
                    of: name.origin,
                    in: scope,
                    fetch: try store.nextRevision(),
                    cause: ChangeCause(.client, client: client),
                    hidesShared: context.hidesShared(EntryID(name), scope)
                )
                let receipt = try await store.put(entities, now: clock.now())
                store.noteDirectUse(scope, EntryID(name))
                return receipt
            }
        }
    }

    /// Leaves a tombstone, as if the origin had said now that it is gone; its revision.
    package func delete(
        _ name: EntityName,
        _ scope: ScopeKey,
        client: ClientTag?
    ) async throws(Problem) -> Revision {
        try await storingAll { () async throws(StoreError) in
            let step = try await store.deleteEntity(
                name,
                in: scope,
                fetch: try store.nextRevision(),
                cause: ChangeCause(.client, client: client),
                hidesShared: context.hidesShared(EntryID(name), scope),
                now: clock.now()
            )
            return step ?? store.changes.released
        }
    }

    package func list(
        _ query: EntityListQuery,
        _ origin: OriginName,
        _ scopes: RowScopes,
        tellsOwners: Bool = false
    ) async throws(Problem) -> Page<EntityItem> {
        var filter = RowFilter(scopes)
        filter.part = .entities
        guard query.type.map({ EntityKey(type: $0, id: "1") != nil }) != false else {
            throw Problem(
                .badRequest,
                "type: it is empty, or longer than \(Limits.entityKeyBytesMax) bytes"
            )
        }
        filter.prefix = EntryID.entityPrefix(origin, type: query.type)
        let (cursor, limit) = try query.page.checked()
        let page = try await storing(
            await Entries(context: context).page(filter, order: .id, after: cursor, limit: limit)
        )
        let items = page.views.compactMap { view in
            var item = EntityItem(view)
            if tellsOwners { item?.tell(view.row.scope) }
            return item
        }
        return Page(items: items, next: page.next?.text)
    }
}

extension EntityItem {
    init?(_ view: ListedView) {
        self.init(
            view.entry,
            accountedBytes: view.row.size,
            source: view.source
        )
    }
}
