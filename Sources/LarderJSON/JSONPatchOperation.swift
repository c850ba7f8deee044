/// A step of a JSON Patch (RFC 6902).
package enum JSONPatchOperation: Equatable, Sendable {
    case add(JSONPointer, JSONValue)
    case remove(JSONPointer)
    case replace(JSONPointer, JSONValue)
    case move(from: JSONPointer, to: JSONPointer)
    case copy(from: JSONPointer, to: JSONPointer)
    case test(JSONPointer, JSONValue)

    /// The place that it is about: where a value comes, goes, or is looked at.
    package var path: JSONPointer {
        switch self {
        case .add(let path, _), .remove(let path), .replace(let path, _), .move(_, let path),
            .copy(_, let path), .test(let path, _):
            path
        }
    }
}

extension [JSONPatchOperation] {
    /// Does all of them in order; what is thrown names the operation, and `value` is of no use then.
    func apply(
        to value: inout JSONValue,
        _ budget: inout EffectBudget
    ) throws(Inapplicability) {
        for (number, operation) in enumerated() {
            do throws(Inapplicability.Cause) {
                try operation.apply(to: &value, &budget)
            } catch {
                throw Inapplicability(error, at: operation.path, operation: number)
            }
        }
    }
}

extension JSONPatchOperation {
    fileprivate func apply(
        to value: inout JSONValue,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) {
        switch self {
        case .add(let path, let new):
            try budget.admit(new, below: path.tokens.count)
            try Self.insert(new, into: &value, at: path, &budget)
        case .remove(let path):
            _ = try Self.take(path, from: &value, &budget)
        case .replace(let path, let new):
            try budget.admit(new, below: path.tokens.count)
            try value.change(at: path.tokens[...], &budget) { place, _ in place = new }
        case .move(let from, let path):
            guard from != path else {
                guard try value.value(at: from, &budget) != nil else { throw .missing }
                return
            }
            guard !from.isAbove(path) else { throw .missing }
            let moved = try Self.take(from, from: &value, &budget)
            try budget.look(at: moved, below: path.tokens.count)
            try Self.insert(moved, into: &value, at: path, &budget)
        case .copy(let from, let path):
            guard let copy = try value.value(at: from, &budget) else { throw .missing }
            try budget.admit(copy, below: path.tokens.count)
            try Self.insert(copy, into: &value, at: path, &budget)
        case .test(let path, let expected):
            guard let found = try value.value(at: path, &budget) else { throw .missing }
            try budget.look(at: found, below: path.tokens.count)
            try budget.look(at: expected, below: 0)
            guard found.isSame(as: expected) else { throw .testFailed }
        }
    }

    private static func insert(
        _ new: JSONValue,
        into value: inout JSONValue,
        at path: JSONPointer,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) {
        guard let token = path.tokens.last else {
            value = new
            return
        }
        try budget.admit(names: [token])
        let parent = path.tokens.dropLast()
        try value.change(at: parent, &budget) { (place, budget) throws(Inapplicability.Cause) in
            switch place {
            case .object(var members):
                try budget.spend(members.count)
                place = .null
                members.set(token, new)
                place = .object(members)
            case .array(var elements):
                let index = token == "-" ? elements.count : JSONPointer.index(token)
                guard let index else { throw .notAnIndex(token) }
                guard index <= elements.count else { throw .missing }
                try budget.spendMove(elements.count - index)
                place = .null
                elements.insert(new, at: index)
                place = .array(elements)
            case .null, .bool, .number, .string:
                throw .wrongKind(found: place.kindText, needed: "an object or an array around it")
            }
        }
    }

    private static func take(
        _ path: JSONPointer,
        from value: inout JSONValue,
        _ budget: inout EffectBudget
    ) throws(Inapplicability.Cause) -> JSONValue {
        guard let token = path.tokens.last else { throw .notRemovable }
        var taken = JSONValue.null
        let parent = path.tokens.dropLast()
        try value.change(at: parent, &budget) { (place, budget) throws(Inapplicability.Cause) in
            switch place {
            case .object(var members):
                try budget.spend(2 * members.count)
                guard let index = members.lastIndex(named: token) else { throw .missing }
                taken = members[index].value
                place = .null
                members.removeAll(named: token)
                place = .object(members)
            case .array(var elements):
                guard let index = elements.index(of: token) else { throw .missing }
                try budget.spendMove(elements.count - index)
                place = .null
                taken = elements.remove(at: index)
                place = .array(elements)
            case .null, .bool, .number, .string:
                throw .missing
            }
        }
        return taken
    }
}
