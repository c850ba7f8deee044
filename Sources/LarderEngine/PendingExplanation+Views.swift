import LarderJSON
import LarderModel
import LarderStore
import LarderWire

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
        var told: [(place: Int, step: Step)] = []
        var isTruncated = changes.count > Limits.toldPendingMax
        for (place, change) in changes.enumerated() {
            guard !interest.isGivenUp else { break }
            let reason = run.add(effects[place])
            guard place < Limits.toldPendingMax, let id = try? ModifierID(change.modifier) else {
                continue
            }
            var step = Step(id: id, state: change.state, effect: effects[place].typeName)
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
        self.init(count: changes.count, base: base, view: view)
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
        self.steps = told.map(\.step)
        self.isTruncated =
            isTruncated || interest.isGivenUp || told.contains { $0.step.without == nil }
    }

    /// Takes over what shows, and names the modifiers of the entities in it: what each of them makes
    /// is explained of its entity.
    mutating func take(
        _ view: EntryView<Entry?>,
        in scope: ScopeKey,
        _ reader: StoreReader
    ) throws(StoreError) {
        count = view.overlay.pending.count
        switch view.content {
        case .row: break
        case .made, .deleted:
            self.view = ViewReport(view) { _ in .unknown }
        }
        let known = Set(steps.map(\.id))
        for id in view.overlay.pending.prefix(Limits.toldPendingMax) where !known.contains(id) {
            guard let change = try reader.targets.firstChange(of: id, in: scope) else { continue }
            let effect = (try? Effect(parsing: change.effect)) ?? .none
            steps.append(Step(id: id, state: change.state, effect: effect.typeName))
            isTruncated = true
        }
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
