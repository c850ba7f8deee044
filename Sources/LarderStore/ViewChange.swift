package import LarderModel
package import LarderNormalize

/// A change of a target's view, as watchers hear of it.
package enum ViewChange: Equatable, Sendable {
    /// Something else shows than before.
    case put
    /// The view is deleted, or nothing is known any more.
    case delete

    /// Compares the view of a target other than an entity before and after a step; nil if it is the
    /// same.
    ///
    /// The arguments are base and unsettled changes of both moments, what the rules say of the
    /// target, and a way to the bytes of the requests of these modifiers. It is called on the writer's thread, in the transaction of the
    /// step.
    package typealias Comparison =
        @Sendable (Target, Target, DocumentRules?, (ModifierNumber) -> [UInt8]?) -> ViewChange?
}

/// A target before a step that changes its base, or which modifiers it has.
struct ViewBefore {
    let name: TargetName
    var target: Target?
}

extension Target {
    /// The entity's view; `body` gives the bytes of a modifier's request.
    func entityView(
        _ document: DocumentRules?,
        _ body: (ModifierNumber) -> [UInt8]?
    ) -> EntityView {
        var steps = Limits.viewStepsMax
        return entityView(document, steps: &steps, body)
    }

    func entityView(
        _ document: DocumentRules?,
        steps: inout Int,
        _ body: (ModifierNumber) -> [UInt8]?
    ) -> EntityView {
        let effects = changes.map(\.effect)
        return EntityView(
            base.held,
            stored: effects,
            document,
            isPart: base.isPart,
            steps: &steps
        ) {
            body(changes[$0].number)
        }
    }
}
