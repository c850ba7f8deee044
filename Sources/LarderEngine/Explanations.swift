package import LarderAPI
import LarderJSON
package import LarderModel
import LarderNormalize
package import LarderStore
import LarderWire

extension Entries {
    /// How an entry is kept: what is shown is split once more for what is said of it.
    ///
    /// Nil for an entry that is kept whole without a reason.
    private func form(of entry: Entry, in place: ScopeKey) async throws(Problem) -> Form? {
        guard !entry.id.isEntity, let origin = entry.origin,
            let rules = context.origins.entityRules[origin],
            let settings = context.origins[origin]?.settings
        else { return nil }
        let now = clock.now()
        let id = entry.id
        let path = (try? WebURL(id.text)).flatMap { settings.path(of: $0) } ?? "/"
        return try await context.read { reader throws(StoreError) in
            try reader.atOneMoment { () throws(StoreError) in
                let row = try reader.withEntry(place, id, now: now, isUse: false) { row in
                    (row.normalized(in: place), row.chunkedBody, row.withBody { Array($0) })
                }
                guard let (normalized, chunked, bytes) = row else { return nil }
                if let normalized { return try Form(normalized, rules, path, reader, now) }
                guard chunked == nil else {
                    return Form(wholeReason: "it is too large to look into here")
                }
                return Form(whole: bytes, rules, path)
            }
        }
    }

    /// Everything that is known of an entry or an entity; nil when there is none, and none shows.
    ///
    /// Its members are those of what shows; of a row of which nothing shows, its own. Where `interest`
    /// has ended no more is worked out.
    package func explain(
        _ id: EntryID,
        _ scope: ScopeKey,
        interest: Interest = Interest()
    ) async throws(Problem) -> EntryExplanation? {
        let now = clock.now()
        let sight = context.sight(scope, id)
        let found = try await context.read { [context] reader throws(StoreError) -> Found? in
            let look = EntryReader(context: context, scope: scope, reader: reader, now: now)
            return try Found(id, sight, look, interest)
        }
        guard let found else { return nil }
        let scope = found.place
        var item = EntryItem(found.entry, in: found.row, found.source, now: now)
        if scope.scope == .shared { item.tell(.shared) }
        let holders = context.followers.holders(of: id, in: scope)
        let reasons = [
            store.pins.isPinned(scope, id) ? "pinned" : nil,
            store.modifiers.isTarget(scope, id) ? "targeted" : nil,
            store.protections(scope, id) > holders ? "in_flight" : nil,
            holders > 0 ? "followed" : nil,
        ].compactMap { $0 }
        var explanation = EntryExplanation(item, of: found.entry, protectedBy: reasons)
        explanation.pending = found.pending
        found.facts?.tell(&explanation)
        if let form = try await form(of: found.entry, in: scope) { form.tell(&explanation) }
        return explanation
    }

    /// What is read of an entry, as of one commit.
    private struct Found {
        let entry: Entry
        let place: ScopeKey
        let row: ListedRow?
        var source = AnswerSource.cache
        var pending = PendingExplanation()
        /// Of an entity only.
        var facts: EntityFacts?

        init?(
            _ id: EntryID,
            _ sight: Sight,
            _ look: EntryReader,
            _ interest: Interest
        ) throws(StoreError) {
            guard !interest.isGivenUp else { return nil }
            var look = look
            look.isUse = false
            let (scope, reader, now) = (look.scope, look.reader, look.now)
            let target = try reader.targets.target(scope, id)
            let view = try look.view(of: id, in: sight) { row, _ in row.entry() }
            var found = try Self.row(id, scope, isTarget: target != nil, reader, now)
            let isOfShared = target.map(\.isOfSharedRow) ?? (found == nil)
            if isOfShared, let shared = sight.shared,
                !reader.isHidden(id, in: shared, from: scope)
            {
                found = try Self.row(id, shared, isTarget: false, reader, now)
            }
            place = found.map { reader.key(for: $0.scope) } ?? scope
            row = found
            guard var shown = view?.entry ?? found.flatMap({ $0.isBare ? nil : $0.entry }) else {
                return nil
            }
            if let name = id.entity {
                // A tombstone is made at each read.
                shown.storedAt = found?.entry.storedAt ?? shown.storedAt
                let viewer = EntitySight.base(of: scope)
                facts = try EntityFacts(name, in: place, for: viewer, reader, now)
            }
            entry = shown
            source = view?.source ?? .cache
            guard target != nil || view?.overlay.pending.isEmpty != true else { return }
            look.form = .base
            let base = try look.view(of: id, in: sight) { row, _ in ViewReport(row) }
            var told = PendingExplanation(base: ViewReport(base), view: .unknown)
            if let target {
                told = try PendingExplanation(
                    of: target,
                    on: look.base(of: target).value,
                    id,
                    reader,
                    interest
                )
                told.base = ViewReport(base)
            }
            if let view { try told.take(view, in: scope, reader) }
            pending = told
        }

