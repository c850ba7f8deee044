import LarderModel

/// A value and the place that it is assigned to.
package struct JSONAssignment: Equatable, Sendable {
    package let pointer: JSONPointer
    package let value: JSONValue

    package init(_ pointer: JSONPointer, _ value: JSONValue) {
        self.pointer = pointer
        self.value = value
    }
}

extension JSONValue {
    /// Removes the value that the pointer leads to; changes nothing if there is none.
    ///
    /// An array's elements cannot be unset: later elements would move, and be unset the next time.
    mutating func unset(
        _ pointer: JSONPointer,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) {
        guard let token = pointer.tokens.last else { throw .notRemovable }
        let parent = pointer.tokens.dropLast()
        switch try value(at: JSONPointer(tokens: Array(parent)), &budget) {
        case .object(let members)?:
            try budget.spend(2 * members.count)
            guard members.lastIndex(named: token) != nil else { return }
        case .array(let elements)?:
            guard elements.index(of: token) == nil else { throw .notRemovable }
            return
        case .null?, .bool?, .number?, .string?, nil: return
        }
        try change(at: parent, &budget) { place, _ in
            guard case .object(var members) = place else { return }
            place = .null
            members.removeAll(named: token)
            place = .object(members)
        }
    }
}

/// A number that is added to the one at a place.
package struct JSONAddition: Equatable, Sendable {
    package let pointer: JSONPointer
    package let number: JSONNumber

    package init(_ pointer: JSONPointer, _ number: JSONNumber) {
        self.pointer = pointer
        self.number = number
    }

    func apply(
        to value: inout JSONValue,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) {
        try value.change(at: pointer.tokens[...], &budget) {
            (place, budget) throws(Inapplicability.Cause) in
            guard case .number(let old) = place else {
                throw .wrongKind(found: place.kindText, needed: "a number")
            }
            guard let sum = old.adding(number) else { throw .tooManyDigits }
            try budget.spend(old.text.utf8.count + number.text.utf8.count)
            try budget.admit(.number(sum), below: 0)
            place = .number(sum)
        }
    }
}

/// JSON Merge Patch (RFC 7396): a patch that looks like what it changes, in which null removes.
enum JSONMerge {
    /// Changes `target` as `patch` says.
    static func apply(
        _ patch: JSONValue,
        to target: inout JSONValue,
        _ budget: inout EffectBudget,
        below depth: Int = 0
    ) throws(Inapplicability.Cause) {
        guard case .object(let changes) = patch else {
            try budget.admit(patch, below: depth)
            target = patch
            return
        }
        guard depth < Limits.jsonDepthMax else { throw .tooDeep }
        let members = target.members ?? []
        try budget.spend(members.count + 2 * changes.count)
        var merged = JSONMembersByName(members)
        target = .null
        for (name, index) in changes.lastIndexes.sorted(by: { $0.value < $1.value }) {
            if changes[index].value.isNull {
                merged.remove(name)
                continue
            }
            var value = merged.take(name) ?? .null
            try budget.admit(names: [name.text])
            try apply(changes[index].value, to: &value, &budget, below: depth + 1)
            merged.set(name, value)
        }
        target = .object(merged.members)
    }
}

extension JSONValue {
    /// The merge patch that leads from this value to `other`; nil if there is none.
    ///
    /// There is none if a member would have to become null, as null removes.
    ///
    /// A value that differs only in spelling stays. So the result equals `other`, but can be
    /// spelled differently.
    package func mergePatch(to other: JSONValue) -> JSONValue? {
        guard case .object(let wanted) = other else { return other }
        guard case .object(let members) = self else {
            return other.hasNullMember ? nil : other
        }
        let present = members.lastIndexes
        let places = wanted.lastIndexes
        var changes = present.filter { places[$0.key] == nil }
            .sorted { $0.value < $1.value }
            .map { JSONMember(name: $0.key.text, value: .null) }
        for (name, index) in places.sorted(by: { $0.value < $1.value }) {
            let value = wanted[index].value
            guard let old = present[name].map({ members[$0].value }) else {
                guard !value.isNull, !value.hasNullMember else { return nil }
                changes.append(JSONMember(name: name.text, value: value))
                continue
            }
            if case .object = old, case .object = value {
                guard let inner = old.mergePatch(to: value) else { return nil }
                if inner.members?.isEmpty == true { continue }
                changes.append(JSONMember(name: name.text, value: inner))
            } else if !old.isSame(as: value) {
                guard !value.isNull, !value.hasNullMember else { return nil }
                changes.append(JSONMember(name: name.text, value: value))
            }
        }
        return .object(changes)
    }

    /// Whether a merge of this value would lose a member: null within objects, as far as no array
    /// is around it.
    private var hasNullMember: Bool {
        guard case .object(let members) = self else { return false }
        return members.lastIndexes.values.contains {
            members[$0].value.isNull || members[$0].value.hasNullMember
        }
    }
}

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
