package import LarderAPI
import LarderJSON
package import LarderModel
import LarderNormalize
package import LarderStore
import LarderWire

extension Entries {
    /// Explains an entry or an entity; nil if there is none, and no view shows one.
    ///
    /// Its members are those of the view, or of the row if no view shows. When `cancellation` ends, the
    /// work stops.
    package func explain(
        _ id: EntryID,
        _ scope: ScopeKey,
        cancellation: ClientCancellation = ClientCancellation()
    ) async throws(Problem) -> EntryExplanation? {
        let now = clock.now()
        let lookupScopes = context.lookupScopes(scope, id)
        let found = try await context.read { [context] reader throws(StoreError) in
            try EntryReader(context: context, scope: scope, reader: reader, now: now)
                .explanation(of: id, in: lookupScopes, cancellation)
        }
        guard let (told, place) = found else { return nil }
        var explanation = told
        explanation.refreshing = context.refreshes.report(of: id, scope.scope, context)
        let holders = context.followers.holders(of: id, in: place)
        explanation.protectedBy = [
            store.pins.isPinned(place, id) ? "pinned" : nil,
            store.modifiers.isTarget(place, id) ? "targeted" : nil,
            store.protections(place, id) > holders ? "in_flight" : nil,
            holders > 0 ? "followed" : nil,
        ].compactMap { $0 }
        return explanation
    }
}

extension EntryReader {
    /// Reads what is known of an entry, with the scope of its row.
    fileprivate func explanation(
        of id: EntryID,
        in lookupScopes: LookupScopes,
        _ cancellation: ClientCancellation
    ) throws(StoreError) -> (EntryExplanation, place: ScopeKey)? {
        guard !cancellation.isGivenUp else { return nil }
        var look = self
        look.isUse = false
        let target = try reader.targets.target(scope, id)
        let view = try look.view(of: id, in: lookupScopes) { row, _ in row.entry() }
        var row = try listedRow(id, scope, isTarget: target != nil)
        let isOfShared = target.map(\.isOfSharedRow) ?? (row == nil)
        if isOfShared, let shared = lookupScopes.shared,
            !reader.isHidden(id, in: shared, from: scope)
        {
            row = try listedRow(id, shared, isTarget: false)
        }
        let place = row.map { reader.key(for: $0.scope) } ?? scope
        guard var entry = view?.entry ?? row.flatMap({ $0.isBare ? nil : $0.entry }) else {
            return nil
        }
        // A tombstone is made at each read.
        if id.isEntity { entry.storedAt = row?.entry.storedAt ?? entry.storedAt }
        var item = EntryItem(entry, in: row, view?.source ?? .cache, now: now)
        if place.scope == .shared { item.tell(.shared) }
        var explanation = EntryExplanation(item, of: entry, protectedBy: [])
        if let name = id.entity { try explanation.take(name, in: place, look) }
        guard target != nil || view?.overlay.pending.isEmpty != true else {
            return (try formTold(of: entry, in: place, explanation), place)
        }
        look.form = .base
        let base = ViewReport(try look.view(of: id, in: lookupScopes) { row, _ in ViewReport(row) })
        { $0 }
        var told = PendingExplanation(base: base, view: .unknown)
        if let target {
            let known = try look.base(of: target).value
            let document = context.origins.document(id, for: scope.scope.uid)
            told = try PendingExplanation(of: target, on: known, id, document, reader, cancellation)
            told.base = base
        }
        if let view { try told.take(view, in: scope, reader) }
        explanation.pending = told
        // Last, as it may take long: base and the effects are read right after the view.
        return (try formTold(of: entry, in: place, explanation), place)
    }

    /// Adds how an entry is kept; for that, the shown answer is split once more.
    private func formTold(
        of entry: Entry,
        in place: ScopeKey,
        _ explanation: EntryExplanation
    ) throws(StoreError) -> EntryExplanation {
        let (id, origins) = (entry.id, context.origins)
        guard !id.isEntity, let origin = entry.origin, let rules = origins.entityRules[origin],
            let settings = origins[origin]?.settings
        else { return explanation }
        let path = (try? WebURL(id.text)).flatMap { settings.path(of: $0) } ?? "/"
        return try reader.inConsistentSnapshot { () throws(StoreError) in
            var explanation = explanation
            let row = try reader.withEntry(place, id, now: now, isUse: false) { row in
                (row.normalized(in: place), row.chunkedBody, row.withBody { Array($0) })
            }
            switch row {
            case nil: break
            case (let normalized?, _, _)?:
                try explanation.take(normalized, rules, path, reader, now)
            case (nil, .some, _)?:
                explanation.wholeReason = "it is too large to look into here"
            case (nil, nil, let bytes)?: explanation.take(whole: bytes, rules, path)
            }
            return explanation
        }
    }

    private func listedRow(
        _ id: EntryID,
        _ scope: ScopeKey,
        isTarget: Bool
    ) throws(StoreError) -> ListedRow? {
        guard let row = try reader.lists.row(scope, id), row.entry.kind != .variants,
            row.isPinned || isTarget || !row.entry.isExpired(at: now)
        else { return nil }
        return row
    }
}

