package import LarderAPI
package import LarderModel
import LarderNormalize
package import LarderStore
import LarderStrategy
import LarderWire

/// The view of an id for one client: its own row or the shared one, plus its unsettled modifiers
/// (P-04).
///
/// `Row` is the value that a route makes of an unchanged row while it reads it.
package struct EntryView<Row> {
    package enum Content {
        case row(Row)
        case made(Entry, [UInt8])
        /// The tombstone: its origin has said so, or a modifier says so that is not settled.
        case deleted(Entry)
    }

    package internal(set) var content: Content
    package internal(set) var overlay: Overlay
    /// `modifier` where no server has said what is shown; else `cache`.
    package let source: AnswerSource
    /// The scope of the row; the client's own scope if there is no row.
    var place: ScopeKey
    /// For an answer built from entities: the answer that the origin can be asked to confirm.
    var known: Entry?
    var isNormalized = false

    /// The tombstone of an entry that its origin has deleted, and the scope of its row.
    fileprivate var tombstone: (entry: Entry, place: ScopeKey)? {
        guard case .deleted(let entry) = content, source == .cache else { return nil }
        return (entry, place)
    }
}

extension EntryView: Sendable where Row: Sendable {}
extension EntryView.Content: Sendable where Row: Sendable {}

extension EntryView<Entry?> {
    /// Everything of it but its bytes; nil for a row that cannot be read.
    var entry: Entry? {
        switch content {
        case .row(let entry): entry
        case .made(let entry, _), .deleted(let entry): entry
        }
    }
}

struct EntryHead: Sendable {
    var entry: Entry
    let source: AnswerSource
    let place: ScopeKey
    /// Row of a list; nil for an entry that was looked up by its id.
    var row: ListedRow?
}

extension Engine {
    /// Hands an id's row to `row` if every form of the view would show only that row, and counts
    /// the hit.
    ///
    /// Returns false if ``view(of:for:_:now:as:row:)`` has to decide.
    package func fastPathRow(
        of id: EntryID,
        for scope: ScopeKey,
        _ reader: StoreReader,
        now: Timestamp,
        row: (borrowing EntryRow) -> Void
    ) -> Bool {
        guard mayUseFastPath(id), reader.fastPathRow(scope, id, now: now, row) else { return false }
        context.count(isHit: true)
        return true
    }

    /// Whether a client would see the same as when the stamp was taken, apart from the time.
    ///
    /// If so, this counts as a hit.
    package func stillShows(_ stamp: ReadVersion, _ reader: StoreReader) -> Bool {
        if let id = stamp.plain?.id, !mayUseFastPath(id) { return false }
        guard reader.stillSays(stamp) else { return false }
        context.count(isHit: true)
        return true
    }

    /// A write to a URL also shows in the variants of that URL.
    private func mayUseFastPath(_ id: EntryID) -> Bool {
        let modifiers = store.modifiers
        return !id.isEntity
            && !(modifiers.hasTargets || modifiers.hasDeadLetters) || Variants.url(of: id) == nil
    }

    /// Reads the view of an id on the reader's own thread, without a copy; nil for a miss.
    ///
    /// The read counts for the hit rate.
    package func view<Row>(
        of id: EntryID,
        for scope: ScopeKey,
        _ reader: StoreReader,
        now: Timestamp,
        as form: ShownView = .view,
        expanding depth: Int = 0,
        row: (borrowing EntryRow, Overlay) -> Row
    ) throws(StoreError) -> EntryView<Row>? {
        var look = EntryReader(context: context, scope: scope, reader: reader, now: now, form: form)
        look.depth = depth
        let view = try look.view(of: id, row: row)
        if id.isEntity {
            for place in context.lookupScopes(scope, id).scopes { store.noteDirectUse(place, id) }
        }
        context.count(isHit: view != nil)
        return view
    }
}

