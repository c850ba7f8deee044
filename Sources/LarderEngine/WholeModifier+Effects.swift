import LarderJSON
import LarderModel
import LarderStore

extension WholeModifier {
    /// What it does to each of its targets, apart from nothing; nil where that cannot be read.
    var effects: [EntryID: [Effect]]? {
        var effects: [EntryID: [Effect]] = [:]
        for change in changes {
            guard let effect = try? Effect(parsing: change.effect) else { return nil }
            if effect != .none { effects[change.id, default: []].append(effect) }
        }
        return effects
    }

    /// What it does to one of its targets; nil where that cannot be read.
    func effect(on id: EntryID) -> Effect? {
        changes.last { $0.id == id }.flatMap { try? Effect(parsing: $0.effect) }
    }

    /// Whether an effect of it is shown, as far as it fits.
    var showsSomething: Bool {
        changes.contains { (try? Effect(parsing: $0.effect)).map { $0 != .none } ?? false }
    }

    /// What a dead letter changed: base of a target without it, and its view with it alone on base,
    /// as JSON; nil where that is nothing, or no JSON.
    @Sendable func lostView(_ id: EntryID, _ base: TargetBase) -> LostView {
        let effect = effect(on: id) ?? .none
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

extension [EntryID: [Effect]] {
    /// Whether they do something, and all of it is so in what the targets are: with what `later`
    /// ones do after them they leave each of them as it is.
    func areShown(in content: (EntryID) -> TargetContent, before later: Self = [:]) -> Bool {
        !isEmpty
            && allSatisfy { id, effects in
                let view = View.of(content(id), effects + (later[id] ?? []))
                return !view.isChanged && view.leftOut.isEmpty && view.content != .unknown
            }
    }
}
