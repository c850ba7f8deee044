package import LarderModel
package import LarderNormalize

package struct KnownEntity: Sendable {
    package let held: HeldEntity
    package internal(set) var revision: Revision
    package let storedAt: Timestamp
    package var pending = PendingChanges()
    /// Whether modifiers alone make the entry exist, or be deleted.
    package var isMade = false
}

extension HeldEntity {
    /// Whether it has an answer whose request started after another row had its revision.
    func isLater(than row: Revision) -> Bool {
        switch self {
        case .unknown: false
        case .deleted(let stamp), .present(_, let stamp): stamp.fetch > row.number
        }
    }
}

package struct PendingChanges: Equatable, Sendable {
    /// The ids of modifiers that are not settled, by their numbers.
    package internal(set) var modifiers: [ModifierNumber: String] = [:]
    package internal(set) var failed = 0
    /// The ids of the first of the failed ones, of one entity.
    var failedIDs: [String] = []
    /// The same of all entities: one write may have failed on several.
    package internal(set) var failedModifiers: Set<String> = []
    /// Modifiers that wait or have failed on each entity of an answer, where there are some.
    package internal(set) var marks: [EntityKey: EntityMarks] = [:]
    /// Whether the whole entry is shown, and not only the effects of modifiers.
    package internal(set) var isComplete = true

    package init() {}

    package mutating func add(_ other: PendingChanges) {
        modifiers.merge(other.modifiers) { own, _ in own }
        failed += other.failed - failedModifiers.intersection(other.failedModifiers).count
        failedModifiers.formUnion(other.failedModifiers)
        isComplete = isComplete && other.isComplete
    }

    /// Adds those of an entity of an answer.
    package mutating func add(_ other: PendingChanges, of key: EntityKey) {
        add(other)
        guard !other.modifiers.isEmpty || other.failed > 0 else { return }
        marks[key] = other.own
    }

    private var own: EntityMarks {
        let pending = modifiers.sorted { $0.key < $1.key }.prefix(Limits.rowWritesMax)
        return EntityMarks(pending: pending.map(\.value), failed: failedIDs)
    }
}

/// The modifiers that wait on an entity, and those that failed on it, in their order; the first
/// ``Limits/rowWritesMax`` of each.
package struct EntityMarks: Equatable, Sendable {
    package let pending: [String]
    package let failed: [String]
}

package enum ShownRow<Value> {
    case whole(Value)
    case normalized(Rebuilt, of: Entry)
}

/// The view or the base of an entity, as a scope sees it.
///
/// Modifiers show to their own user only.
package enum EntityLookup: Sendable {
    case view(of: ScopeKey)
    /// The origin's last word, without modifiers.
    case base(of: ScopeKey)

    var scope: ScopeKey {
        switch self {
        case .view(let scope), .base(let scope): scope
        }
    }
}

