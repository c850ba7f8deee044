import LarderModel

/// What a target shows: base plus the effects of its unsettled modifiers, in their order.
///
/// It is computed at each read, from what the server said last, and never stored as truth.
package struct View: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        /// Nothing is known, and nothing shows: a miss.
        case unknown
        case deleted
        /// Base as it is, with its own bytes: no effect changed what it says.
        case base
        case json(JSONValue)
        /// The body of the request of the modifier at this place.
        case body(of: Int)
    }

    /// An effect that shows nowhere, and why.
    package struct LeftOut: Equatable, Sendable {
        /// Its place among the effects, counted from 0.
        package let place: Int
        package let reason: Inapplicability

        package init(place: Int, reason: Inapplicability) {
            self.place = place
            self.reason = reason
        }
    }

    package let content: Content
    /// Whether the content is all of the target, and not only what effects said of it.
    package let isComplete: Bool
    package let leftOut: [LeftOut]
    /// Whether it says anything else than base does.
    package let isChanged: Bool

    /// Applies the effects in their order, leaving out those that do not fit, and those for which
    /// the steps do not suffice that a view may take.
    package static func of(_ base: TargetContent, _ effects: some Sequence<Effect>) -> View {
        var steps = Limits.viewStepsMax
        return of(base, effects, steps: &steps)
    }

    /// Takes what it needs from `steps`, which may be those of several views.
    package static func of(
        _ base: TargetContent,
        _ effects: some Sequence<Effect>,
        steps: inout Int
    ) -> View {
        var run = ViewRun(base, steps: steps)
        for effect in effects { run.add(effect) }
        steps = run.stepsLeft
        return run.view
    }

    /// Whether the steps did not suffice for all that would fit.
    package var isCut: Bool { leftOut.contains { $0.reason.cause == .tooMuchWork } }
}

/// A view while effects come to it one after the other.
package struct ViewRun {
    private let base: TargetContent
    private var fold: EffectFold
    private var count = 0
    private var body: Int?
    private var leftOut: [View.LeftOut] = []

    /// The steps are what all effects together may take.
    package init(_ base: TargetContent, steps: Int = Limits.viewStepsMax) {
        self.base = base
        fold = EffectFold(base, steps: steps)
    }

    package var stepsLeft: Int { fold.stepsLeft }

    /// Why it is left out; nil where it is not.
    @discardableResult
    package mutating func add(_ effect: Effect) -> Inapplicability? {
        defer { count += 1 }
        do throws(Inapplicability) {
            try fold.apply(effect)
            if case .replace = effect { body = count }
            return nil
        } catch {
            leftOut.append(View.LeftOut(place: count, reason: error))
            return error
        }
    }

    /// What is shown as far as they have come.
    package var view: View {
        let (content, isChanged) = View.content(fold.content, on: base, body: body)
        return View(
            content: content,
            isComplete: fold.isComplete,
            leftOut: leftOut,
            isChanged: isChanged
        )
    }
}

extension View {
    fileprivate static func content(
        _ content: TargetContent,
        on base: TargetContent,
        body: Int?
    ) -> (Content, isChanged: Bool) {
        switch (base, content) {
        case (_, .unknown): (.unknown, false)
        case (.deleted, .deleted): (.deleted, false)
        case (_, .deleted): (.deleted, true)
        case (.json(let before), .json(let after)) where after.isSame(as: before): (.base, false)
        case (_, .json(let after)): (.json(after), true)
        case (_, .opaque): body.map { (.body(of: $0), true) } ?? (.base, false)
        }
    }
}
