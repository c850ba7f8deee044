import LarderJSON
package import LarderModel
import LarderNormalize
package import LarderStore
package import LarderWire

/// What a read of an entity came to.
package enum EntityShown: Sendable {
    case miss
    /// The tombstone's revision, who says it, and what modifiers add to it.
    case deleted(Revision, AnswerSource, Overlay)
    case shown(ShownEntity)
}

/// An entity with all its members, as it is told.
package struct ShownEntity: Sendable {
    /// The latest of what it shows.
    package let revision: Revision
    package let storedAt: Timestamp
    package let bytes: [UInt8]
    /// Of the bytes.
    package let digest: Digest
    /// What modifiers add to it, and where something of it is missing.
    package let overlay: Overlay
    /// `modifier` where no server has said anything of it; else `cache`.
    package let source: AnswerSource
}

/// What setting an entity came to.
package struct EntityReceipt: Equatable, Sendable {
    /// Whether there was none, or only a tombstone.
    package let isNew: Bool
    package let revision: Revision
}

/// Entities by their keys.
extension Engine {
    /// The origin whose entities are meant: the one that is named, else the only one that has rules.
    package func entityOrigin(
        _ origin: OriginName?,
        for uid: UInt32?
    ) throws(Problem) -> OriginName {
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

    package func entityName(
        _ key: EntityKey,
        of origin: OriginName?,
        for uid: UInt32?
    ) throws(Problem) -> EntityName {
        EntityName(key, of: try entityOrigin(origin, for: uid))
    }

    /// One entity with all its members, those of others in it `expansion` references deep; of the
    /// rest their keys stand there, and `null` for what was evicted.
    package func entity(
        _ name: EntityName,
        _ command: EntityCommand,
        _ scope: ScopeKey
    ) async throws(Problem) -> EntityShown {
        let now = clock.now()
        let sight = context.sight(scope, EntryID(name))
        let (depth, isBase) = (command.expansion, command.form == .base)
        let rules = context.entityRules(of: name.origin)
        let shown: EntityShown
        do throws(StoreError) {
            shown = try await store.read { reader throws(StoreError) in
                for place in sight.scopes {
                    let found = try reader.showEntity(
                        name,
                        in: place,
                        for: isBase ? .base(of: scope) : .view(of: scope),
                        rules,
                        expanding: depth,
                        now
                    )
                    if let found { return found }
                }
                return .miss
            }
        } catch {
            throw Problem(error)
        }
        for place in sight.scopes { store.noteDirectUse(place, EntryID(name)) }
        if case .miss = shown { context.count(isHit: false) } else { context.count(isHit: true) }
        return shown
    }

    /// Takes an entity from a client that has learned it elsewhere, as if its origin had said it now.
    ///
    /// `json` is an object that says of itself that it is this one, or nothing; entities in it are
    /// taken too.
    package func setEntity(
        _ name: EntityName,
        json: [UInt8],
        _ scope: ScopeKey,
        client: ClientTag?
    ) async throws(Problem) -> EntityReceipt {
        guard let rules = context.origins.entityRules[name.origin] else {
            throw Problem(.badRequest, "origin '\(name.origin)' has no rules for entities")
        }
        let splitter = Splitter(rules, bodyBytesMax: Limits.normalizedBodyBytesMax)
        let said: EntityKey?
        let outcome: SplitOutcome
        do throws(StoreError) {
            (said, outcome) = try await context.splitting.pass { () async throws(StoreError) in
                try await store.work(onBytes: json.count) {
                    (
                        splitter.key(of: json, path: "/"),
                        splitter.split(json, path: "/", as: name.key)
                    )
                }
            }
        } catch {
            throw Problem(error)
        }
        if let said, said != name.key {
            throw Problem(.badRequest, "it says that it is '\(said)', not '\(name.key)'")
        }
        switch outcome {
        case .whole(let reason, _):
            throw Problem(.badRequest, "it cannot be taken as '\(name.key)': \(reason.message)")
        case .split(let split):
            do throws(StoreError) {
                let entities = NewEntities(
                    split,
                    of: name.origin,
                    in: scope,
                    fetch: try store.nextRevision(),
                    cause: ChangeCause(.client, client: client)
                )
                let receipt = try await store.put(entities, now: clock.now())
                store.noteDirectUse(scope, EntryID(name))
                return EntityReceipt(isNew: receipt.isNew, revision: receipt.revision)
            } catch {
                throw Problem(error)
            }
        }
    }

    /// Leaves a tombstone, as if the origin had said now that it is gone; its revision.
    package func deleteEntity(
        _ name: EntityName,
        _ scope: ScopeKey,
        client: ClientTag?
    ) async throws(Problem) -> Revision {
        do throws(StoreError) {
            let step = try await store.deleteEntity(
                name,
                in: scope,
                fetch: try store.nextRevision(),
                cause: ChangeCause(.client, client: client),
                now: clock.now()
            )
            return step ?? store.changes.released
        } catch {
            throw Problem(error)
        }
    }

    /// A page of the entities of an origin, in the order of their keys.
    package func entities(
        _ command: EntityListCommand,
        _ origin: OriginName,
        _ scopes: RowScopes
    ) async throws(Problem) -> EntityPage {
        var filter = RowFilter(scopes)
        filter.part = .entities
        filter.prefix = EntryID.entityPrefix(origin, type: command.type)
        let cursor = try command.cursor.map { text throws(Problem) in try RowCursor(text) }
        let page: (views: [ListedView], next: RowCursor?)
        do throws(StoreError) {
            page = try await context.page(filter, order: .id, after: cursor, limit: command.limit)
        } catch {
            throw Problem(error)
        }
        let items = page.views.compactMap { view in
            var item = EntityListItem(view)
            if command.scope.isOthers { item?.scope = view.row.scope }
            return item
        }
        return EntityPage(items: items, next: page.next?.text)
    }
}

extension EngineContext {
    /// The rules of an origin; none for one without.
    func entityRules(of origin: OriginName) -> EntityRules {
        origins.entityRules[origin] ?? EntityRules(NormalizeRules())
    }
}

extension EntityListItem {
    /// Nil for a row that is no entity's.
    init?(_ view: ListedView) {
        guard let name = view.entry.id.entity else { return nil }
        self.init(
            name: name,
            isDeleted: view.entry.kind == .tombstone,
            byteCount: view.entry.body.byteCount,
            accountedBytes: view.row.size,
            storedAt: view.entry.storedAt,
            lastUsed: view.row.lastUsed,
            source: view.source,
            revision: view.entry.revision
        )
    }
}

extension EntityShown {
    /// What stands for it under its own URL; nil for a miss.
    func entry(_ id: EntryID, of origin: OriginName, now: Timestamp) -> Entry? {
        var entry: Entry
        switch self {
        case .miss: return nil
        case .deleted(let revision, let source, _):
            entry = Entry(
                id: id,
                kind: .tombstone,
                status: source == .modifier ? 410 : 404,
                storedAt: now,
                revision: revision,
                body: BodySummary(of: [], isJSON: false)
            )
        case .shown(let shown):
            entry = Entry(
                id: id,
                kind: .fetched,
                storedAt: shown.storedAt,
                revision: shown.revision,
                body: BodySummary(of: shown.bytes, isJSON: true)
            )
            entry.mediaType = MediaType.json
        }
        entry.origin = origin
        return entry
    }
}

extension HeldEntity {
    /// Whether anything is known of it: effects that do not fit leave nothing to show (case 1).
    var isKnown: Bool {
        if case .unknown = self { false } else { true }
    }
}

extension StoreReader {
    private func entity(
        in places: [ScopeKey],
        _ id: EntryID,
        for sight: EntitySight,
        _ now: Timestamp
    ) throws(StoreError) -> KnownEntity? {
        for place in places {
            let found = try entityWithDeadLetters(place, id, for: sight, now: now)
            if let found { return found }
        }
        return nil
    }

