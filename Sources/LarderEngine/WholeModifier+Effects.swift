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

    /// Whether an effect of it is shown, as far as it fits.
    var showsSomething: Bool {
        changes.contains { change in
            guard let effect = try? Effect(parsing: change.effect) else { return false }
            return effect != .none
        }
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