        private static func row(
            _ id: EntryID,
            _ scope: ScopeKey,
            isTarget: Bool,
            _ reader: StoreReader,
            _ now: Timestamp
        ) throws(StoreError) -> ListedRow? {
            guard let row = try reader.lists.row(scope, id), row.entry.kind != .variants,
                row.isPinned || isTarget || !row.entry.isExpired(at: now)
            else { return nil }
            return row
        }
    }
}

/// How an entry is stored, as its explanation tells it.
private struct Form: Sendable {
    var wholeReason: String?
    var skeleton: String?
    var entities: References?
    var report: SplitReport?

    init(wholeReason: String) {
        self.wholeReason = wholeReason
    }

    func tell(_ explanation: inout EntryExplanation) {
        explanation.form = skeleton == nil ? .whole : .normalized
        explanation.wholeReason = wholeReason
        explanation.skeleton = skeleton
        explanation.entities = entities
        guard let report else { return }
        let sample = report.keylessSample?.text
        explanation.keyless = Keyless(count: report.keylessCount, sample: sample)
        explanation.repeated = report.repeatedCount
    }

    init(whole bytes: [UInt8], _ rules: EntityRules, _ path: String) {
        switch Splitter(rules).split(bytes, path: path) {
        case .whole(let reason, let found): (wholeReason, report) = (reason.message, found)
        case .split(let split):
            wholeReason = "it was stored so, or its id is kept for good"
            report = split.report
        }
    }

    init(
        _ row: NormalizedRow,
        _ rules: EntityRules,
        _ path: String,
        _ reader: StoreReader,
        _ now: Timestamp
    ) throws(StoreError) {
        skeleton = "\(row.skeleton)"
        guard
            case .shown(let shown) = try reader.answers.rebuild(
                row,
                for: .view(of: row.scope),
                now: now,
                isPartial: true
            ),
            case .split(let split) = Splitter(rules).split(shown.answer.bytes, path: path)
        else {
            entities = References(count: 0, items: [])
            return
        }
        entities = References(try reader.answers.shownEntities(of: row)) { entity in
            row.entry.origin.map { origin in
                .init(EntryID(EntityName(entity.key, of: origin)), members: entity.members)
            }
        }
        report = split.report
    }
}

/// What the store says of an entity apart from its value.
private struct EntityFacts: Sendable {
    private let stamp: EntityStamp?
    private let refersTo: References
    private let referencedBy: References

    init(
        _ name: EntityName,
        in place: ScopeKey,
        for viewer: EntitySight,
        _ reader: StoreReader,
        _ now: Timestamp
    ) throws(StoreError) {
        let id = EntryID(name)
        let known = try reader.answers.entity(place, id, for: viewer, now: now, isUse: false)
        var references: [LarderNormalize.Reference] = []
        switch known?.held ?? .unknown {
        case .unknown: stamp = nil
        case .deleted(let told): stamp = told
        case .present(let body, let told): (references, stamp) = (body.references, told)
        }
        refersTo = References(references) { reference in
            .init(
                EntryID(EntityName(reference.key, of: name.origin)),
                members: reference.place.memberNames(nil)
            )
        }
        referencedBy = References(try reader.answers.referrers(place, name)) { referrer in
            .init(referrer.id, members: referrer.place.memberNames(referrer.skeleton))
        }
    }

    func tell(_ explanation: inout EntryExplanation) {
        explanation.form = .entity
        explanation.entities = refersTo
        explanation.referencedBy = referencedBy
        explanation.version = stamp?.version.map { RawJSON($0.value) }
        explanation.fetch = stamp?.fetch
    }
}

extension References {
    fileprivate init<Element>(_ all: [Element], item: (Element) -> LarderAPI.Reference?) {
        let items = all.prefix(Limits.toldReferencesMax).compactMap(item)
        self.init(count: all.count, items: items)
    }
}

