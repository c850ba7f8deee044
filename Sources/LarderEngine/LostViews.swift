import LarderJSON
import LarderModel
import LarderStore

/// What a dead letter changed: base of each target without it, and its view with it alone on base.
struct LostViews: Sendable {
    private let effects: [EntryID: Effect]

    init(_ whole: WholeModifier) {
        var effects: [EntryID: Effect] = [:]
        for change in whole.changes { effects[change.id] = try? Effect(parsing: change.effect) }
        self.effects = effects
    }

    /// The values as JSON; nil where it is nothing, or no JSON.
    @Sendable func view(_ id: EntryID, _ base: TargetBase) -> LostView {
        let effect = effects[id] ?? .none
        let values = TargetValues(base, of: id, [effect])
        var view = LostView()
        if case .json(let value) = values.content { view.before = values.bytes(value) }
        switch effect.applied(to: values.content) {
        case .json(let value, _): view.after = values.bytes(value)
        case .unchanged, .inapplicable: view.after = view.before
        case .body, .deleted: break
        }
        return view
    }
}
