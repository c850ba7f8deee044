import LarderJSON

/// Result of one effect on a target, as the view with it alone tells it.
enum EffectOutcome: Equatable {
    /// The value after it; `isComplete` is false where nothing else is known.
    case json(JSONValue, isComplete: Bool)
    /// The body of the modifier's request.
    case body
    case deleted
    /// The value already was as the effect says: the bytes stay.
    case unchanged
    case inapplicable(Inapplicability)
}

extension Effect {
    func applied(to content: TargetContent) -> EffectOutcome {
        let view = View.of(content, [self])
        if let leftOut = view.leftOut.first { return .inapplicable(leftOut.reason) }
        switch view.content {
        case .unknown, .base: return .unchanged
        case .json(let value): return .json(value, isComplete: view.isComplete)
        case .deleted: return view.isChanged ? .deleted : .unchanged
        case .body: return .body
        }
    }
}
