package import LarderModel
package import LarderNormalize

/// Stores normalized answers and entities in the file where their row lives.
struct AnswerWriter: WriterPart {
    let writer: StoreWriter

    func put(
        _ answer: NewAnswer,
        fence: AnswerFence?,
        now: Timestamp
    ) throws(StoreError) -> CommandResult<AnswerReceipt> {
        guard let fence else { return try take(answer, fence: nil, now: now) }
        var answer = answer
        let name = answer.entry.name
        let kept = try mixing.kept(of: answer.entities, fence, now: now)
        let touched = fence.touched(name.scope, name.id)
        if kept?.isEmpty == false {
            fence.used(.rest)
            answer.entities.kept = kept ?? [:]
            answer.entry.becomeStale()
        }
        guard kept == nil || touched != .none else {
            return try take(answer, fence: fence, now: now)
        }
        defer { try? bodies.forget(answer.entry.body) }
        // The answer's entities count, even if the answer itself is not stored.
        if kept != nil {
            let merged = try mergeDurable(answer.entities, since: answer.entities.fetch, now)
            _ = try cacheIfAny?.answers.put(answer.entities, merged, now: now)
            try hideShared(by: answer.entities)
            try promotion.fill(now: now)
        }
        guard kept != nil, let mix = try mixing.mix(of: answer, touched, now: now) else {
            fence.used(.nothing)
            let receipt = PutReceipt(revision: try revisions.next(), isNew: false, isSame: true)
            return .done(AnswerReceipt(entry: receipt, isNormalized: false))
        }
        fence.used(.rest)
        return try mixing.changing(name, touched, now: now) { () throws(StoreError) in
            try take(mix, fence: fence, now: now)
        }
    }

    /// Stores an answer whatever has been written since its request.
    private func take(
        _ answer: NewAnswer,
        fence: AnswerFence?,
        now: Timestamp
    ) throws(StoreError) -> CommandResult<AnswerReceipt> {
        let (scope, id) = (answer.entry.scope, answer.entry.entry.id)
        var found = try durable(answer.entry.name)
        // The payer decides whether there is room for the answer, and gets its new entities.
        if let row = found { found = try sharing.refuseForPins(answer.entry, row) }
        if let row = found, let error = try refusal(of: answer, row, now) {
            try entries.tellRefusal(of: answer.entry, row, error)
            guard !row.hasBytes else {
                try bodies.forget(answer.entry.body)
                return .refused(error)
            }
            shared.residency.removeGarbage([RowKey(scope, id)])
            found = nil
        }
        if found != nil {
            // An answer's entities are in the file of the answer.
            for entity in answer.entities.ids {
                try state.rows.makeRow(TargetName(scope, entity), with: found)
            }
            try promotion.fill(now: now)
        }
        let start = answer.entry.start ?? answer.entities.fetch
        let merged = try mergeDurable(answer.entities, since: start, now)
        if found != nil {
            var entry = answer.entry
            if let saved = try durable(entry.name),
                try entries.destination(of: entry, saved).file == .state,
                let form = answer.entities.form(merged)
            {
                entry.body = .inline(form.template)
                entry.form = form.form
            }
            switch try entries.take(entry, fence: fence, step: merged.step, now: now) {
            case .needs(let large): return .needs(large)
            case .refused(let error): return .refused(error)
            case .done(let receipt):
                if entry.form != nil { try bodies.forget(answer.entry.body) }
                try promotion.fill(now: now)
                return .done(AnswerReceipt(entry: receipt, isNormalized: entry.form != nil))
            }
        } else if let large = bodies.large(answer.entry, to: .cache, as: .answer) {
            return .needs([large])
        }
        var answer = answer
        answer.entry = try bodies.ready(answer.entry, in: .cache, as: .answer)
        let receipt = try cache.answers.put(answer, merged, now: now)
        // Under its own URL an entity shows also once this answer is gone.
        for (number, key) in answer.entities.split.keys.enumerated()
        where merged.merged[number] != nil {
            let name = EntityName(key, of: answer.entities.origin)
            guard shared.origins.ownID(name) == id else { continue }
            try state.targets.raise(TargetName(scope, EntryID(name)), to: receipt.entry.revision)
        }
        try hiding.noteStored(answer.entry, in: .cache, by: fence)
        try hideShared(by: answer.entities)
        try promotion.fill(now: now)
        return .done(receipt)
    }