package struct AnswerReader {
    let reader: StoreReader
    private var shared: SharedCacheState { reader.shared }

    /// Hands an id's row to `read`, and rebuilds it if it is a normalized answer.
    ///
    /// A shared row that is hidden from its viewer counts as missing. `isUse` says whether this
    /// counts as a use.
    package func shownRow<Value>(
        _ scope: ScopeKey,
        _ id: EntryID,
        for lookup: EntityLookup,
        now: Timestamp,
        isPartial: Bool = false,
        isUse: Bool = true,
        _ read: (borrowing EntryRow) -> Value
    ) throws(StoreError) -> ShownRow<Value>? {
        try reader.inConsistentSnapshot { () throws(StoreError) -> ShownRow<Value>? in
            if reader.isHidden(id, in: scope, from: lookup.scope) { return nil }
            func found(_ row: borrowing EntryRow) -> FoundRow<Value> {
                row.normalized(in: scope).map(FoundRow.normalized) ?? .whole(read(row))
            }
            let saved = try reader.withSaved(scope, id, now: now, found)
            let found =
                if let saved { saved } else {
                    try reader.withCached(scope, id, now: now, isUse: isUse, found)
                }
            switch found {
            case nil: return nil
            case .whole(let value)?: return .whole(value)
            case .normalized(let row)?:
                let rebuilt = try rebuild(
                    row,
                    for: lookup,
                    now: now,
                    isPartial: isPartial,
                    isUse: isUse
                )
                return .normalized(rebuilt, of: row.entry)
            }
        }
    }

    private enum FoundRow<Value> {
        case whole(Value)
        case normalized(NormalizedRow)
    }

    package func rebuilt(
        saved id: EntryID,
        _ scope: ScopeKey,
        for lookup: EntityLookup,
        now: Timestamp
    ) throws(StoreError) -> (shown: RebuiltEntry, came: Entry)? {
        let saved = try reader.withSaved(scope, id, now: now) { $0.normalized(in: scope) }
        guard let row = (saved ?? nil) ?? nil,
            case .shown(let shown) = try rebuild(row, for: lookup, now: now)
        else { return nil }
        return (shown, row.entry)
    }

    package func shownEntities(
        of row: NormalizedRow
    ) throws(StoreError) -> [(key: EntityKey, members: [String])] {
        guard let skeleton = try skeleton(of: row),
            let template = try? Template(row.template, skeleton)
        else { return [] }
        return template.references(skeleton).map { reference in
            (reference.key, reference.place.memberNames(skeleton))
        }
    }

    /// The known state of an entity; nil for an unknown one, and for a shared one hidden from its
    /// viewer.
    package func entity(
        _ scope: ScopeKey,
        _ id: EntryID,
        for lookup: EntityLookup,
        now: Timestamp,
        isUse: Bool = true
    ) throws(StoreError) -> KnownEntity? {
        guard var known = try heldEntity(scope, id, for: lookup, now, isUse) else { return nil }
        if case .view(let own) = lookup {
            let failed = try reader.targets.deadLetters(own, id)
            known.pending.failed = failed
            if failed > 0 {
                let lost = try reader.targets.lostEffects(own, id)
                known.pending.failedIDs = lost.map(\.modifier)
                known.pending.failedModifiers = Set(lost.map(\.modifier))
            }
        }
        return known
    }

    /// A user's own row comes before the shared one while modifiers target it, and until a shared
    /// answer is later.
    private func heldEntity(
        _ home: ScopeKey,
        _ id: EntryID,
        for lookup: EntityLookup,
        _ now: Timestamp,
        _ isUse: Bool
    ) throws(StoreError) -> KnownEntity? {
        let own = lookup.scope
        guard own != home else { return try row(own, id, for: lookup, now, isUse) }
        let saved = try savedEntity(own, id, for: lookup)
        if let saved, (shared.residency.place(own, id)?.targets ?? 0) > 0 { return saved }
        if reader.isHidden(id, in: home, from: own) {
            return if let saved { saved } else { try cachedEntity(own, id, now, isUse) }
        }
        let said = try row(home, id, for: lookup, now, isUse)
        guard let saved else { return said }
        guard var said, said.held.isLater(than: saved.revision) else { return saved }
        said.revision = max(said.revision, saved.revision)
        return said
    }

    private func row(
        _ scope: ScopeKey,
        _ id: EntryID,
        for lookup: EntityLookup,
        _ now: Timestamp,
        _ isUse: Bool
    ) throws(StoreError) -> KnownEntity? {
        if let saved = try savedEntity(scope, id, for: lookup) { return saved }
        return try cachedEntity(scope, id, now, isUse)
    }

    private func cachedEntity(
        _ scope: ScopeKey,
        _ id: EntryID,
        _ now: Timestamp,
        _ isUse: Bool
    ) throws(StoreError) -> KnownEntity? {
        let cached = try reader.withCached(scope, id, now: now, isUse: isUse) { $0.entity }
        guard let found = cached ?? nil else { return nil }
        try reader.loopBudget.take(bytes: found.held.byteCount, entities: 1)
        return found
    }

    /// With `came`, a target with that base, whatever `state.db` has; nil for any other entity.
    private func savedEntity(
        _ scope: ScopeKey,
        _ id: EntryID,
        for lookup: EntityLookup,
        on came: HeldEntity? = nil
    ) throws(StoreError) -> KnownEntity? {
        guard let place = shared.residency.place(scope, id) else { return nil }
        var target = try reader.targets.read(scope, id, place, try reader.stateReader(of: place))
        if let row = came?.row(id, of: id.entity?.origin, Timestamp(milliseconds: 0)) {
            guard !target.changes.isEmpty else { return nil }
            (target.entry, target.body) = (row.entry, .inline(row.bytes))
        }
        // The index covers an entity before its accept commits, and until after its demotion
        // commits.
        guard target.entry != nil || !target.changes.isEmpty else { return nil }
        var pending = PendingChanges()
        var held = target.base.held
        let isPart = target.base.isPart
        pending.isComplete = !isPart
        var revision = target.entry?.revision ?? Revision(0)
        if case .view = lookup, !target.changes.isEmpty {
            let document = shared.origins.document(id, scope.scope)
            let view = try reader.loopBudget.viewing { steps in
                let view = target.entityView(document, steps: &steps) { number in
                    (try? reader.targets.requestBody(of: number))?.bytes
                }
                return (view, view.isCut)
            }
            held = view.held
            if view.isChanged { revision = target.changes.map(\.revision).reduce(revision, max) }
            pending.isComplete = view.isComplete
            for change in target.changes where !change.isAnswered {
                pending.modifiers[change.number] = change.modifier
            }
        }
        let isMade =
            switch (target.base.held, held) {
            case (.unknown, .unknown), (.deleted, .deleted), (.present, .present), (_, .unknown):
                false
            case (.unknown, _), (.deleted, _), (.present, _): true
            }
        return KnownEntity(
            held: held,
            revision: revision,
            storedAt: target.entry?.storedAt ?? target.changes[target.changes.count - 1].acceptedAt,
            pending: pending,
            isMade: isMade || isPart
        )
    }

    /// The entries that show what steps have changed; nil where they are too many to be followed.
    package func entries(
        of scope: ScopeKey,
        showing entities: [EntityName],
        where isWanted: (EntryID) -> Bool
    ) throws(StoreError) -> [(id: EntryID, changed: [EntityKey])]? {
        let changes = entities.map { name in
            let (id, cause) = (EntryID(name), ChangeCause(.network))
            return EntityChange(name, at: RowKey(scope, id), .created, .put(id, cause))
        }
        let limit = Limits.followedOnReturnMax
        let showing = try references()
            .entries(showing: changes, in: scope, limit: limit, where: isWanted)
        return showing.isWhole ? Array(showing.entries.values) : nil
    }

    private func references() throws(StoreError) -> ReferenceReader {
        let saved = shared.residency.isEmpty ? nil : try reader.stateReader().references
        let cached = try reader.cache.reading { $0.references }
        let tables = [saved, cached].compactMap { $0 }
        return ReferenceReader(tables: tables, residency: shared.residency)
    }

    package func referrers(
        _ scope: ScopeKey,
        _ name: EntityName
    ) throws(StoreError) -> [(id: EntryID, place: Reference.Place, skeleton: Skeleton?)] {
        let id = EntryID(name)
        let parents = try references().parents(of: RowKey(scope, id), in: scope, id, limit: .max)
        return try parents.map { parent, table throws(StoreError) in
            let skeleton = try parent.skeleton.map { number throws(StoreError) in
                try table.skeleton(number)
            }
            return (parent.id, parent.place, skeleton ?? nil)
        }
    }

    /// Puts a normalized answer together: call it within ``inConsistentSnapshot(_:)`` with the read of its
    /// row.
    package func rebuild(
        _ row: NormalizedRow,
        for lookup: EntityLookup,
        now: Timestamp,
        isPartial: Bool = false,
        isUse: Bool = true
    ) throws(StoreError) -> Rebuilt {
        try reader.loopBudget.take(bytes: row.template.count)
        let skeleton = try skeleton(of: row)
        let rules = shared.origins.rules(of: row.entry.origin)
        return try row.rebuilt(
            skeleton,
            by: reader.loopBudget.rebuilder(rules, bytesMax: shared.rebuiltBytesMax),
            isPartial: isPartial,
            check: reader.loopBudget.check
        ) { (id) throws(StoreError) in
            try entity(row.scope, id, for: lookup, now: now, isUse: isUse)
        }
    }

    /// Puts an answer together that no file has, with the view of each entity that modifiers of its
    /// viewer target; its other entities are as they came.
    ///
    /// With `home`, what is known of an entity there comes before what came. Nil if it cannot be put
    /// together. Call it within ``inConsistentSnapshot(_:)``.
    package func rebuilt(
        unstored entry: Entry,
        _ split: Split,
        for viewer: ScopeKey,
        knownIn home: ScopeKey?,
        now: Timestamp
    ) throws(StoreError) -> Rebuilt? {
        guard let origin = entry.origin else { return nil }
        let came = split.keys.indices.map { split.merged($0, into: .unknown, fetch: 0) }
        guard let template = split.template(came) else { return nil }
        var numbers: [EntryID: Int] = [:]
        for (number, key) in split.keys.enumerated() {
            numbers[EntryID(EntityName(key, of: origin))] = number
        }
        let row = NormalizedRow(
            entry: entry,
            scope: viewer,
            template: template,
            skeleton: 0,
            file: .cache
        )
        let rules = shared.origins.rules(of: origin)
        return try row.rebuilt(
            split.skeleton,
            by: reader.loopBudget.rebuilder(rules, bytesMax: shared.rebuiltBytesMax),
            check: reader.loopBudget.check
        ) { (id) throws(StoreError) in
            guard let number = numbers[id] else { return nil }
            if let home,
                let known = try entity(home, id, for: .view(of: viewer), now: now, isUse: false)
            {
                return known
            }
            let held = came[number].held
            let view = try savedEntity(viewer, id, for: .view(of: viewer), on: held)
            let (revision, storedAt) = (entry.revision, entry.storedAt)
            return view ?? KnownEntity(held: held, revision: revision, storedAt: storedAt)
        }
    }

    func skeleton(of row: NormalizedRow) throws(StoreError) -> Skeleton? {
        guard row.file == .cache else {
            return try reader.openStateReader().references.skeleton(row.skeleton)
        }
        return try reader.cache.reading { file throws(StoreError) in
            try file.references.skeleton(row.skeleton)
        } ?? nil
    }
}
