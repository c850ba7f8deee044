import LarderModel

extension Effect {
    /// Reads what ``bytes`` wrote.
    package init(parsing bytes: [UInt8]) throws(EffectError) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: bytes)
        } catch {
            throw .notJSON(error)
        }
        guard let elements = value.elements, !elements.isEmpty else {
            try self.init(value)
            return
        }
        guard elements.count <= Limits.effectsMax else {
            let reason = "has \(elements.count) effects, at most \(Limits.effectsMax) are taken"
            throw .malformed(at: .whole, reason: reason)
        }
        var effects: [Effect] = []
        for element in elements { effects.append(try Effect(element)) }
        if let place = effects.firstIndex(of: .replace) {
            // The value of 'replace' is the request's body, which no other effect can read.
            throw .malformed(at: .whole, reason: "has 'replace' at \(place), allowed only alone")
        }
        self.init(all: effects)
    }

    /// Reads `{"type": "merge", "value": {…}}`.
    ///
    /// A member that is unknown or comes twice is refused, so that no misspelled one is accepted
    /// and then does nothing; only those of a patch's operations are ignored, as RFC 6902 has it.
    package init(_ json: JSONValue) throws(EffectError) {
        var weight = JSONWeight(stepsMax: .max, depthMax: Limits.jsonDepthMax)
        weight.add(json)
        guard !weight.isTooDeep else {
            throw .malformed(at: .whole, reason: "is nested too deeply")
        }
        // A later version's effect may have other members, too.
        if let type = json["type"]?.string,
            !Self.typeNames.contains(where: { $0.hasSameBytes(as: type) })
        {
            throw .unknownType(type)
        }
        var reader = try EffectReader(json, at: .whole, of: ["type", "value"])
        let type = try reader.needString("type")
        switch type {
        case "delete": self = .delete
        case "none": self = .none
        case "replace": self = .replace
        default: self = try Self.read(type, try reader.need("value"))
        }
        try reader.refuseRest()
    }

    private static let valuePlace = JSONPointer(tokens: ["value"])

    private static func read(_ type: String, _ value: JSONValue) throws(EffectError) -> Effect {
        switch type {
        case "put": return .put(value)
        case "merge": return .merge(value)
        case "patch": return .patch(try operations(value))
        case "set": return try set(value)
        case "add": return .add(try additions(value))
        case "list_add": return .listAdd(try listChanges(value, isAddition: true))
        case "list_remove": return .listRemove(try listChanges(value, isAddition: false))
        default: throw .unknownType(type)
        }
    }
}

extension Effect {
    private static func set(_ value: JSONValue) throws(EffectError) -> Effect {
        if let pointer = value.members?.first?.name, pointer.hasPrefix("/") {
            let wanted = "{\"set\": {\"\(pointer)\": …}}"
            throw .malformed(
                at: valuePlace,
                reason: "has pointers; write: \(wanted)"
            )
        }
        var reader = try EffectReader(value, at: valuePlace, of: ["set", "unset"])
        var assignments: [JSONAssignment] = []
        if let set = try reader.take("set") {
            for (pointer, value, _) in try places(set, at: valuePlace.appending("set")) {
                assignments.append(JSONAssignment(pointer, value))
            }
        }
        var unset: [JSONPointer] = []
        let place = valuePlace.appending("unset")
        if let list = try reader.take("unset") {
            guard let elements = list.elements else {
                throw .wrongKind(list, "an array", at: place)
            }
            for (index, element) in elements.enumerated() {
                let place = place.appending(String(index))
                guard let text = element.string else {
                    throw .wrongKind(element, "a string", at: place)
                }
                let pointer = try EffectReader.pointer(text, at: place)
                guard pointer != .whole else {
                    throw .malformed(at: place, reason: "is the whole; that is what delete is for")
                }
                unset.append(pointer)
            }
        }
        try reader.refuseRest()
        return .set(assignments, unset: unset)
    }

    private static func additions(_ value: JSONValue) throws(EffectError) -> [JSONAddition] {
        var additions: [JSONAddition] = []
        for (pointer, value, place) in try places(value, at: valuePlace) {
            guard case .number(let number) = value else {
                throw .wrongKind(value, "a number", at: place)
            }
            guard number.isAddable else {
                let reason = "has more than \(Limits.decimalDigitsMax) digits"
                throw .malformed(at: place, reason: reason)
            }
            additions.append(JSONAddition(pointer, number))
        }
        return additions
    }

    private static func listChanges(
        _ value: JSONValue,
        isAddition: Bool
    ) throws(EffectError) -> [JSONListChange] {
        var changes: [JSONListChange] = []
        for (pointer, value, place) in try places(value, at: valuePlace) {
            if let elements = value.elements {
                changes.append(JSONListChange(pointer, values: elements))
                continue
            }
            guard value.members != nil else {
                throw .wrongKind(value, "an array, or an object with 'by' and 'values',", at: place)
            }
            var reader = try EffectReader(value, at: place, of: ["by", "values"])
            let key = try reader.needString("by")
            let list = try reader.need("values")
            let values = place.appending("values")
            guard let elements = list.elements else {
                throw .wrongKind(list, "an array", at: values)
            }
            for (index, element) in elements.enumerated() {
                guard element[key] == nil, isAddition || element.members != nil else { continue }
                throw .malformed(
                    at: values.appending(String(index)),
                    reason: "is \(element.kindText) without the member '\(key)'"
                )
            }
            try reader.refuseRest()
            changes.append(JSONListChange(pointer, by: key, values: elements))
        }
        return changes
    }

    /// The members of an object whose names are pointers, none of them twice.
    private static func places(
        _ value: JSONValue,
        at place: JSONPointer
    ) throws(EffectError) -> [(JSONPointer, JSONValue, JSONPointer)] {
        guard let members = value.members else { throw .wrongKind(value, "an object", at: place) }
        var seen: Set<JSONPointer> = []
        var places: [(JSONPointer, JSONValue, JSONPointer)] = []
        for member in members {
            let place = place.appending(member.name)
            let pointer = try EffectReader.pointer(member.name, at: place)
            guard seen.insert(pointer).inserted else {
                throw .malformed(at: place, reason: "is given twice")
            }
            places.append((pointer, member.value, place))
        }
        return places
    }
}

extension Effect {
    private static func operations(
        _ value: JSONValue
    ) throws(EffectError) -> [JSONPatchOperation] {
        guard let elements = value.elements else {
            throw .wrongKind(value, "an array", at: valuePlace)
        }
        var operations: [JSONPatchOperation] = []
        for (index, element) in elements.enumerated() {
            operations.append(try operation(element, at: valuePlace.appending(String(index))))
        }
        return operations
    }

    private static func operation(
        _ value: JSONValue,
        at place: JSONPointer
    ) throws(EffectError) -> JSONPatchOperation {
        var reader = try EffectReader(value, at: place)
        let name = try reader.needString("op")
        let path = try reader.needPointer("path")
        switch name {
        case "add": return .add(path, try reader.need("value"))
        case "replace": return .replace(path, try reader.need("value"))
        case "test": return .test(path, try reader.need("value"))
        case "remove": return .remove(path)
        case "copy": return .copy(from: try reader.needPointer("from"), to: path)
        case "move":
            let from = try reader.needPointer("from")
            guard !from.isAbove(path) else {
                throw .malformed(at: place, reason: "moves a value into itself")
            }
            return .move(from: from, to: path)
        default:
            throw .malformed(
                at: place.appending("op"),
                reason: "is '\(name)', there are add, remove, replace, move, copy, test"
            )
        }
    }
}
