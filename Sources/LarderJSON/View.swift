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

    /// Applies the effects in their order, leaving out those that do not fit.
    package static func of(_ base: TargetContent, _ effects: some Sequence<Effect>) -> View {
        var fold = EffectFold(base)
        var leftOut: [LeftOut] = []
        var body: Int?
        for (place, effect) in effects.enumerated() {
            do throws(Inapplicability) {
                try fold.apply(effect)
                if case .replace = effect { body = place }
            } catch {
                leftOut.append(LeftOut(place: place, reason: error))
            }
        }
        let (content, isChanged) = content(fold.content, on: base, body: body)
        return View(
            content: content,
            isComplete: fold.isComplete,
            leftOut: leftOut,
            isChanged: isChanged
        )
    }

    private static func content(
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
