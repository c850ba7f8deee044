/// Values to add to the list at a place, or to remove from it, as in a set.
package struct JSONListChange: Equatable, Sendable {
    package let pointer: JSONPointer
    /// The member that identifies an element; nil: the whole element does.
    package let key: String?
    /// Elements; what is removed by key may also be named by its key alone.
    package let values: [JSONValue]

    package init(_ pointer: JSONPointer, by key: String? = nil, values: [JSONValue]) {
        self.pointer = pointer
        self.key = key
        self.values = values
    }
}

extension JSONListChange {
    /// Appends what the list does not have yet; what it has stays as it is.
    ///
    /// Where the list's own member is missing or null it is made, unless `isPartial`, when the
    /// list may be there and not be known.
    func add(
        to value: inout JSONValue,
        isPartial: Bool,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) {
        for element in values { try budget.admit(element, below: pointer.tokens.count + 1) }
        let isThere = try value.value(at: pointer, &budget).map { !$0.isNull } ?? false
        if !isThere, !isPartial, let name = pointer.tokens.last {
            try make(name, in: &value, &budget)
        }
        try value.change(at: pointer.tokens[...], &budget) {
            (place, budget) throws(Inapplicability.Cause) in
            guard case .array(var elements) = place else {
                throw .wrongKind(found: place.kindText, needed: "an array")
            }
            try budget.look(at: place, below: 0)
            place = .null
            var known = Set<JSONIdentity>(minimumCapacity: elements.count + values.count)
            known.formUnion(elements.lazy.compactMap(identity))
            for element in values {
                guard let identity = identity(element), known.insert(identity).inserted else {
                    continue
                }
                elements.append(element)
            }
            place = .array(elements)
        }
    }

    /// Puts an empty list where there is nothing but an object around it, or null.
    private func make(
        _ name: String,
        in value: inout JSONValue,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) {
        try budget.admit(names: [name])
        let parent = pointer.tokens.dropLast()
        try value.change(at: parent, &budget) { (place, budget) throws(Inapplicability.Cause) in
            guard case .object(var members) = place else { return }
            try budget.spend(members.count)
            place = .null
            members.set(name, .array([]))
            place = .object(members)
        }
    }

    /// Removes each named element; a missing list, or null, has none.
    func remove(
        from value: inout JSONValue,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) {
        if let found = try value.value(at: pointer, &budget) {
            if found.isNull { return }
        } else if try hasParent(in: value, &budget) {
            return
        }
        for element in values { try budget.look(at: element, below: 0) }
        let removed = Set(values.compactMap(named))
        try value.change(at: pointer.tokens[...], &budget) {
            (place, budget) throws(Inapplicability.Cause) in
            guard case .array(var elements) = place else {
                throw .wrongKind(found: place.kindText, needed: "an array")
            }
            try budget.look(at: place, below: 0)
            place = .null
            elements.removeAll { identity($0).map(removed.contains) ?? false }
            place = .array(elements)
        }
    }

    private func hasParent(
        in value: JSONValue,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) -> Bool {
        let parent = JSONPointer(tokens: pointer.tokens.dropLast())
        return try value.value(at: parent, &budget)?.members != nil
    }

    /// Identity of an element; nil if it has no key.
    private func identity(_ element: JSONValue) -> JSONIdentity? {
        guard let key else { return JSONIdentity(element) }
        return element[key].map { JSONIdentity($0) }
    }

    /// Identity of the element that a removal names: by its key, or by the whole element.
    private func named(_ value: JSONValue) -> JSONIdentity? {
        guard case .object = value else { return JSONIdentity(value) }
        return identity(value)
    }
}
