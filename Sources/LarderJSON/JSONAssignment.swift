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
    /// Puts `new` at the place that the tokens lead to.
    ///
    /// Missing parents are made as objects. An object replaces a scalar on the way.
    ///
    /// An array is not a scalar: an index assigns to an element, and the index after the last
    /// appends.
    mutating func assign(
        _ new: JSONValue,
        at tokens: ArraySlice<String>,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) {
        guard let token = tokens.first else {
            self = new
            return
        }
        switch self {
        case .object(var members):
            try budget.spend(members.count)
            self = .null
            let known = members.lastIndex(named: token)
            if known == nil { members.append(JSONMember(name: token, value: .null)) }
            let index = known ?? members.count - 1
            try members[index].value.assign(new, at: tokens.dropFirst(), &budget)
            self = .object(members)
        case .array(var elements):
            guard let index = JSONPointer.index(token) else { throw .notAnIndex(token) }
            guard index <= elements.count else { throw .missing }
            try budget.reach(intoArrayOf: elements.count)
            self = .null
            if index == elements.count { elements.append(.null) }
            try elements[index].assign(new, at: tokens.dropFirst(), &budget)
            self = .array(elements)
        case .null, .bool, .number, .string:
            self = .object([])
            try assign(new, at: tokens, &budget)
        }
    }

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
