package import LarderModel
import LarderNormalize

extension Store {
    package func setOrigins(_ names: OriginNames) { shared.origins = names }

    /// Merges an answer's entities into what is known of them and stores its own part, in one step.
    ///
    /// Where its id is kept for good, its entry is stored whole. Where `fence` covers its id or one
    /// of its entities, that has the last word on what is stored.
    package func put(
        _ answer: NewAnswer,
        now: Timestamp,
        fence: AnswerFence? = nil
    ) async throws(StoreError) -> AnswerReceipt {
        try refuseWhileFull(answer.entry)
        return try await submit(
            now: now,
            isRepeatable: true,
            promotes: !shared.residency.isEmpty,
            cache: .optional
        ) { writer throws(StoreError) in try writer.answers.put(answer, fence: fence, now: now) }
    }

    @discardableResult package func put(
        _ entities: NewEntities,
        now: Timestamp
    ) async throws(StoreError) -> EntitiesReceipt {
        try await commits.submit(
            isRepeatable: true,
            promotes: !shared.residency.isEmpty,
            cache: .optional
        ) { writer throws(StoreError) in try writer.answers.put(entities, now: now) }
    }

    /// Leaves a tombstone where an entity was, unless a fetch has told of it that set out later; the
    /// revision of the step, nil where nothing has changed.
    ///
    /// `hidesShared` is that of ``NewEntry``. An answer that `fence` covers says nothing.
    @discardableResult package func deleteEntity(
        _ name: EntityName,
        in scope: ScopeKey,
        fetch: Revision,
        cause: ChangeCause,
        hidesShared: Bool = false,
        fence: AnswerFence? = nil,
        now: Timestamp
    ) async throws(StoreError) -> Revision? {
        try await commits.submit(isRepeatable: true, cache: .optional) {
            writer throws(StoreError) in
            guard fence?.keepsOut(scope, EntryID(name)) != true else { return nil }
            return try writer.answers.deleteEntity(
                name,
                in: scope,
                fetch: fetch,
                cause,
                hidesShared: hidesShared,
                now: now
            )
        }
    }

    /// An entity asked for by its key stays without references until it is used least recently.
    package func noteDirectUse(_ scope: ScopeKey, _ id: EntryID) {
        shared.noteDirectUses([RowKey(scope, id)])
    }
}
