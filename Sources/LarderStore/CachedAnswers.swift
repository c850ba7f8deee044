import LarderModel
import LarderNormalize

struct CachedAnswers {
    let cache: CacheWriter

    struct Step {
        let scope: ScopeKey
        let cause: ChangeCause
        let now: Timestamp
        var start: Revision?
        var isUse = true
        var revision: Revision?
        var changes: [EntityChange] = []
        /// Rows that the step has written, which do not make room for each other.
        var rows: Set<RowKey> = []
        var bytes: Int64 = 0
        /// The part of it in `state.db`, whose watchers were notified.
        var saved = SavedEntities()

        mutating func add(_ key: RowKey, size: Int64) {
            bytes += size
            rows.insert(key)
        }
    }

    func put(
        _ answer: NewAnswer,
        _ saved: SavedEntities,
        now: Timestamp
    ) throws(StoreError) -> AnswerReceipt {
        let (new, start) = (answer.entities, answer.entry.start ?? answer.entities.fetch)
        var step = Step(scope: new.scope, cause: new.cause, now: now, start: start, saved: saved)
        step.isUse = answer.entry.isUse
        let merged = try merge(answer.entities, &step)
        let form = answer.entities.form(merged)
        let entry: PutReceipt
        if let form {
            entry = try put(answer.entry, form.template, form.form, &step)
        } else {
            // The entities of the answer count even if the answer itself is stored whole.
            try tell(&step, entry: nil)
            entry = try cache.rows.put(answer.entry, now: now)
        }
        try makeRoom(for: step)
        return AnswerReceipt(entry: entry, isNormalized: form != nil)
    }

    /// Writes a normalized answer that comes back from `state.db`, at its own revision.
    func put(
        _ entry: Entry,
        _ template: [UInt8],
        _ form: AnswerForm,
        in scope: ScopeKey,
        now: Timestamp
    ) throws(StoreError) {
        var step = Step(scope: scope, cause: ChangeCause(.network), now: now)
        let old = try cache.rows.find(scope, entry.id, toPut: true)
        try write(entry, template, form, over: old, &step)
        try makeRoom(for: step)
    }

    func put(
        _ entities: NewEntities,
        _ saved: SavedEntities,
        now: Timestamp
    ) throws(StoreError) -> PutReceipt {
        let (scope, cause, fetch) = (entities.scope, entities.cause, entities.fetch)
        var step = Step(scope: scope, cause: cause, now: now, start: fetch, saved: saved)
        let first = try entities.split.keys.first.map { key throws(StoreError) in
            try find(EntityName(key, of: entities.origin), in: step.scope, toPut: true)
        }
        _ = try merge(entities, &step)
        try tell(&step, entry: nil)
        try makeRoom(for: step)
        let isNew = first.map { $0.row == nil || $0.isDeleted } ?? false
        let revision = step.revision ?? first?.row?.revision ?? Revision(0)
        return PutReceipt(revision: revision, isNew: isNew, isSame: step.revision == nil)
    }

    func show(
        _ name: EntityName,
        _ entry: Entry,
        _ bytes: [UInt8],
        in scope: ScopeKey
    ) throws(StoreError) {
        var step = Step(scope: scope, cause: ChangeCause(.network), now: entry.storedAt)
        let found = try find(name, in: scope, toPut: true)
        let held = TargetBase(entry, bytes).held
        let isComplete = entry.isComplete
        try write(held, isComplete: isComplete, nil, found, &step, at: entry.revision)
        try makeRoom(for: step)
    }

    func delete(_ entity: EntityRemoval, now: Timestamp) throws(StoreError) -> Revision? {
        let (scope, fetch) = (entity.scope, entity.fetch)
        var step = Step(scope: scope, cause: entity.cause, now: now, start: fetch)
        let found = try find(entity.name, in: scope, toPut: true)
        guard let held = found.held.deleted(byFetch: fetch.number) else { return nil }
        try write(held, .nothing, found, &step)
        // The tombstone stays even if the same command removed the last answer that showed the
        // entity.
        cache.state.orphans.removeAll { $0 == found.key }
        try tell(&step, entry: nil)
        try makeRoom(for: step)
        return step.revision
    }

    private func makeRoom(for step: Step) throws(StoreError) {
        try cache.eviction.makeRoom(for: step.bytes, keeping: step.rows, now: step.now)
    }

    func merge(_ new: NewEntities, _ step: inout Step) throws(StoreError) -> [MergedEntity] {
        var merged: [MergedEntity] = []
        merged.reserveCapacity(new.split.keys.count)
        for (number, key) in new.split.keys.enumerated() {
            if let saved = step.saved.merged[number] {
                merged.append(saved)
                continue
            }
            let name = EntityName(key, of: new.origin)
            let found = try find(name, in: step.scope, toPut: true)
            let entity = new.merged(number, into: found.held)
            if entity.isWritten {
                let (start, isMix) = (step.start, new.kept[number] != nil)
                if isMix { step.start = Revision(0) }
                let isComplete = !isMix || found.row?.isComplete ?? true
                try write(entity.held, isComplete: isComplete, entity.change, found, &step)
                step.start = start
            }
            // The mark follows the entity's revision.
            if new.hidesShared { try cache.hiding.hideShared(TargetName(step.scope, found.id)) }
            step.rows.insert(found.key)
            merged.append(entity)
        }
        return merged
    }