extension EntryExplanation {
    /// Takes over what the store has about an entity, except its value.
    fileprivate mutating func take(
        _ name: EntityName,
        in place: ScopeKey,
        _ look: EntryReader
    ) throws(StoreError) {
        let (id, answers) = (EntryID(name), look.reader.answers)
        let viewer = EntityLookup.base(of: look.scope)
        let known = try answers.entity(place, id, for: viewer, now: look.now, isUse: false)
        var (references, stamp) = ([LarderNormalize.Reference](), EntityStamp?.none)
        switch known?.held ?? .unknown {
        case .unknown: break
        case .deleted(let told): stamp = told
        case .present(let body, let told): (references, stamp) = (body.references, told)
        }
        form = .entity
        entities = References(references) { reference in
            .init(
                EntryID(EntityName(reference.key, of: name.origin)),
                members: reference.place.memberNames(nil)
            )
        }
        referencedBy = References(try answers.referrers(place, name)) { referrer in
            .init(referrer.id, members: referrer.place.memberNames(referrer.skeleton))
        }
        version = stamp?.version.map { RawJSON($0.value) }
        fetch = stamp?.fetch
    }

    fileprivate mutating func take(whole bytes: [UInt8], _ rules: EntityRules, _ path: String) {
        switch Splitter(rules).split(bytes, path: path) {
        case .whole(let reason, let report):
            wholeReason = reason.message
            take(report)
        case .split(let split):
            wholeReason = "it was stored whole, or its id is kept permanently"
            take(split.report)
        }
    }

    fileprivate mutating func take(
        _ row: NormalizedRow,
        _ rules: EntityRules,
        _ path: String,
        _ reader: StoreReader,
        _ now: Timestamp
    ) throws(StoreError) {
        form = .normalized
        skeleton = "\(row.skeleton)"
        entities = References(count: 0, items: [])
        guard
            case .shown(let shown) = try reader.answers.rebuild(
                row,
                for: .view(of: row.scope),
                now: now,
                isPartial: true
            ),
            case .split(let split) = Splitter(rules).split(shown.answer.bytes, path: path)
        else { return }
        entities = References(try reader.answers.shownEntities(of: row)) { entity in
            row.entry.origin.map { origin in
                .init(EntryID(EntityName(entity.key, of: origin)), members: entity.members)
            }
        }
        take(split.report)
    }

    private mutating func take(_ report: SplitReport) {
        keyless = Keyless(count: report.keylessCount, sample: report.keylessSample?.text)
        repeated = report.repeatedCount
    }
}

extension References {
    fileprivate init<Element>(_ all: [Element], item: (Element) -> LarderAPI.Reference?) {
        let items = all.prefix(Limits.toldReferencesMax).compactMap(item)
        self.init(count: all.count, items: items)
    }
}

extension PendingExplanation {
    /// Applies each effect of a target once, and reports the view after each.
    ///
    /// The views without each single modifier are computed with the steps that this leaves over.
    init(
        of target: Target,
        on known: TargetBase,
        _ id: EntryID,
        _ document: DocumentRules?,
        _ reader: StoreReader,
        _ cancellation: ClientCancellation
    ) throws(StoreError) {
        let changes = target.changes
        let effects = changes.map(\.known)
        let values = TargetValues(known, of: id, effects, document)
        var run = values.run()
        let base = try ViewReport(run.view, of: known, values, [], reader)
        var room = Limits.explainedViewBytesMax - base.byteCount
        var told: [(place: Int, step: PendingStep)] = []
        var isTruncated = changes.count > Limits.toldPendingMax
        for (place, change) in changes.enumerated() {
            guard !cancellation.isGivenUp else { break }
            let effect = effects[place]
            let reason = run.add(
                run.stepsLeft > 0 ? values.resolved(effect, on: run.content) : effect
            )
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
            guard room > 0, steps > 0, !cancellation.isGivenUp else { break }
            var others = changes
            others.remove(at: told[index].place)
            let view = values.view(others.map(\.known), steps: &steps)
            guard !view.isCut else { break }
            let without = try ViewReport(view, of: known, values, others, reader)
            told[index].step.without = without
            room -= without.byteCount
        }
        modifiers = told.map(\.step)
        truncated =
            isTruncated || cancellation.isGivenUp || told.contains { $0.step.without == nil }
    }

    /// Takes over the view, and names the modifiers of the entities in it.
    ///
    /// The explanation of each entity tells what each of its modifiers does.
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
        let effects: [Effect] = if case .all(let effects) = effect { effects } else { [effect] }
        let names = effects.map(\.typeName).joined(separator: ", ")
        self.init(id: id, state: .init(rawValue: state.rawValue), effect: names)
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
        self = .json(row.withBody { Array($0) }, isComplete: row.isComplete)
    }

    /// Reports a view; `row` reports an unchanged row.
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
            case (.value(_, let bytes?), _): self = .json(bytes, isComplete: view.isComplete)
            case (.value(let entry, nil), _): self = .bytes(entry.body.byteCount)
            case (.entity, .json(let value)):
                self = .json(values.bytes(value), isComplete: view.isComplete)
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
