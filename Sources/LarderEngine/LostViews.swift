import LarderJSON
import LarderModel
import LarderStore

/// What a dead letter changed: each target's view with it alone on base, and base without it.
struct LostViews: Sendable {
    private let effects: [EntryID: Effect]

    init(_ whole: WholeModifier) {
        var effects: [EntryID: Effect] = [:]
        for change in whole.changes { effects[change.id] = try? Effect(parsing: change.effect) }
        self.effects = effects
    }

    /// The values as JSON; nil where it is nothing, or no JSON.
    @Sendable func view(_ id: EntryID, _ base: KeptBase) -> LostView {
        let content = TargetContent(base)
        var view = LostView()
        if case .json(let value) = content { view.after = Self.bytes(value) }
        switch (effects[id] ?? .none).applied(to: content) {
        case .json(let value, _): view.before = Self.bytes(value)
        case .unchanged, .inapplicable: view.before = view.after
        case .body, .deleted: break
        }
        return view
    }

    private static func bytes(_ value: JSONValue) -> [UInt8] {
        var json = JSONWriter()
        json.value(value)
        return json.bytes
    }
}
