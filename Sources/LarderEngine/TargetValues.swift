import LarderJSON
package import LarderModel
package import LarderNormalize
package import LarderStore

/// A target's base as effects are applied to it, and what they make of it as it is told.
struct TargetValues {
    let content: TargetContent
    /// The value of an entity; in `content`, references have a form that effects cannot name.
    private let entity: EntityValue?
    private let document: DocumentRules?
    private let isPart: Bool

    /// `effects` are all that are to be applied; `document` is what the rules say of the target.
    init(
        _ base: TargetBase,
        of id: EntryID,
        _ effects: [Effect],
        _ document: DocumentRules? = nil
    ) {
        self.document = document
        isPart = base.isPart
        guard id.isEntity, let values = base.held.values(for: effects, document) else {
            content = TargetContent(base)
            entity = nil
            return
        }
        (entity, content) = values
    }

    /// An effect as it is applied to what the target is after others, with the objects in it as they
    /// were written.
    func resolved(_ effect: Effect, on content: TargetContent) -> Effect {
        if let entity { return entity.marked(effect) }
        return document?.resolved(effect, on: content) { $0.object } ?? effect
    }

    /// The view of it before any effect.
    func run(steps: Int = Limits.viewStepsMax) -> ViewRun {
        ViewRun(content, isPart: isPart, steps: steps, form: document?.form)
    }

    /// The view of it; takes what it needs from `steps`.
    func view(_ effects: [Effect], steps: inout Int) -> View {
        var run = run(steps: steps)
        for effect in effects {
            run.add(run.stepsLeft > 0 ? resolved(effect, on: run.content) : effect)
        }
        steps = run.stepsLeft
        return run.view
    }

    func view(_ effects: [Effect]) -> View {
        var steps = Limits.viewStepsMax
        return view(effects, steps: &steps)
    }

    var told: TargetContent {
        guard case .json(let value) = content else { return content }
        return .json(entity?.told(value) ?? value)
    }

    /// A value as it is told: the key stands for each reference.
    func bytes(_ value: JSONValue) -> [UInt8] { (entity?.told(value) ?? value).bytes }

    /// The entity that a value is which effects have made; nil where it is none.
    func body(_ value: JSONValue) -> EntityBody? {
        entity?.body(value)
    }
}

extension TargetContent {
    /// An entity as it is told, in the form that effects are applied to.
    init(told held: HeldEntity, _ effects: [Effect]) {
        guard let (entity, content) = held.values(for: effects) else {
            self = .unknown
            return
        }
        self = content
        if case .json(let value) = content { self = .json(entity.told(value)) }
    }

    /// For an entity, the value by which it is compared.
    init(_ base: TargetBase) {
        switch base {
        case .unknown: self = .unknown
        case .deleted: self = .deleted
        case .value(_, let bytes):
            let value = bytes.flatMap { try? JSONValue(parsing: $0) }
            self = value.map { .json($0) } ?? .opaque
        case .entity(_, let held):
            self = held.values(for: [])?.content ?? .unknown
        }
    }
}

extension TargetBase {
    var isKnown: Bool {
        if case .unknown = self { false } else { true }
    }

    var entry: Entry? {
        switch self {
        case .unknown, .deleted, .entity(_, .deleted), .entity(_, .unknown): nil
        case .value(let entry, _), .entity(let entry, .present): entry
        }
    }

    /// Whether a read was stored after an answer came, at a moment and with a number.
    ///
    /// A read in flight then is not stored, so this one started later.
    func wasRead(since moment: Timestamp, _ number: Revision?) -> Bool {
        switch self {
        case .unknown: false
        case .deleted(let row), .value(let row, _), .entity(let row, _):
            row.storedAt > moment
                || row.storedAt == moment && number.map { row.revision > $0 } ?? false
        }
    }

    /// Summary of the base, to tell whether it still says the same; for an entity, without its
    /// stamp.
    var serverValue: BodySummary? {
        guard case .entity(_, .present(let body, _)) = self else { return entry?.body }
        return BodySummary(of: body.bytes, isJSON: false)
    }

    var isJSON: Bool {
        if case .entity = self { true } else { entry?.body.isJSON ?? false }
    }
}

extension SentBases {
    /// Notes base by its value for effects that count on it.
    package static var byValue: SentBases {
        var bases = SentBases()
        bases.areWanted = { (try? Effect(parsing: $0))?.counts ?? false }
        bases.mark = { $0.mark }
        bases.touched = { TouchedMembers(stored: $0) }
        return bases
    }
}

