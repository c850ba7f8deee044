import LarderModel

/// View of a target: base plus the effects of its unsettled modifiers, in their order.
///
/// The view is computed at each read from base, and never stored.
package struct View: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        /// Nothing is known, and nothing shows: a miss.
        case unknown
        case deleted
        /// Base with its own bytes: no effect changed its value, or made a part complete.
        case base
        case json(JSONValue)
        /// The body of the request of the modifier at this place.
        case body(of: Int)
    }

    /// An effect that is left out of the view, and why.
    package struct LeftOut: Equatable, Sendable {
        /// Index of the effect, counted from 0.
        package let place: Int
        package let reason: Inapplicability
    }

    package let content: Content
    /// Whether the content is all of the target, and not only what effects said of it.
    package let isComplete: Bool
    package let leftOut: [LeftOut]
    /// Whether the view differs from base.
    package let isChanged: Bool

    /// Applies the effects in their order.
    ///
    /// An effect is left out if it does not fit, or if the view has used all its steps.
    package static func of(_ base: TargetContent, _ effects: some Sequence<Effect>) -> View {
        var steps = Limits.viewStepsMax
        return of(base, effects, steps: &steps)
    }

    /// Takes what it needs from `steps`, which may be those of several views.
    ///
    /// With `isPart`, base is only a part of the target.
    package static func of(
        _ base: TargetContent,
        _ effects: some Sequence<Effect>,
        isPart: Bool = false,
        steps: inout Int
    ) -> View {
        var run = ViewRun(base, isPart: isPart, steps: steps)
        for effect in effects { run.add(effect) }
        steps = run.stepsLeft
        return run.view
    }

    /// Whether the steps did not suffice for all that would fit.
    package var isCut: Bool { leftOut.contains { $0.reason.cause == .tooMuchWork } }

    /// Whether base shows already what the effects make of it.
    package var isInPlace: Bool { !isChanged && leftOut.isEmpty && content != .unknown }
}

/// State of a target for the next effect: base, or the result of the effects before.
package enum TargetContent: Equatable, Sendable {
    /// The target is not in the cache, and no effect gave it a value.
    case unknown
    /// The origin or an effect has deleted the target.
    case deleted
    case json(JSONValue)
    /// Bytes that are not JSON; the store keeps them.
    case opaque
}