/// Reads what one client sees, on the reader's own thread.
///
/// Routes read ids, modifiers and dead letters only through this type.
struct EntryReader {
    let context: EngineContext
    let scope: ScopeKey
    let reader: StoreReader
    let now: Timestamp
    /// With `base`, the reader shows what the origin said last, without modifiers.
    var form = ShownView.view
    /// Whether a normalized answer is shown even if some of its entities were evicted.
    var isPartial = false
    /// The number of reference levels that are expanded in an entity.
    var depth = 0
    var isUse = true

    var viewer: EntityLookup { form == .base ? .base(of: scope) : .view(of: scope) }

    /// The base of an id, without the effects of its modifiers, and the scope of its row.
    struct Base {
        var value = TargetBase.unknown
        var place: ScopeKey?
        var known: Entry?
        var overlay = Overlay.none
    }

    /// Reads the view of an id; nil for a miss.
    ///
    /// All of it is of one moment. `lookupScopes` says where to look; the default is where every client
    /// looks.
    ///
    /// `row` gets an unchanged row and its overlay, and gets them again if a commit came between.
    /// If nothing targets the id and nothing failed on it, two lookups in memory find that out.
    func view<Row>(
        of id: EntryID,
        in lookupScopes: LookupScopes? = nil,
        row: (borrowing EntryRow, Overlay) -> Row
    ) throws(StoreError) -> EntryView<Row>? {
        let id = context.store.modifiers.current(id, in: scope)
        let marks = RowMarks(look: self)
        if let name = id.entity {
            return try marks.marked(view(of: name, expanding: depth), of: id)
        }
        return try reader.inConsistentSnapshot { () throws(StoreError) -> EntryView<Row>? in
            try marks.marked(unmarked(of: id, in: lookupScopes, row: row), of: id)
        }
    }

    /// Call it while the reader holds one moment.
    private func unmarked<Row>(
        of id: EntryID,
        in lookupScopes: LookupScopes?,
        row: (borrowing EntryRow, Overlay) -> Row
    ) throws(StoreError) -> EntryView<Row>? {
        var overlay = Overlay.none
        if form == .view {
            if let changes = try reader.targets.changes(ofVariant: id, scope) {
                let base = try base(
                    of: id,
                    in: (lookupScopes ?? context.lookupScopes(scope, id)).scopes
                )
                return try view(of: id, changes, on: base, row)
            }
            if let target = try reader.targets.target(scope, id) {
                return try view(of: id, target.changes, on: base(of: target), row)
            }
            try overlay.addFailures(of: id, scope, reader)
        }
        var found = try self.row(id, in: scope, overlay, row)
        if found == nil,
            let shared = lookupScopes.map(\.shared) ?? context.sharedScope(of: id, for: scope)
        {
            found = try self.row(id, in: shared, overlay, row)
        }
        // The state of an entity and its modifiers count more than an earlier tombstone of its URL.
        let gone = (found ?? nil)?.tombstone
        guard gone != nil || form == .view && found == nil else { return found ?? nil }
        let made: EntryView<Row>? = try entityView(at: id, gone: gone)
        return made ?? found ?? nil
    }

    func head(of id: EntryID) throws(StoreError) -> EntryHead? {
        var look = self
        look.isUse = false
        guard let view = try look.view(of: id, row: { row, _ in row.entry() }) else { return nil }
        return view.entry.map { EntryHead(entry: $0, source: view.source, place: view.place) }
    }

    /// The view of an entity under its own URL if no answer is cached; nil if no modifier targets
    /// it.
    ///
    /// With `gone`, the origin once said that the URL is gone. The view then shows what is known of
    /// the entity since: from a list that holds it again, or from a confirmed write. Its scope is
    /// that of the row of `gone`.
    private func entityView<Row>(
        at id: EntryID,
        gone: (entry: Entry, place: ScopeKey)?
    ) throws(StoreError) -> EntryView<Row>? {
        let modifiers = context.store.modifiers
        guard gone != nil || modifiers.hasTargets, let name = context.entity(at: id, in: scope),
            gone != nil || modifiers.isTarget(scope, EntryID(name)),
            var view: EntryView<Row> = try view(of: name, at: id)
        else { return nil }
        view.place = gone?.place ?? scope
        if let gone, case .deleted(let entry) = view.content, view.source == .cache {
            // A newer view of the entity may have been shown, and no revision may go back.
            var told = gone.entry
            told.revision = max(told.revision, entry.revision)
            view.content = .deleted(told)
        }
        return view
    }

