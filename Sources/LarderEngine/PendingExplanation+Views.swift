import LarderJSON
import LarderModel
import LarderStore
import LarderWire

extension PendingExplanation {
    /// What modifiers make of a target: each effect is applied once, and what shows is told on the
    /// way; what is left without each is worked out with the steps that this has left over.
    init(
        of target: Target,
        _ id: EntryID,
        _ reader: StoreReader,
        _ interest: Interest
    ) throws(StoreError) {
        let changes = target.changes
        let effects = changes.map(\.known)
        let values = TargetValues(target.base, of: id, effects)
        var run = ViewRun(values.content)
        let base = try ViewReport(run.view, of: target, values, [], reader)
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
                let after = try ViewReport(run.view, of: target, values, changes, reader)
                if after.byteCount <= room { step.after = after }
                room -= after.byteCount
            }
            isTruncated = isTruncated || step.after == nil
            told.append((place, step))
        }
        let view = try ViewReport(run.view, of: target, values, changes, reader)
        room -= view.byteCount
        self.init(count: changes.count, base: base, view: view)
        var steps = run.stepsLeft
        for index in told.indices where changes.count <= Limits.toldPendingMax {
            guard room > 0, steps > 0, !interest.isGivenUp else { break }
            var others = changes
            others.remove(at: told[index].place)
            let view = View.of(values.content, others.map(\.known), steps: &steps)
            guard !view.isCut else { break }
            let without = try ViewReport(view, of: target, values, others, reader)
            told[index].step.without = without
            room -= without.byteCount
        }
        self.steps = told.map(\.step)
        self.isTruncated =
            isTruncated || interest.isGivenUp || told.contains { $0.step.without == nil }
    }
}

extension ViewReport {
    /// What changes make of a target, in words of the wire.
    init(
        _ view: View,
        of target: Target,
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
            switch target.base {
            case .unknown: self = .unknown
            case .deleted: self = .deleted
            case .value(_, let bytes?): self = .json(bytes, isComplete: true)
            case .value(let entry, nil): self = .bytes(entry.body.byteCount)
            case .entity:
                guard case .json(let value) = values.content else {
                    self = values.content == .deleted ? .deleted : .unknown
                    return
                }
                self = .json(values.bytes(value), isComplete: true)
            }
        case .body(let place):
            self = .bytes(try reader.requestBody(of: changes[place].number)?.bytes.count ?? 0)
        }
    }
}