    // MARK: Entities

    /// A damaged row counts as none.
    ///
    /// With `toPut` it throws `keyTaken` where another id has its key.
    func find(
        _ name: EntityName,
        in scope: ScopeKey,
        toPut: Bool = false
    ) throws(StoreError) -> CachedEntity {
        let id = EntryID(name)
        let row = try cache.rows.find(scope, id, toPut: toPut)
        let key = RowKey(scope, id)
        let held = row == nil ? nil : try cache.rows.read(key) { $0.held }
        return CachedEntity(name: name, id: id, row: row, key: key, held: held ?? .unknown)
    }

    func write(
        _ held: HeldEntity,
        isComplete: Bool = true,
        _ change: MergedEntity.Change?,
        _ found: CachedEntity,
        _ step: inout Step,
        at given: Revision? = nil
    ) throws(StoreError) {
        guard let row = held.row(found.id, of: found.name.origin, step.now) else { return }
        var entry = row.entry
        entry.isComplete = isComplete
        let isDeleted = entry.kind == .tombstone
        // An unchanged value is not logged. A row in place of a damaged one counts as new.
        let wasHidden = try cache.hiding.endHiding(found.key, of: step.scope, since: step.start)
        let isOther =
            change != .nothing || found.row?.isComplete != isComplete
            || isDeleted != found.isDeleted || wasHidden
        let isTold = isOther && change != nil
        entry.revision = given ?? found.row?.revision ?? Revision(0)
        if isTold { entry.revision = try revision(of: &step) }
        let references = held.references
        if isOther {
            try replaceReferences(of: found.key, references, found.name.origin, step.scope)
        }
        let size =
            entry.rowSize(in: step.scope, isChunked: false) + ReferenceTable.size(of: references)
        try cache.rows.write(
            entry,
            at: found.key,
            over: found.row,
            in: step.scope,
            .inline(row.bytes),
            size: size,
            isUse: step.isUse
        )
        step.add(found.key, size: size)
        guard isTold, let change else { return }
        let (id, cause) = (found.id, step.cause)
        let event: Change.Event = isDeleted ? .delete(id, cause) : .put(id, cause)
        step.changes.append(EntityChange(found.name, at: found.key, change, event))
    }

    private func revision(of step: inout Step) throws(StoreError) -> Revision {
        let known = step.revision ?? step.saved.step
        let revision = if let known { known } else { try cache.nextRevision() }
        step.revision = revision
        return revision
    }

    // MARK: The entry

    private func put(
        _ new: NewEntry,
        _ template: [UInt8],
        _ form: AnswerForm,
        _ step: inout Step
    ) throws(StoreError) -> PutReceipt {
        let old = try cache.rows.find(step.scope, new.entry.id, toPut: true)
        let key = RowKey(step.scope, new.entry.id)
        // The same form shows the same, except for changes of its entities.
        let wasHidden = try cache.hiding.endHiding(key, of: step.scope, since: new.start)
        var known: Revision?
        if !wasHidden, let old, old.kind == .fetched, old.checksum == form.checksum,
            let skeleton = old.skeleton,
            try cache.references.skeleton(skeleton)?.bytes == form.skeleton.bytes
        {
            known = old.revision
        }
        if known == nil, !wasHidden { known = try revision(of: old, showing: new.entry.body, step) }
        let isSame = known != nil
        var entry = new.entry
        entry.revision = if let known { known } else { try revision(of: &step) }
        try write(entry, template, form, over: old, &step)
        if new.hidesShared { try cache.hiding.hideShared(TargetName(step.scope, entry.id)) }
        if case .uploaded(let upload) = new.body { cache.forget(upload) }
        try tell(&step, entry: isSame ? nil : (key, new.change(at: entry.revision)))
        return PutReceipt(revision: entry.revision, isNew: old == nil, isSame: isSame)
    }

    private func write(
        _ entry: Entry,
        _ template: [UInt8],
        _ form: AnswerForm,
        over old: CachedRows.Row?,
        _ step: inout Step
    ) throws(StoreError) {
        let key = RowKey(step.scope, entry.id)
        let size =
            entry.rowSize(in: step.scope, dataBytes: template.count)
            + ReferenceTable.size(of: form.references)
        try cache.room.checkSize(size, bodyBytes: entry.body.byteCount)
        let skeleton = try cache.references.take(form.skeleton, insteadOf: old?.skeleton)
        cache.state.totals.bytes += skeleton.added
        if let old {
            let (kind, body) = (old.kind, old.body)
            try letGo(of: key, kind, body: body, skeleton: old.skeleton, for: skeleton.number)
        }
        try cache.rows.write(
            entry,
            at: key,
            over: old,
            in: step.scope,
            .inline(template),
            form: (skeleton.number, form.checksum),
            size: size,
            isUse: step.isUse
        )
        try replaceReferences(of: key, form.references, form.origin, step.scope)
        step.add(key, size: size)
    }