    /// The content of an id's row, or of the answer rebuilt from it.
    ///
    /// Nil if there is no row; a nil view if nothing of the row shows.
    private func row<Row>(
        _ id: EntryID,
        in place: ScopeKey,
        _ overlay: Overlay,
        _ read: (borrowing EntryRow, Overlay) -> Row
    ) throws(StoreError) -> EntryView<Row>?? {
        var (overlay, source) = (overlay, AnswerSource.cache)
        func content(_ row: borrowing EntryRow) -> EntryView<Row>.Content? {
            if !row.isComplete { (overlay, source) = (overlay.adding(.ofPart), .modifier) }
            return switch row.kind {
            case .blob, .fetched: .row(read(row, overlay))
            case .tombstone: row.entry().map { .deleted($0) }
            case .entity, .variants: nil
            }
        }
        let found = try reader.answers.shownRow(
            place,
            id,
            for: viewer,
            now: now,
            isPartial: isPartial,
            isUse: isUse,
            content
        )
        switch found {
        case nil: return nil
        case .whole(nil)?, .normalized(.missing, _)?: return .some(nil)
        case .whole(let content?)?:
            return EntryView(content: content, overlay: overlay, source: source, place: place)
        case .normalized(.deleted(let tombstone, let pending, let isByModifier), _)?:
            return EntryView(
                content: .deleted(tombstone),
                overlay: overlay.adding(Overlay(pending)),
                source: isByModifier ? .modifier : .cache,
                place: place,
                isNormalized: true
            )
        case .normalized(.shown(let shown), let came)?:
            let own = came.isComplete ? overlay : overlay.adding(.ofPart)
            return EntryView(
                content: .made(shown.entry, shown.answer.bytes),
                overlay: own.adding(Overlay(shown.pending, missing: shown.answer)),
                source: came.isComplete ? .cache : .modifier,
                place: place,
                // A 304 would confirm the bytes that arrived, not the bytes that are shown.
                known: shown.entry.body.digest == came.body.digest ? came : nil,
                isNormalized: true
            )
        }
    }

    /// Applies a client's unsettled changes to a base.
    ///
    /// Call it at the same moment as the read of that base.
    private func view<Row>(
        of id: EntryID,
        _ changes: [OpenChange],
        on base: Base,
        _ read: (borrowing EntryRow, Overlay) -> Row
    ) throws(StoreError) -> EntryView<Row>? {
        let shown = try ShownEntry(id, base.value, changes, self)
        guard let entry = shown.entry else { return nil }
        let isDeleted = entry.kind == .tombstone
        if !isDeleted, shown.bytes == nil, let place = base.place {
            // The base shows unchanged.
            return try self.row(id, in: place, shown.overlay, read) ?? nil
        }
        return EntryView(
            content: isDeleted ? .deleted(entry) : .made(entry, shown.bytes ?? []),
            overlay: shown.overlay.adding(base.overlay),
            source: shown.isMade ? .modifier : .cache,
            place: base.place ?? scope,
            known: base.known
        )
    }

    // MARK: Bases

    /// The base to which a target's effects are applied.
    ///
    /// A normalized answer is rebuilt with its entities as they are now. The base has the
    /// validators for the origin, and the state of the entities.
    func base(of target: Target) throws(StoreError) -> Base {
        let place = target.isOfSharedRow ? context.sharedScope : scope
        guard case .value(let entry, _?) = target.base,
            let (shown, came) = try reader.answers.rebuilt(
                saved: entry.id,
                place,
                for: .view(of: scope),
                now: now
            )
        else { return Base(value: target.base, place: place, known: target.base.entry) }
        return Base(
            value: .value(shown.entry, shown.answer.bytes),
            place: place,
            known: shown.entry.body.digest == came.body.digest ? came : nil,
            overlay: Overlay(shown.pending, missing: shown.answer)
        )
    }

