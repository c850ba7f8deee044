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
        switch applied(to: .json(value)) {
        case .json(let after, _): return after
        case .unchanged: return value
        case .body, .deleted, .inapplicable: return nil
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