extension TargetBase {
    /// Stands for its value, in whatever spelling; empty if nothing is known.
    var mark: [UInt8] {
        switch TargetContent(self) {
        case .unknown: []
        case .deleted: [0]
        case .json(let value):
            BodySummary(of: value.canonicalBytes, isJSON: false).digest.text.utf8.map { $0 }
        case .opaque: [1] + (serverValue?.digest.text.utf8.map { $0 } ?? [])
        }
    }
}

extension WholeModifier {
    /// Whether no read has changed a target's base since the first send step of the round.
    func isSent(on base: TargetBase, _ id: EntryID) -> Bool {
        changes.last { $0.id == id }?.sent == base.mark
    }
}

package enum TargetViews {
    /// A ``ViewChange/Comparison``: JSON is compared by value, other bytes by their digest.
    package static func change(
        _ before: Target,
        _ after: Target,
        _ document: DocumentRules?,
        _ body: (ModifierNumber) -> [UInt8]?
    ) -> ViewChange? {
        let base = TargetContent(before.base)
        let isSameBase =
            before.entry?.body == after.entry?.body && before.isDeleted == after.isDeleted
        if isSameBase, before.changes.isEmpty {
            // The view before is base, and the view after tells itself whether it differs from it.
            let view = after.view(on: base, document)
            switch view.content {
            case .unknown, .base: return nil
            case .deleted: return view.isChanged ? .delete : nil
            case .json: return .put
            case .body: break
            }
        }
        let old = before.shown(on: base, document, body)
        let new = after.shown(on: isSameBase ? base : TargetContent(after.base), document, body)
        switch (old.content, new.content) {
        case (.unknown, .unknown), (.deleted, .deleted): return nil
        case (.json(let old), .json(let new)) where old.isSame(as: new): return nil
        case (.opaque, .opaque) where old.bytes == new.bytes: return nil
        case (_, .unknown), (_, .deleted): return .delete
        case (_, .json), (_, .opaque): return .put
        }
    }
}

extension Target {
    func view(on base: TargetContent, _ document: DocumentRules?) -> View {
        let effects = changes.map(\.known)
        return document?.view(of: base, effects) ?? View.of(base, effects)
    }

    /// The content of the view with all changes, and the digest of bytes that are not JSON.
    func shown(
        on base: TargetContent,
        _ document: DocumentRules?,
        _ body: (ModifierNumber) -> [UInt8]?
    ) -> (content: TargetContent, bytes: Digest?) {
        switch view(on: base, document).content {
        case .unknown: return (.unknown, nil)
        case .deleted: return (.deleted, nil)
        case .json(let value): return (.json(value), nil)
        case .base: return (base, entry?.body.digest)
        case .body(let place):
            let bytes = body(changes[place].number) ?? []
            return (.opaque, BodySummary(of: bytes, isJSON: false).digest)
        }
    }
}

extension WholeModifier {
    /// Effects on each target that the program names, without those that change nothing; nil if one
    /// cannot be read.
    var effects: [EntryID: [Effect]]? {
        var effects: [EntryID: [Effect]] = [:]
        for change in changes where !change.isImplied {
            guard let effect = try? Effect(parsing: change.effect) else { return nil }
            if effect != .none { effects[change.id, default: []].append(effect) }
        }
        return effects
    }

    /// Targets on which there is an effect, also those that only an effect on another one names.
    var changedTargets: Set<EntryID> {
        let changed = changes.filter { change in
            (try? Effect(parsing: change.effect)).map { $0 != .none } ?? false
        }
        return Set(changed.map(\.id))
    }

    /// The effect on one target; nil if it cannot be read.
    func effect(on id: EntryID) -> Effect? {
        changes.last { $0.id == id }.flatMap { try? Effect(parsing: $0.effect) }
    }

    /// The change of a dead letter, as JSON: base of a target, and the view of it with only this
    /// modifier.
    ///
    /// Either is nil if there is no value, or if it is not JSON.
    func lostView(_ id: EntryID, _ base: TargetBase, _ document: DocumentRules?) -> LostView {
        let effect = effect(on: id) ?? .none
        let values = TargetValues(base, of: id, [effect], document)
        var view = LostView()
        if case .json(let value) = values.content { view.before = values.bytes(value) }
        switch values.view([effect]).content {
        case .json(let value): view.after = values.bytes(value)
        case .unknown, .base: view.after = view.before
        case .body, .deleted: break
        }
        return view
    }
}