    /// The base of a variant that only a write of its URL changes: the row in the first of the
    /// places that has one.
    ///
    /// Call it while the reader holds one moment.
    private func base(of id: EntryID, in places: [ScopeKey]) throws(StoreError) -> Base {
        var look = self
        look.isUse = true
        for place in places {
            let view = try look.row(id, in: place, .none) { row, _ in ShownAnswer.copy(row) }
            guard let found = (view ?? nil).flatMap(ShownAnswer.init) else { continue }
            let entry = found.entry
            var base = Base(place: place, known: found.known, overlay: found.overlay)
            switch found.body {
            case _ where entry.kind == .tombstone: base.value = .deleted(entry)
            case _ where !entry.body.isJSON: base.value = .value(entry, nil)
            case .bytes(let bytes): base.value = .value(entry, bytes)
            case .chunks(let chunks): base.value = .value(entry, try reader.bodies.whole(chunks))
            }
            return base
        }
        return Base()
    }
}

extension TargetReader {
    /// The unsettled changes of a variant, which are those of its URL, in their order; nil where
    /// there are none.
    func changes(ofVariant id: EntryID, _ scope: ScopeKey) throws(StoreError) -> [OpenChange]? {
        guard let url = Variants.url(of: id), let changes = try target(scope, url)?.changes else {
            return nil
        }
        let own = try target(scope, id)?.changes ?? []
        return own.isEmpty ? changes : (own + changes).sorted { $0.number < $1.number }
    }

    /// The number of dead letters that changed an id, or the URL of which it is a variant.
    func failures(_ scope: ScopeKey, _ id: EntryID) throws(StoreError) -> Int {
        let failures = try deadLetters(scope, id)
        guard let url = Variants.url(of: id) else { return failures }
        return try failures + deadLetters(scope, url)
    }
}

extension EntryReader {
    /// The view of an entity, under its key or under its own `url`; nil for a miss.
    ///
    /// References are expanded `depth` levels deep, or not at all if that is too large. Deeper ones
    /// show the keys of their entities, and `null` for evicted entities.
    func view<Row>(
        of name: EntityName,
        at url: EntryID? = nil,
        expanding depth: Int = Limits.entityExpansionMax
    ) throws(StoreError) -> EntryView<Row>? {
        for place in context.lookupScopes(scope, EntryID(name)).scopes {
            let view: EntryView<Row>? = try reader.inConsistentSnapshot { () throws(StoreError) in
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
            return try reader.answers.entity(place, id, for: viewer, now: now, isUse: isUse)
        }
        guard let known = try found(name.key, in: place) else { return nil }
        // The effects do not fit, so nothing shows.
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
        // The view with modifiers belongs to its user; the entities in it may be shared.
        let places = reader.places(of: place)
        let rules = context.entityRules(of: name.origin)
        let rebuilder = reader.loopBudget.rebuilder(rules, bytesMax: Limits.normalizedBodyBytesMax)
        func rebuilt(_ depth: Int) throws(StoreError) -> RebuildOutcome {
            (revision, pending) = (known.revision, PendingChanges())
            let outcome = try rebuilder.show(name.key, expanding: depth, isPartial: true) {
                (key) throws(StoreError) -> HeldEntity in
                for place in places {
                    guard let found = try found(key, in: place) else { continue }
                    revision = max(revision, found.revision)
                    pending.add(found.pending, of: key)
                    return found.held
                }
                return .unknown
            }
            try reader.loopBudget.check(outcome)
            return outcome
        }
        var outcome = try rebuilt(depth)
        if case .tooLarge = outcome, depth > 0 { outcome = try rebuilt(0) }
        let answer: RebuiltAnswer
        switch outcome {
        case .shown(let shown): answer = shown
        case .deleted: return deleted
        case .evicted, .tooLarge: return nil
        }
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
            overlay: Overlay(pending, missing: answer),
            source: source,
            place: place,
            isNormalized: true
        )
    }
}
