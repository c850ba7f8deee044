import LarderModel

/// A view while effects come to it one after the other.
package struct ViewRun {
    private let base: TargetContent
    /// Whether base is known and is all of the target.
    private let isBaseComplete: Bool
    /// The target after the effects so far.
    package private(set) var content: TargetContent
    /// Whether the content is all of the target and not only what effects said of it.
    private var isComplete: Bool
    private var budget: EffectBudget
    /// The value that effects change where nothing is known.
    private let form: JSONValue?
    private var count = 0
    private var body: Int?
    private var leftOut: [View.LeftOut] = []

    /// The steps are what all effects together may take; `form` is what an unknown base starts
    /// from.
    package init(
        _ base: TargetContent,
        isPart: Bool = false,
        steps: Int = Limits.viewStepsMax,
        form: JSONValue? = nil
    ) {
        self.base = base
        content = base
        self.form = form
        budget = EffectBudget(steps: steps)
        isBaseComplete = base != .unknown && !isPart
        isComplete = isBaseComplete
    }

    package var stepsLeft: Int { max(0, budget.steps) }

    /// Shows another value in place of the one that the effects have made.
    package mutating func show(_ value: JSONValue) { content = .json(value) }

    /// Adds an effect; returns the reason if it is left out.
    ///
    /// An effect that is left out has changed nothing but the steps that are left.
    @discardableResult
    package mutating func add(_ effect: Effect) -> Inapplicability? {
        defer { count += 1 }
        let before = budget
        do throws(Inapplicability) {
            try change(by: effect)
            if case .replace = effect { body = count }
            return nil
        } catch {
            budget.leaveOut(since: before)
            leftOut.append(View.LeftOut(place: count, reason: error))
            return error
        }
    }

    /// View after the effects so far.
    package var view: View {
        let (shown, isChanged): (View.Content, Bool) =
            switch (base, content) {
            case (_, .unknown): (.unknown, false)
            case (.deleted, .deleted): (.deleted, false)
            case (_, .deleted): (.deleted, true)
            case (.json(let before), .json(let after))
            where after.isSame(as: before) && isComplete == isBaseComplete:
                (.base, false)
            case (_, .json(let after)): (.json(after), true)
            case (_, .opaque): body.map { (.body(of: $0), true) } ?? (.base, false)
            }
        return View(
            content: shown,
            isComplete: isComplete,
            leftOut: leftOut,
            isChanged: isChanged
        )
    }

    private mutating func change(by effect: Effect) throws(Inapplicability) {
        switch effect {
        case .none: return
        case .all(let effects):
            let before = (content, isComplete)
            do throws(Inapplicability) {
                for effect in effects { try change(by: effect) }
            } catch {
                (content, isComplete) = before
                throw error
            }
        case .replace: become(.opaque)
        case .put(let value):
            try located(nil) { () throws(Inapplicability.Cause) in
                try budget.begin(on: nil)
                try budget.admit(value, below: 0)
            }
            become(.json(value))
        case .delete:
            if case .unknown = content { throw Inapplicability(.unknownTarget) }
            become(.deleted)
        case .merge(let patch):
            let isWhole = patch.members == nil
            try changeValue(isWhole: isWhole, onUnknown: .object([])) {
                (value, budget) throws(Inapplicability) in
                try located(nil) { () throws(Inapplicability.Cause) in
                    try JSONMerge.apply(patch, to: &value, &budget)
                }
            }
        case .set(let assignments, let unset):
            let isWhole = assignments.contains { $0.pointer == .whole }
            try changeValue(isWhole: isWhole, onUnknown: .object([])) {
                (value, budget) throws(Inapplicability) in
                try Self.set(assignments, unset, in: &value, &budget)
            }
        case .patch(let operations):
            try changeValue { (value, budget) throws(Inapplicability) in
                try operations.apply(to: &value, &budget)
            }
        case .add(let additions):
            try changeValue { (value, budget) throws(Inapplicability) in
                for addition in additions {
                    try located(addition.pointer) { () throws(Inapplicability.Cause) in
                        try addition.apply(to: &value, &budget)
                    }
                }
            }
        case .listAdd(let changes):
            let isPartial = !isComplete
            try changeValue { (value, budget) throws(Inapplicability) in
                for change in changes {
                    try located(change.pointer) { () throws(Inapplicability.Cause) in
                        try change.add(to: &value, isPartial: isPartial, &budget)
                    }
                }
            }
        case .listRemove(let changes):
            try changeValue { (value, budget) throws(Inapplicability) in
                for change in changes {
                    try located(change.pointer) { () throws(Inapplicability.Cause) in
                        try change.remove(from: &value, &budget)
                    }
                }
            }
        }
    }

    private static func set(
        _ assignments: [JSONAssignment],
        _ unset: [JSONPointer],
        in value: inout JSONValue,
        _ budget: inout EffectBudget
    ) throws(Inapplicability) {
        for pointer in unset {
            try located(pointer) { () throws(Inapplicability.Cause) in
                try value.unset(pointer, &budget)
            }
        }
        for assignment in assignments {
            let pointer = assignment.pointer
            try located(pointer) { () throws(Inapplicability.Cause) in
                try budget.admit(names: pointer.tokens)
                try budget.admit(assignment.value, below: pointer.tokens.count)
                try value.change(at: pointer.tokens[...], makesParents: true, &budget) { place, _ in
                    place = assignment.value
                }
            }
        }
    }
}

