package import LarderAPI
import LarderJSON
package import LarderModel
import LarderNormalize
package import LarderStore
import LarderWire

extension EngineContext {
    /// Stores an answer with its entities; nil if it is to be kept whole, and is not stored yet.
    ///
    /// Only a few answers are split at the same time, which bounds the memory. Answers larger than
    /// a frame shows went to the disk as they came, and are read back.
    func putSplit(
        _ new: NewEntry,
        _ taken: BodyReceiver.ReceivedBody,
        _ plan: Flight.Plan,
        _ number: Revision?,
        _ fence: AnswerFence?
    ) async throws(StoreError) -> AnswerReceipt? {
        guard let rules = plan.rules, let number, isSplit(new.entry, taken),
            let path = plan.origin.path(of: plan.key.url)
        else { return nil }
        return try await splitting.pass { () async throws(StoreError) in
            var bytes = taken.bytes
            if bytes == nil { bytes = try await store.bodies.bytes(of: new) }
            guard let bytes else { return nil }
            let splitter = Splitter(rules, bodyBytesMax: Limits.normalizedBodyBytesMax)
            let query = plan.key.url.query
            guard case .split(let split) = splitter.split(bytes, path: path, query: query) else {
                return nil
            }
            let entities = NewEntities(
                split,
                of: plan.origin.name,
                in: plan.key.scope,
                fetch: number,
                cause: plan.cause,
                hidesShared: new.hidesShared
            )
            let answer = NewAnswer(new, entities)
            let receipt = try await store.put(answer, now: new.entry.storedAt, fence: fence)
            noteRead(of: entities)
            return receipt
        }
    }

    private func isSplit(_ entry: Entry, _ taken: BodyReceiver.ReceivedBody) -> Bool {
        guard entry.headers.list("Content-Encoding") == nil,
            taken.summary.byteCount <= Limits.normalizedBodyBytesMax
        else { return false }
        return taken.bytes == nil
            ? entry.mediaType.map(MediaType.isAnyJSON) == true : taken.summary.isJSON
    }

    func entityRules(of origin: OriginName) -> EntityRules {
        origins.entityRules[origin] ?? EntityRules(NormalizeRules())
    }

    /// The URL and the origin to ask for an id; nil for an id that no origin can give.
    func address(of id: EntryID, in scope: ScopeKey) -> (url: WebURL, origin: OriginSettings)? {
        var url: WebURL?
        if let name = id.entity {
            if id.temporary == nil { url = origins.ownURL(of: name) }
        } else if id.text.hasScheme, let own = try? WebURL(id.text), own.text == id.text {
            url = own
        }
        guard let url, let origin = try? origin(of: url, in: scope) else { return nil }
        return (url, origin)
    }

    /// The entity whose own URL an id is, by the rules of its origin; nil for any other.
    func entity(at id: EntryID, in scope: ScopeKey) -> EntityName? {
        guard let name = origins.entity(at: id) else { return nil }
        return store.modifiers.current(EntryID(name), in: scope).entity
    }

    /// Whether unsettled changes show under an id, or in the entity whose own URL it is.
    func isTargeted(_ scope: ScopeKey, _ id: EntryID) -> Bool {
        hasChanges(scope, id)
            || store.modifiers.hasTargets
                && entity(at: id, in: scope).map { store.modifiers.isTarget(scope, EntryID($0)) }
                    == true
    }

    func noteRead(of entities: NewEntities) {
        guard (store.modifiers.totals.byState[.accepted] ?? 0) > 0 else { return }
        for key in entities.split.keys {
            noteRead(of: EntryID(EntityName(key, of: entities.origin)), in: entities.scope, nil)
        }
    }

    /// Stores a tombstone for a URL.
    ///
    /// An entity whose own URL this is, is deleted with it in every view.
    func writeTombstone(
        _ tombstone: NewEntry,
        _ plan: Flight.Plan,
        number: Revision?,
        fence: AnswerFence?,
        now: Timestamp
    ) async throws(StoreError) -> PutReceipt {
        // An answer to a query, a body or headers says nothing about the entity.
        guard let rules = plan.rules, let number, plan.key.headers.fields.isEmpty,
            plan.key.content == nil, plan.key.url.path == plan.key.url.pathAndQuery[...],
            let path = plan.origin.path(of: plan.key.url), let key = rules.key(ofPath: path)
        else { return try await store.put(tombstone, now: now, fence: fence) }
        let name = EntityName(key, of: plan.origin.name)
        let removal = EntityRemoval(
            of: name,
            in: tombstone.scope,
            fetch: number,
            cause: plan.cause,
            hidesShared: hidesShared(EntryID(name), plan.key.scope)
        )
        let receipt = try await store.writeTombstone(
            tombstone,
            with: removal,
            fence: fence,
            now: now
        )
        noteRead(of: EntryID(name), in: plan.key.scope, nil)
        return receipt
    }

    /// Notes that the origin has answered for a URL.
    ///
    /// With `hasEntity`, it also answered for the entity whose own URL that is.
    func noteAnswer(
        for id: EntryID,
        hasEntity: Bool,
        _ plan: Flight.Plan,
        _ fence: AnswerFence?
    ) async {
        let name = hasEntity ? entity(at: id, in: plan.key.scope) : nil
        do throws(StoreError) {
            try await store.modifiers.noteAnswer(
                for: [id] + (name.map { [EntryID($0)] } ?? []),
                in: plan.key.scope,
                fence: fence,
                now: clock.now()
            )
        } catch {
            noteUnstored(id, error)
        }
    }

    /// The origin has sent an entry, or with `hasEntity` confirmed a normalized one.
    func noteAnswer(
        _ answer: FlightAnswer,
        hasEntity: Bool = false,
        _ plan: Flight.Plan,
        _ fence: AnswerFence?
    ) async {
        let entry = answer.entry
        if answer.isKept { await noteAnswer(for: entry.id, hasEntity: hasEntity, plan, fence) }
        noteRead(of: entry.id, in: plan.key.scope, entry.body)
    }

    /// The origin has refused a read: a final refusal is an answer, too.
    func noteRefusal(_ status: Int, _ plan: Flight.Plan, _ fence: AnswerFence?) async {
        guard (400..<500).contains(status), ![401, 407, 408, 425, 429].contains(status),
            let id = plan.rowID(self)
        else { return }
        await noteAnswer(for: id, hasEntity: true, plan, fence)
    }
}

package struct Entities: EnginePart {
    let context: EngineContext

    /// Takes an entity from a client that learned it elsewhere, as if its origin had sent it now.
    ///
    /// `json` is an object that names itself as this entity, or does not name itself. Entities in
    /// it are taken too.
    package func set(
        _ name: EntityName,
        json: [UInt8],
        _ scope: ScopeKey,
        client: ClientTag?
    ) async throws(Problem) -> PutReceipt {
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

    /// Stores a tombstone, as if the origin had said now that the entity is gone; returns its
    /// revision.
    package func delete(
        _ name: EntityName,
        _ scope: ScopeKey,
        client: ClientTag?
    ) async throws(Problem) -> Revision {
        try await storingAll { () async throws(StoreError) in
            let removal = EntityRemoval(
                of: name,
                in: scope,
                fetch: try store.nextRevision(),
                cause: ChangeCause(.client, client: client),
                hidesShared: context.hidesShared(EntryID(name), scope)
            )
            let step = try await store.delete(removal, now: clock.now())
            return step ?? store.changes.published
        }
    }
}
