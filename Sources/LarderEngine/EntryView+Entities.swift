import LarderModel
import LarderNormalize
import LarderStore
import LarderStrategy
import LarderWire

extension EntryReader {
    /// The entity as the client sees it, under its key or under its own `url`; nil for a miss.
    ///
    /// Others in it stand there `depth` references deep; of the rest their keys, and `null` for what
    /// was evicted.
    func view<Row>(
        of name: EntityName,
        at url: EntryID? = nil,
        expanding depth: Int = Limits.entityExpansionMax
    ) throws(StoreError) -> EntryView<Row>? {
        for place in context.sight(scope, EntryID(name)).scopes {
            let view: EntryView<Row>? = try reader.atOneMoment { () throws(StoreError) in
                try self.view(of: name, at: url ?? EntryID(name), in: place, depth)
            }
            if let view { return view }
        }
        return nil
    }

    /// Nil where nothing is known of it in one scope; call it at one moment.
    private func view<Row>(
        of name: EntityName,
        at id: EntryID,
        in place: ScopeKey,
        _ depth: Int
    ) throws(StoreError) -> EntryView<Row>? {
        func found(_ key: EntityKey, in place: ScopeKey) throws(StoreError) -> KnownEntity? {
            let id = EntryID(EntityName(key, of: name.origin))
            return try reader.answers.entityWithDeadLetters(place, id, for: viewer, now: now)
        }
        guard let known = try found(name.key, in: place) else { return nil }
        // Effects that do not fit leave nothing to show (case 1).
        if case .unknown = known.held { return nil }
        var (revision, pending) = (known.revision, PendingChanges())
        let source = known.isMade ? AnswerSource.modifier : .cache
        var tombstone = Entry(tombstone: id, status: known.isMade ? 410 : 404, name.origin, at: now)
        tombstone.revision = revision
        let deleted = EntryView<Row>(
            content: .deleted(tombstone),
            overlay: Overlay(known.pending),
            source: source,
            place: place,
            isNormalized: true
        )
        if case .deleted = known.held { return deleted }
        // What modifiers make of it is its user's own, what it refers to may be everybody's.
        let places = reader.places(of: place)
        let rules = context.entityRules(of: name.origin)
        let rebuilder = reader.allowance.rebuilder(rules, bytesMax: Limits.normalizedBodyBytesMax)
        let outcome = try rebuilder.show(name.key, expanding: depth, isPartial: true) {
            (key) throws(StoreError) -> FoundEntity in
            for place in places {
                guard let found = try found(key, in: place) else { continue }
                revision = max(revision, found.revision)
                pending.add(found.pending)
                return FoundEntity(found.held)
            }
            return .evicted
        }
        try reader.allowance.check(outcome)
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
}
