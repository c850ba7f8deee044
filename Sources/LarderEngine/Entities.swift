package import LarderAPI
import LarderJSON
package import LarderModel
import LarderNormalize
package import LarderStore
import LarderWire

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