    /// Whether a user's pin has no room for its answer with the entities, before any is written.
    private func refusal(
        of answer: NewAnswer,
        _ found: DurableRow,
        _ now: Timestamp
    ) throws(StoreError) -> StoreError? {
        let (scope, entities) = (answer.entry.scope, answer.entities)
        guard scope != shared.sharedScope, StateBudget.hasToFit(found, as: .answer) else {
            return nil
        }
        var growth: Int64 = 0
        for (number, id) in entities.ids.enumerated() {
            let name = TargetName(scope, id)
            let saved = try state.rows.entry(name)
            // A row that no pin counts is counted with the writes, or takes what the server says.
            if let row = saved?.claim, row.isTargeted || !row.isPinned && !row.isInPins { continue }
            let entity = EntityName(entities.split.keys[number], of: entities.origin)
            let held: HeldEntity =
                if let saved { saved.held } else {
                    try cacheIfAny?.answers.find(entity, in: scope).held ?? .unknown
                }
            let merged = entities.merged(number, into: held).held
            growth -= saved?.claim.size ?? 0
            if let (entry, bytes) = merged.row(id, of: entities.origin, now) {
                growth += NewEntry(scope: scope, entry: entry, body: .inline(bytes)).rowSize
            } else {
                growth += StateBudget.sizeWithoutEntry(name, entities.origin.text)
            }
        }
        return try entries.refusal(of: answer.entry, found, entityGrowth: growth)
    }

    func put(_ entities: NewEntities, now: Timestamp) throws(StoreError) -> PutReceipt {
        let merged = try mergeDurable(entities, since: entities.fetch, now)
        let receipt = try cache.answers.put(entities, merged, now: now)
        try hideShared(by: entities)
        try promotion.fill(now: now)
        return receipt
    }

    private func mergeDurable(
        _ entities: NewEntities,
        since start: Revision,
        _ now: Timestamp
    ) throws(StoreError) -> SavedEntities {
        let (index, scope) = (shared.residency, entities.scope)
        var saved = SavedEntities()
        guard !index.isEmpty else { return saved }
        for (number, id) in entities.ids.enumerated() where index.covers(scope, id) {
            let name = TargetName(scope, id)
            let step = if let known = saved.step { known } else { try revisions.next() }
            saved.step = step
            let viewers = try sharing.viewers(of: name)
            let merging = Step(revision: step, now: now)
            let kept = entities.kept[number] ?? .none
            saved.merged[number] = try mixing.changing(name, kept, now: now) {
                () throws(StoreError) in
                try state.rows.merge(entities, number, name, since: start, merging)
            }
            try sharing.answered(name, viewers, isMix: kept != .none, at: step, now: now)
            if entities.hidesShared { try hiding.hideShared(name) }
        }
        return saved
    }

    /// Hides the shared rows of `state.db` that a user's own entities come before.
    ///
    /// Own rows that are durable have hidden theirs already. An own row of `cache.db` hides the
    /// shared row there.
    private func hideShared(by entities: NewEntities) throws(StoreError) {
        guard entities.hidesShared, !shared.residency.isEmpty else { return }
        for id in entities.ids where !shared.residency.covers(entities.scope, id) {
            try hiding.hideSaved(TargetName(entities.scope, id))
        }
    }

    func delete(_ entity: EntityRemoval, now: Timestamp) throws(StoreError) -> Revision? {
        let (scope, id) = (entity.scope, EntryID(entity.name))
        let place = TargetName(scope, id)
        guard shared.residency.covers(scope, id) else {
            let step = try cache.answers.delete(entity, now: now)
            if entity.hidesShared { try hiding.hideShared(place) }
            return step
        }
        let viewers = try sharing.viewers(of: place)
        var step: Revision?
        if let row = try state.rows.entry(place),
            let held = row.held.deleted(byFetch: entity.fetch.number),
            let (entry, bytes) = held.row(id, of: entity.name.origin, now)
        {
            let revision = try revisions.next()
            step = revision
            var new = NewEntry(scope: scope, entry: entry, body: .inline(bytes))
            new.entry.revision = revision
            new.client = entity.cause.client
            new.cause = entity.cause.text
            _ = try state.rows.endHiding(row.claim, since: entity.fetch)
            try state.rows.put(new)
        }
        // That its URL is gone has a later revision.
        if step == nil { try state.targets.raise(place, to: revisions.last) }
        if entity.hidesShared { try hiding.hideShared(place) }
        try sharing.answered(place, viewers, at: step, now: now)
        return step
    }
}

extension HeldEntity {
    package func row(
        _ id: EntryID,
        of origin: OriginName?,
        _ now: Timestamp
    ) -> (entry: Entry, bytes: [UInt8])? {
        guard let bytes = stored else { return nil }
        let isDeleted = if case .deleted = self { true } else { false }
        var entry = Entry(
            id: id,
            kind: isDeleted ? .tombstone : .entity,
            status: isDeleted ? 404 : 200,
            storedAt: now,
            revision: Revision(0),
            body: BodySummary(of: bytes, isJSON: false)
        )
        entry.origin = origin
        return (entry, bytes)
    }

    var references: [Reference] {
        if case .present(let body, _) = self { body.references } else { [] }
    }
}
