import LarderModel

extension JSONValue {
    /// The value at the place; nil if there is none.
    ///
    /// Of a repeated name in an object the last counts. The place `-`, after an array's last
    /// element, has no value.
    package func value(at pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            guard let child = value.child(token) else { return nil }
            value = child
        }
        return value
    }

    private func child(_ token: String) -> JSONValue? {
        switch self {
        case .object: self[token]
        case .array(let elements): elements.index(of: token).map { elements[$0] }
        case .null, .bool, .number, .string: nil
        }
    }

    /// The same within a budget.
    func value(
        at pointer: JSONPointer,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            try budget.spend(value.members?.count ?? 1)
            guard let child = value.child(token) else { return nil }
            value = child
        }
        return value
    }

    /// Calls `body` with the value that the tokens lead to, and changes it in place.
    ///
    /// After an error this value is unusable: change a copy.
    mutating func change(
        at tokens: ArraySlice<String>,
        _ budget: inout EffectBudget,
        _ body: (inout JSONValue, inout EffectBudget) throws(Inapplicability.Cause) -> Void
    ) throws(Inapplicability.Cause) {
        guard let token = tokens.first else { return try body(&self, &budget) }
        switch self {
        case .object(var members):
            try budget.spend(members.count)
            guard let index = members.lastIndex(named: token) else { throw .missing }
            // Taken out meanwhile, so that the members are changed and not copied.
            self = .null
            try members[index].value.change(at: tokens.dropFirst(), &budget, body)
            self = .object(members)
        case .array(var elements):
            guard let index = elements.index(of: token) else { throw .missing }
            try budget.reach(intoArrayOf: elements.count)
            self = .null
            try elements[index].change(at: tokens.dropFirst(), &budget, body)
            self = .array(elements)
        case .null, .bool, .number, .string:
            throw .missing
        }
    }
}

extension [JSONMember] {
    /// The member of this name that counts.
    func lastIndex(named name: String) -> Int? {
        lastIndex { $0.name.hasSameBytes(as: name) }
    }

    mutating func set(_ name: String, _ value: JSONValue) {
        if let index = lastIndex(named: name) {
            self[index].value = value
        } else {
            append(JSONMember(name: name, value: value))
        }
    }

    /// Removes all members of this name.
    mutating func removeAll(named name: String) {
        removeAll { $0.name.hasSameBytes(as: name) }
    }
}

extension [JSONValue] {
    /// The index of an element that is there.
    func index(of token: String) -> Int? {
        JSONPointer.index(token).flatMap { $0 < count ? $0 : nil }
    }
}
