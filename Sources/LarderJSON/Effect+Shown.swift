package import LarderModel

extension Effect {
    /// Whether what it makes of a base that has it already is wrong.
    package var counts: Bool {
        switch self {
        case .patch, .add: true
        case .all(let effects): effects.contains(where: \.counts)
        case _: false
        }
    }
}

extension TargetContent {
    package var json: JSONValue? { if case .json(let value) = self { value } else { nil } }
}

extension [EntryID: [Effect]] {
    /// Whether they do something, and all of it is so in what the targets are: with what `later`
    /// ones do after them they leave each of them as it is.
    ///
    /// `view` applies effects to a target.
    package func areShown(
        in content: (EntryID) -> TargetContent,
        before later: Self = [:],
        view: (EntryID, TargetContent, [Effect]) -> View = { View.of($1, $2) }
    ) -> Bool {
        !isEmpty
            && allSatisfy { id, effects in
                let view = view(id, content(id), effects + (later[id] ?? []))
                return !view.isChanged && view.leftOut.isEmpty && view.content != .unknown
            }
    }
}
