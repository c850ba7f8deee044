import LarderModel
import LarderNormalize
import LarderStore
import LarderWire

extension Views {
    /// What a client of `scope` sees of an entity: under its key, or under `url` of its own; nil for a
    /// miss.
    ///
    /// Others in it stand there `depth` references deep; of the rest their keys, and `null` for what
    /// was evicted.
    func view<Row>(
        of name: EntityName,
        at url: EntryID? = nil,
        for scope: ScopeKey,
        _ reader: StoreReader,
        now: Timestamp,
        as form: ShownForm = .view,
        expanding depth: Int = Limits.entityExpansionMax
    ) throws(StoreError) -> EntryView<Row>? {
        let viewer = form == .base ? EntitySight.base(of: scope) : .view(of: scope)
        let rules = context.entityRules(of: name.origin)
        for place in context.sight(scope, EntryID(name)).scopes {
            let view = try reader.atOneMoment { () throws(StoreError) -> EntryView<Row>? in
                let look = EntityLook(
                    name: name,
                    id: url ?? EntryID(name),
                    viewer: viewer,
                    now: now
                )
                return try look.view(in: place, reader, rules, depth)
            }
            if let view { return view }
        }
        return nil
    }
}

/// A look at one entity, to be shown under an id.
private struct EntityLook {
    let name: EntityName
    let id: EntryID
    let viewer: EntitySight
    let now: Timestamp

    /// Nil where nothing is known of it in one scope.
    func view<Row>(
        in place: ScopeKey,
        _ reader: StoreReader,
        _ rules: EntityRules,
        _ depth: Int
    ) throws(StoreError) -> EntryView<Row>? {
        guard let known = try found(EntryID(name), in: place, reader), known.held.isKnown else {
            return nil
        }
        var (revision, pending) = (known.revision, PendingChanges())
        let source = known.isMade ? AnswerSource.modifier : .cache
        let deleted = EntryView<Row>(
            content: .deleted(tombstone(known.revision, source)),
            overlay: Overlay(known.pending),
            source: source,
            place: place,
            isNormalized: true
        )
        if case .deleted = known.held { return deleted }
        // What modifiers make of it is its user's own, what it refers to may be everybody's.
        let places = reader.places(of: place)
        let rebuilder = reader.rebuilder(rules, bytesMax: Limits.normalizedBodyBytesMax)
        let outcome = try rebuilder.show(name.key, expanding: depth, isPartial: true) {
            (key) throws(StoreError) -> FoundEntity in
            let id = EntryID(EntityName(key, of: name.origin))
            for place in places {
                guard let found = try found(id, in: place, reader) else { continue }
                revision = max(revision, found.revision)
                pending.add(found.pending)
                return FoundEntity(found.held)
            }
            return .evicted
        }
        try reader.check(outcome)
        guard case .shown(let answer) = outcome else { return deleted }
        var entry = Entry(
            id: id,
            kind: id.isEntity ? .entity : .fetched,
            storedAt: known.storedAt,
            revision: revision,
            body: BodySummary(of: answer.bytes, isJSON: true)
        )
        (entry.mediaType, entry.origin) = (MediaType.json, name.origin)
        return EntryView(
            content: .made(entry, answer.bytes),
            overlay: Overlay(missing: answer, pending),
            source: source,
            place: place,
            isNormalized: true
        )
    }

    private func found(
        _ id: EntryID,
        in place: ScopeKey,
        _ reader: StoreReader
    ) throws(StoreError) -> KnownEntity? {
        try reader.entityWithDeadLetters(place, id, for: viewer, now: now)
    }

    private func tombstone(_ revision: Revision, _ source: AnswerSource) -> Entry {
        var entry = Entry(
            id: id,
            kind: .tombstone,
            status: source == .modifier ? 410 : 404,
            storedAt: now,
            revision: revision,
            body: BodySummary(of: [], isJSON: false)
        )
        entry.origin = name.origin
        return entry
    }
}

extension HeldEntity {
    /// Whether anything is known of it: effects that do not fit leave nothing to show (case 1).
    fileprivate var isKnown: Bool {
        if case .unknown = self { false } else { true }
    }
}
