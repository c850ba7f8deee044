package import LarderModel
package import LarderNormalize

/// Entities that modifiers target: their bases stand in `state.db`, what they refer to in `cache.db`.
///
/// Beside the invariants of ``KeptStore``:
///
/// 1. What is said of a kept entity is merged into its base first, in its turn, and then into its
///    row in the cache, which is a mirror: nobody reads it but for what it refers to.
/// 2. Both are one step, with one number, so that whoever watches is told once.
/// 3. An entity that is given back has its mirror brought up to date before it leaves `state.db`.
///
/// An answer that is kept itself stands in `state.db` whole, and has a mirror in the cache, too: its
/// normalized row, which counts while it is of the answer with the same digest. What is shown is put
/// together from that with the entities of now, or else what was kept.
extension KeptStore {
    /// Merges an answer's entities and stores its own part.
    func put(
        _ answer: NewAnswer,
        now: Timestamp,
        fence: AnswerFence?
    ) async throws(StoreError) -> AnswerReceipt {
        let (scope, id) = (answer.entry.scope, answer.entry.entry.id)
        var answer = answer
        for _ in 0..<Limits.keptRoundsMax {
            let covered = answer.entities.ids.contains { fence?.covers(scope, $0) == true }
            if let kept = answer.kept, covered || fence?.covers(scope, id) == true {
                // A newer write than it: what it says of entities is not known to be so.
                return AnswerReceipt(entry: kept, isNormalized: false)
            }
            if covered, let fence, fence.adjust(answer.entry, nil, .unknown) == nil {
                carrier.abandon(answer.entry.body)
                let receipt = PutReceipt(
                    revision: try revisions.spend(),
                    isNew: false,
                    isSame: true
                )
                return AnswerReceipt(entry: receipt, isNormalized: false)
            }
            if fence?.covers(scope, id) == true {
                let receipt = try await put(answer.entry, now: now, fence: fence)
                _ = try await put(answer.entities, now: now)
                return AnswerReceipt(entry: receipt, isNormalized: false)
            }
            if !shared.kept.covers(scope, id), shared.kept.concerns(scope, id) {
                guard try await putIntoCopies(answer.entry, now, fence) else { continue }
                answer.isCopied = true
            } else if answer.kept == nil, shared.kept.concerns(scope, id) {
                answer.kept = try await put(answer.entry, now: now, fence: fence)
                if fence?.covers(scope, id) == true { continue }
            }
            let ready = answer
            let receipt = try await merging(answer.entities, fence, now) {
                kept throws(StoreError) in
                try await cache.submit { writer throws(StoreError) in
                    try writer.putUnlessKept(ready, kept, now: now)
                }
            }
            if let receipt { return receipt }
        }
        throw .overloaded
    }

    /// Merges entities into what is known of them.
    func put(_ entities: NewEntities, now: Timestamp) async throws(StoreError) -> EntitiesReceipt {
        for _ in 0..<Limits.keptRoundsMax {
            let receipt = try await merging(entities, nil, now) { kept throws(StoreError) in
                try await cache.submit { writer throws(StoreError) in
                    try writer.putUnlessKept(entities, kept, now: now)
                }
            }
            if let receipt { return receipt }
        }
        throw .overloaded
    }

    /// Merges entities that are kept into their bases, in their turns, and has `store` do the rest
    /// in the same step; nil where the fence covers one by then.
    private func merging<Receipt: Sendable>(
        _ entities: NewEntities,
        _ fence: AnswerFence?,
        _ now: Timestamp,
        _ store: (KeptEntities) async throws(StoreError) -> Receipt?
    ) async throws(StoreError) -> Receipt? {
        let concerned = concerned(entities)
        guard !concerned.isEmpty else { return try await store(KeptEntities()) }
        let keys = concerned.flatMap { entity in entity.places.map { KeptKey($0, entity.id) } }
        return try await turns.inTurns(keys) { () async throws(StoreError) in
            let isFenced = concerned.contains { fence?.covers(entities.scope, $0.id) == true }
            // Somebody may have come to keep one meanwhile.
            guard !isFenced, self.concerned(entities) == concerned else { return nil }
            return try await revisions.step { (step) async throws(StoreError) in
                let merged = try await file.settle { [shared] writer throws(StoreError) in
                    var merged: [Int: MergedEntity] = [:]
                    for entity in concerned {
                        for place in entity.places where shared.kept.covers(place, entity.id) {
                            let found = try writer.merge(
                                entities,
                                entity.number,
                                entity.id,
                                in: place,
                                step,
                                now
                            )
                            if place == entities.scope { merged[entity.number] = found }
                        }
                    }
                    return merged
                }
                return try await store(
                    KeptEntities(
                        merged: merged,
                        inTurn: Set(concerned.map(\.number)),
                        step: step
                    )
                )
            }
        }
    }

    /// An entity of an answer that concerns this file.
    private struct Concerned: Equatable {
        /// Its place in the answer.
        let number: Int
        let id: EntryID
        /// The scopes that keep it.
        let places: [ScopeKey]
    }

    private func concerned(_ entities: NewEntities) -> [Concerned] {
        guard !shared.kept.isEmpty else { return [] }
        let scope = entities.scope
        return entities.ids.enumerated().compactMap { number, id in
            guard shared.kept.concerns(scope, id) else { return nil }
            let places = [scope] + shared.kept.followers(scope, id)
            return Concerned(number: number, id: id, places: places)
        }
    }