extension PendingExplanation {
    /// What modifiers make of a target on a base: each effect is applied once, and what shows is told
    /// on the way; what is left without each is worked out with the steps that this has left over.
    init(
        of target: Target,
        on known: TargetBase,
        _ id: EntryID,
        _ reader: StoreReader,
        _ interest: Interest
    ) throws(StoreError) {
        let changes = target.changes
        let effects = changes.map(\.known)
        let values = TargetValues(known, of: id, effects)
        var run = ViewRun(values.content)
        let base = try ViewReport(run.view, of: known, values, [], reader)
        var room = Limits.explainedViewBytesMax - base.byteCount
        var told: [(place: Int, step: PendingStep)] = []
        var isTruncated = changes.count > Limits.toldPendingMax
        for (place, change) in changes.enumerated() {
            guard !interest.isGivenUp else { break }
            let reason = run.add(effects[place])
            guard place < Limits.toldPendingMax else { continue }
            var step = PendingStep(change.modifier, change.state, effects[place])
            if change.isAnswered { step.answered = true }
            step.inapplicable = reason?.message
            if room > 0 {
                let after = try ViewReport(run.view, of: known, values, changes, reader)
                if after.byteCount <= room { step.after = after }
                room -= after.byteCount
            }
            isTruncated = isTruncated || step.after == nil
            told.append((place, step))
        }
        let view = try ViewReport(run.view, of: known, values, changes, reader)
        room -= view.byteCount
        self.init(pending: changes.count, base: base, view: view)
        var steps = run.stepsLeft
        for index in told.indices where changes.count <= Limits.toldPendingMax {
            guard room > 0, steps > 0, !interest.isGivenUp else { break }
            var others = changes
            others.remove(at: told[index].place)
            let view = View.of(values.content, others.map(\.known), steps: &steps)
            guard !view.isCut else { break }
            let without = try ViewReport(view, of: known, values, others, reader)
            told[index].step.without = without
            room -= without.byteCount
        }
        modifiers = told.map(\.step)
        truncated =
            isTruncated || interest.isGivenUp || told.contains { $0.step.without == nil }
    }

    /// Takes over what shows, and names the modifiers of the entities in it: what each of them makes
    /// is explained of its entity.
    mutating func take(
        _ view: EntryView<Entry?>,
        in scope: ScopeKey,
        _ reader: StoreReader
    ) throws(StoreError) {
        pending = view.overlay.pending.count
        switch view.content {
        case .row: break
        case .made, .deleted:
            self.view = ViewReport(view) { _ in .unknown }
        }
        let known = Set(modifiers.map(\.id))
        let others = view.overlay.pending.prefix(Limits.toldPendingMax)
        for id in others where !known.contains(id.text) {
            guard let change = try reader.targets.firstChange(of: id, in: scope) else { continue }
            let effect = (try? Effect(parsing: change.effect)) ?? .none
            modifiers.append(PendingStep(id.text, change.state, effect))
            truncated = true
        }
    }
}

extension PendingStep {
    fileprivate init(_ id: String, _ state: ModifierState, _ effect: Effect) {
        self.init(id: id, state: .init(rawValue: state.rawValue), effect: effect.typeName)
    }
}

extension ViewReport {
    /// The bytes in a row, where they are JSON that can be told.
    init(_ row: borrowing EntryRow) {
        guard row.entry()?.body.isJSON == true, row.chunkedBody == nil,
            row.byteCount <= Limits.explainedViewBytesMax
        else {
            self = .bytes(row.byteCount)
            return
        }
        self = .json(row.withBody { Array($0) }, isComplete: true)
    }

    /// What a view shows, where its row is told by `Row`.
    init(_ view: EntryView<ViewReport>?) {
        self.init(view) { $0 }
    }

    /// What a view shows, with how a row is told that it shows as it lies.
    init<Row>(_ view: EntryView<Row>?, row: (Row) -> ViewReport) {
        switch view?.content {
        case nil: self = .unknown
        case .row(let shown)?: self = row(shown)
        case .deleted?: self = .deleted
        case .made(let entry, let bytes)?:
            let isComplete = view?.overlay.isComplete != false
            let isTold = entry.body.isJSON && bytes.count <= Limits.explainedViewBytesMax
            self = isTold ? .json(bytes, isComplete: isComplete) : .bytes(bytes.count)
        }
    }

    /// What changes make of a base, in words of the wire.
    init(
        _ view: View,
        of base: TargetBase,
        _ values: TargetValues,
        _ changes: [OpenChange],
        _ reader: StoreReader
    ) throws(StoreError) {
        switch view.content {
        case .unknown: self = .unknown
        case .deleted: self = .deleted
        case .json(let value):
            self = .json(values.bytes(value), isComplete: view.isComplete)
        case .base:
            switch (base, values.content) {
            case (.value(_, let bytes?), _): self = .json(bytes, isComplete: true)
            case (.value(let entry, nil), _): self = .bytes(entry.body.byteCount)
            case (.entity, .json(let value)): self = .json(values.bytes(value), isComplete: true)
            case (.deleted, _), (.entity, .deleted): self = .deleted
            case (.unknown, _), (.entity, _): self = .unknown
            }
        case .body(let place):
            self = .bytes(
                try reader.targets.requestBody(of: changes[place].number)?.bytes.count ?? 0
            )
        }
    }
}