    func rebuild(_ row: NormalizedRow) throws(StoreError) -> Rebuilt {
        let skeleton = try cache.references.skeleton(row.skeleton)
        return try row.rebuilt(skeleton, by: cache.shared.rebuilder(of: row)) {
            (id) throws(StoreError) in
            guard let name = id.entity else { return nil }
            // If `state.db` has the entity, the cache has no row of it, or an old one.
            let durable = try cache.durableEntity(TargetName(row.scope, id))
            if let durable { return durable }
            let found = try find(name, in: row.scope)
            return found.row.map { old in
                KnownEntity(held: found.held, revision: old.revision, storedAt: row.entry.storedAt)
            }
        }
    }

    /// Returns the revision at which a row shows the bytes that come for it already, as another
    /// answer has changed its entities; nil if it shows others.
    ///
    /// An entity of the row may have made this revision, and may not be in the answer any more.
    private func revision(
        of old: CachedRows.Row?,
        showing body: BodySummary,
        _ step: Step
    ) throws(StoreError) -> Revision? {
        guard step.changes.isEmpty, step.saved.merged.isEmpty, let old, old.skeleton != nil,
            let row = try cache.rows.read(old.key, { $0.normalized(in: step.scope) }),
            case .shown(let shown) = try rebuild(row)
        else { return nil }
        return shown.answer.isComplete && shown.entry.body == body ? shown.entry.revision : nil
    }

    /// Releases a row's data in other tables when the row is replaced or removed.
    ///
    /// Entities that no other row refers to go later. With a `new` skeleton, another normalized
    /// answer takes the row's place and replaces its references.
    func letGo(
        of key: RowKey,
        _ kind: EntryKind?,
        body: Int64?,
        skeleton: Int64?,
        for new: Int64? = nil
    ) throws(StoreError) {
        if let body { try cache.bodies.unlink(body, &cache.state.bodies) }
        if let skeleton, skeleton != new {
            cache.state.totals.bytes -= try cache.references.release(skeleton)
        }
        guard new == nil, skeleton != nil || kind == .entity else { return }
        cache.state.noteOrphans(try cache.references.removeReferences(of: key.number))
    }

    // MARK: References

    /// Stores a row's references, as far as they are new.
    ///
    /// Of two entities with one hash, it stores the places of both.
    func replaceReferences(
        of key: RowKey,
        _ references: [Reference],
        _ origin: OriginName,
        _ scope: ScopeKey
    ) throws(StoreError) {
        var wanted: [Int64: [UInt8]] = [:]
        for reference in references {
            let child = RowKey(scope, EntryID(EntityName(reference.key, of: origin)))
            wanted[child.number, default: []] += reference.place.stored
        }
        cache.state.noteOrphans(try cache.references.setReferences(of: key.number, wanted))
    }

    func sizeOfReferred(by key: RowKey) throws(StoreError) -> Int64 {
        try cache.connection.integer(
            """
            WITH RECURSIVE below (row) AS (
                SELECT child FROM reference WHERE parent = \(key.number)
                UNION SELECT child FROM reference JOIN below ON parent = row)
            SELECT coalesce(sum(size), 0) FROM below JOIN recency ON key = row
            """
        ) ?? 0
    }

    // MARK: Telling

    /// Notifies watchers of a step's changes: its entities, its own entry, and the entries that
    /// show them.
    ///
    /// The log does not have the last ones: a client that comes back finds them by the references.
    func tell(_ step: inout Step, entry: (key: RowKey, change: Change?)?) throws(StoreError) {
        let isHeard = cache.shared.changes.isWatched || !cache.shared.watches.isEmpty
        var showing = ReferenceReader.Showing()
        if !step.changes.isEmpty, isHeard {
            let residency = cache.shared.residency
            let reader = ReferenceReader(tables: [cache.references], residency: residency)
            let (changes, limit) = (step.changes, Limits.followedReferencesMax)
            showing = try reader.entries(showing: changes, in: step.scope, limit: limit)
        }
        if !step.changes.isEmpty, !isHeard || !showing.isWhole { cache.state.hasUntold = true }
        guard let revision = step.revision ?? entry?.change?.revision else { return }
        let scope = step.scope.scope
        try cache.log.append(together: step.changes.map { Change(revision, scope, $0.event) })
        if let entry, var change = entry.change {
            if let own = showing.entries.removeValue(forKey: entry.key) {
                change.name(changed: own.changed)
            }
            try cache.log.append(change)
        }
        for (key, shown) in showing.entries.sorted(by: { $0.value.id.text < $1.value.id.text }) {
            var change = Change(revision, scope, .put(shown.id, step.cause))
            change.name(changed: shown.changed)
            cache.state.log.changes.append(change)
            cache.noteChange(of: key)
        }
    }
}

struct CachedEntity {
    let name: EntityName
    let id: EntryID
    let row: CachedRows.Row?
    let key: RowKey
    let held: HeldEntity

    var isDeleted: Bool { if case .deleted = held { true } else { false } }
}