    /// An entity as it is in one scope; nil where nothing is known of it there.
    func showEntity(
        _ name: EntityName,
        in place: ScopeKey,
        for sight: EntitySight,
        _ rules: EntityRules,
        expanding depth: Int,
        _ now: Timestamp
    ) throws(StoreError) -> EntityShown? {
        try atOneMoment { () throws(StoreError) -> EntityShown? in
            let id = EntryID(name)
            guard let known = try entityWithDeadLetters(place, id, for: sight, now: now),
                known.held.isKnown
            else { return nil }
            var (revision, pending) = (known.revision, PendingChanges())
            // What modifiers make of it is its user's own, what it refers to may be everybody's.
            let places = self.places(of: place)
            let source = known.isMade ? AnswerSource.modifier : .cache
            let deleted = EntityShown.deleted(revision, source, Overlay(known.pending))
            if case .deleted = known.held { return deleted }
            let rebuilder = rebuilder(rules, bytesMax: Limits.normalizedBodyBytesMax)
            let outcome = try rebuilder.show(name.key, expanding: depth, isPartial: true) {
                (key) throws(StoreError) -> FoundEntity in
                let id = EntryID(EntityName(key, of: name.origin))
                guard let found = try entity(in: places, id, for: sight, now) else {
                    return .evicted
                }
                revision = max(revision, found.revision)
                pending.add(found.pending)
                return FoundEntity(found.held)
            }
            try check(outcome)
            guard case .shown(let answer) = outcome else { return deleted }
            return .shown(
                ShownEntity(
                    revision: revision,
                    storedAt: known.storedAt,
                    bytes: answer.bytes,
                    digest: BodySummary(of: answer.bytes, isJSON: true).digest,
                    overlay: Overlay(missing: answer, pending),
                    source: source
                )
            )
        }
    }
}