extension ViewRun {
    private mutating func become(_ content: TargetContent) {
        self.content = content
        isComplete = true
    }

    /// Changes a copy of the value, which becomes the content if no error is thrown.
    ///
    /// A deleted target has no value: only a put or a replacement gives it one again. Any other
    /// effect would show a piece of something that the origin said is gone.
    private mutating func changeValue(
        isWhole: Bool = false,
        onUnknown empty: JSONValue? = nil,
        _ body: (inout JSONValue, inout EffectBudget) throws(Inapplicability) -> Void
    ) throws(Inapplicability) {
        var value: JSONValue
        switch content {
        case .json(let known): value = known
        case .deleted: throw Inapplicability(.deletedTarget)
        case .opaque: throw Inapplicability(.notJSON)
        case .unknown:
            guard let start = form ?? empty else { throw Inapplicability(.unknownTarget) }
            value = start
        }
        try located(nil) { () throws(Inapplicability.Cause) in try budget.begin(on: value) }
        try body(&value, &budget)
        content = .json(value)
        isComplete = isComplete || isWhole
    }
}

/// Adds the place to an error of `body`.
private func located(
    _ pointer: JSONPointer?,
    _ body: () throws(Inapplicability.Cause) -> Void
) throws(Inapplicability) {
    do throws(Inapplicability.Cause) {
        try body()
    } catch {
        throw Inapplicability(error, at: pointer)
    }
}

extension Effect {
    /// The effect that does what this one does and then another; a request can make it.
    ///
    /// Nil if there is none that does so on every value that the server may have. An effect with a
    /// `test` is not joined: whether the server refuses it depends on that value.
    package func joined(with next: Effect) -> Effect? {
        guard !tests else { return nil }
        switch (self, next) {
        case (.put, .delete), (.merge, .delete), (.patch, .delete): return .delete
        case (.put, .put), (.merge, .put), (.patch, .put): return next
        case (.put(let value), .merge), (.put(let value), .patch):
            return next.applied(toValue: value).map { .put($0) }
        case (.merge(let patch), .merge(let other)):
            return patch.mergePatch(then: other).map { .merge($0) }
        case (.patch(let operations), .patch(let others)):
            return next.tests ? nil : .patch(operations + others)
        case (_, _): return nil
        }
    }

    /// A known value after it; nil if it does not fit, or if it is not a change of one.
    package func applied(toValue value: JSONValue) -> JSONValue? {
        switch self {
        case .put, .merge, .patch: break
        case .replace, .set, .add, .listAdd, .listRemove, .delete, .none, .all: return nil
        }
        guard !tests else { return nil }
        let view = View.of(.json(value), [self])
        guard view.leftOut.isEmpty else { return nil }
        switch view.content {
        case .json(let after): return after
        case .base: return value
        case .unknown, .deleted, .body: return nil
        }
    }

    private var tests: Bool {
        guard case .patch(let operations) = self else { return false }
        return operations.contains { if case .test = $0 { true } else { false } }
    }
}

extension JSONValue {
    /// The merge patch (RFC 7396) that does what this one does and then another.
    ///
    /// Nil if none does so on every object: a patch cannot first remove a member and then give it an
    /// object.
    fileprivate func mergePatch(then next: JSONValue) -> JSONValue? {
        guard case .object(let own) = self, case .object(let others) = next else { return nil }
        var joined = JSONMembersByName(own)
        for (name, place) in others.lastIndexes.sorted(by: { $0.value < $1.value }) {
            var value = others[place].value
            if case .object = value, let before = joined.take(name) {
                guard let inner = before.mergePatch(then: value) else { return nil }
                value = inner
            }
            joined.set(name, value)
        }
        return .object(joined.members)
    }
}
