import LarderJSON
package import LarderModel

/// What unsettled modifiers make of an entry, one after the other.
package struct PendingExplanation: Equatable, Sendable {
    /// One of them, and what is shown as far as it.
    package struct Step: Equatable, Sendable {
        package var id: ModifierID
        package var state: ModifierState
        /// The name of its effect's type.
        package var effect: String
        /// Why it is left out of the view; nil where it is not.
        package var inapplicable: String?
        /// What base, those before it and it make; nil where that is too much to tell.
        package var after: ViewReport?
        /// What would be shown without it, so what taking it back restores; nil where that is too
        /// much to tell.
        package var without: ViewReport?

        package init(id: ModifierID, state: ModifierState, effect: String) {
            self.id = id
            self.state = state
            self.effect = effect
        }
    }

    /// How many there are.
    package var count: Int
    /// What the origin said last.
    package var base: ViewReport
    /// What is shown.
    package var view: ViewReport
    /// The first ``Limits/toldPendingMax`` of them, in their order.
    package var steps: [Step] = []
    /// Whether less is told than there is: of the modifiers, or of what they make.
    package var isTruncated = false

    package init(count: Int, base: ViewReport, view: ViewReport) {
        self.count = count
        self.base = base
        self.view = view
    }

    /// About how long its JSON is.
    var byteCount: Int {
        let views = steps.flatMap { [$0.after, $0.without] }.compactMap { $0 }
        return views.reduce(base.byteCount + view.byteCount) { $0 + $1.byteCount }
    }

    func write(to json: inout JSONWriter) {
        json.member("pending", count)
        json.name("base")
        base.write(to: &json)
        json.name("view")
        view.write(to: &json)
        json.name("modifiers")
        json.beginArray()
        for step in steps { json.object { step.write(to: &$0) } }
        json.endArray()
        json.member("truncated", isTruncated)
    }

    /// Nil where there are none.
    init?(_ object: WireObject) throws(WireError) {
        guard let base = try object.optionalObject("base"),
            let view = try object.optionalObject("view")
        else { return nil }
        self.init(
            count: try object.integer("pending"),
            base: try ViewReport(base),
            view: try ViewReport(view)
        )
        for step in try object.objects("modifiers") { steps.append(try Step(step)) }
        isTruncated = try object.bool("truncated")
    }

    static func writeNone(to json: inout JSONWriter) {
        json.member("pending", 0)
        json.member("base", nil as String?)
        json.member("view", nil as String?)
        json.member("modifiers", [String]())
        json.member("truncated", false)
    }
}

extension PendingExplanation.Step {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id.text)
        json.member("state", state.rawValue)
        json.member("effect", effect)
        json.member("inapplicable", inapplicable)
        for (name, view) in [("after", after), ("without", without)] {
            json.name(name)
            if let view { view.write(to: &json) } else { json.null() }
        }
    }

    fileprivate init(_ object: WireObject) throws(WireError) {
        self.init(
            id: try object.required("id") { try? ModifierID($0) },
            state: try object.required("state") { ModifierState(rawValue: $0) },
            effect: try object.string("effect")
        )
        inapplicable = try object.optionalString("inapplicable")
        if let view = try object.optionalObject("after") { after = try ViewReport(view) }
        if let view = try object.optionalObject("without") { without = try ViewReport(view) }
    }
}