    /// Leaves a tombstone where an entity was; nil where nothing has changed.
    func deleteEntity(
        _ name: EntityName,
        in scope: ScopeKey,
        fetch: Revision,
        _ cause: ChangeCause,
        now: Timestamp
    ) async throws(StoreError) -> Revision? {
        let id = EntryID(name)
        for _ in 0..<Limits.keptRoundsMax {
            let places = [scope] + shared.kept.followers(scope, id)
            let outcome = try await turns.inTurns(places.map { KeptKey($0, id) }) {
                () async throws(StoreError) -> Revision?? in
                guard [scope] + shared.kept.followers(scope, id) == places else { return nil }
                return .some(
                    try await deleteEntity(name, in: places, fetch: fetch, cause, now: now)
                )
            }
            if let outcome { return outcome }
        }
        throw .overloaded
    }

    /// The same in the turns of all who keep it.
    private func deleteEntity(
        _ name: EntityName,
        in places: [ScopeKey],
        fetch: Revision,
        _ cause: ChangeCause,
        now: Timestamp
    ) async throws(StoreError) -> Revision? {
        let (id, scope) = (EntryID(name), places[0])
        guard places.contains(where: { shared.kept.covers($0, id) }) else {
            return try await cache.submit { writer throws(StoreError) in
                try writer.deleteEntity(name, in: scope, fetch: fetch, cause, now: now)
            }
        }
        return try await revisions.step { (step) async throws(StoreError) in
            var isDeleted = false
            for place in places {
                let held = try await bury(name, in: place, fetch, cause, step, now)
                guard let held else { continue }
                isDeleted = true
                if !shared.kept.isCopy(place, id) { await mirror(held) }
            }
            guard !shared.kept.covers(scope, id) else { return isDeleted ? step : nil }
            return try await cache.submit { writer throws(StoreError) in
                try writer.deleteEntity(name, in: scope, fetch: fetch, cause, now: now)
            }
        }
    }

    private func bury(
        _ name: EntityName,
        in place: ScopeKey,
        _ fetch: Revision,
        _ cause: ChangeCause,
        _ step: Revision,
        _ now: Timestamp
    ) async throws(StoreError) -> MirroredEntity? {
        let id = EntryID(name)
        return try await file.settle { [shared] writer throws(StoreError) in
            guard shared.kept.covers(place, id), let row = try writer.entry(place, id) else {
                return nil
            }
            let base = row.entry.map { KeptBase($0, row.inline) } ?? .unknown
            guard let held = base.held.deleted(byFetch: fetch.number),
                let entry = Entry(held, id, of: name.origin, now)
            else { return nil }
            var new = NewEntry(scope: place, entry: entry, body: .inline(held.stored ?? []))
            new.entry.revision = step
            new.client = cause.client
            new.cause = cause.text
            _ = try writer.put(new)
            return MirroredEntity(
                scope: place,
                name: name,
                held: held,
                revision: step,
                storedAt: now
            )
        }
    }

    /// Has the cache's row of an entity say what its base does.
    ///
    /// Where that fails the row is older, which is seen in what it refers to at most.
    private func mirror(_ entity: MirroredEntity) async {
        let now = entity.storedAt
        try? await cache.submit { writer throws(StoreError) in
            try writer.mirror(entity, now: now)
        }
    }

    /// The same for which nobody waits.
    func postMirrors(_ entities: [MirroredEntity]) {
        guard !entities.isEmpty else { return }
        cache.post { writer throws(StoreError) in
            for entity in entities { try writer.mirror(entity, now: entity.storedAt) }
        }
    }
}

extension StateWriter {
    /// Merges an answer into one base; what it came to, nil where it is not kept there.
    fileprivate func merge(
        _ entities: NewEntities,
        _ number: Int,
        _ id: EntryID,
        in place: ScopeKey,
        _ step: Revision,
        _ now: Timestamp
    ) throws(StoreError) -> MergedEntity? {
        guard let row = try entry(place, id) else { return nil }
        let base = row.entry.map { KeptBase($0, row.inline) } ?? .unknown
        let merged = entities.split.merged(
            number,
            into: base.held,
            fetch: entities.fetch.number
        )
        guard merged.isWritten, let entry = Entry(merged.held, id, of: entities.origin, now) else {
            return merged
        }
        var new = NewEntry(scope: place, entry: entry, body: .inline(merged.held.stored ?? []))
        new.entry.revision = merged.change == .nothing ? row.entry?.revision ?? step : step
        new.client = entities.cause.client
        new.cause = entities.cause.text
        _ = try put(new, isNews: merged.change != .nothing)
        return merged
    }
}

extension Entry {
    /// What the row of an entity says; nil where nothing is known of it.
    package init?(
        _ held: HeldEntity,
        _ id: EntryID,
        of origin: OriginName?,
        _ now: Timestamp
    ) {
        guard let bytes = held.stored else { return nil }
        let isDeleted = if case .deleted = held { true } else { false }
        self.init(
            id: id,
            kind: isDeleted ? .tombstone : .entity,
            status: isDeleted ? 404 : 200,
            storedAt: now,
            revision: Revision(0),
            body: BodySummary(of: bytes, isJSON: false)
        )
        self.origin = origin
    }
}
