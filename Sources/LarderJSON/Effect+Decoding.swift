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

extension Effect {
    /// As it travels and as it is stored, numbers as they were written.
    package var bytes: [UInt8] {
        var json = JSONWriter()
        json.effect(self)
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes `{"type": …, "value": …}`.
    package mutating func effect(_ effect: Effect) {
        if case .all(let effects) = effect {
            beginArray()
            for effect in effects { self.effect(effect) }
            return endArray()
        }
        object { json in
            json.member("type", effect.typeName)
            switch effect {
            case .delete, .none, .replace, .all: return
            case .put(let value), .merge(let value):
                json.name("value")
                json.value(value)
            case .patch(let operations):
                json.name("value")
                json.patch(operations)
            case .set(let assignments, let unset):
                json.member("value") { json in
                    json.member("set") { json in
                        for assignment in assignments {
                            json.name(assignment.pointer.text)
                            json.value(assignment.value)
                        }
                    }
                    json.member("unset", unset.map(\.text))
                }
            case .add(let additions):
                json.member("value") { json in
                    for addition in additions {
                        json.name(addition.pointer.text)
                        json.value(.number(addition.number))
                    }
                }
            case .listAdd(let changes), .listRemove(let changes):
                json.member("value") { json in
                    for change in changes { json.listChange(change) }
                }
            }
        }
    }

    /// Writes a JSON Patch document, as the body of a request has it too.
    package mutating func patch(_ operations: [JSONPatchOperation]) {
        beginArray()
        for operation in operations {
            object { $0.operation(operation) }
        }
        endArray()
    }

    private mutating func operation(_ operation: JSONPatchOperation) {
        switch operation {
        case .add(_, let value): self.operation("add", operation.path, value: value)
        case .remove: self.operation("remove", operation.path)
        case .replace(_, let value): self.operation("replace", operation.path, value: value)
        case .move(let from, _): self.operation("move", operation.path, from: from)
        case .copy(let from, _): self.operation("copy", operation.path, from: from)
        case .test(_, let value): self.operation("test", operation.path, value: value)
        }
    }

    private mutating func operation(
        _ name: String,
        _ path: JSONPointer,
        from: JSONPointer? = nil,
        value: JSONValue? = nil
    ) {
        member("op", name)
        if let from { member("from", from.text) }
        member("path", path.text)
        if let value {
            self.name("value")
            self.value(value)
        }
    }

    private mutating func listChange(_ change: JSONListChange) {
        name(change.pointer.text)
        guard let key = change.key else {
            value(.array(change.values))
            return
        }
        object { json in
            json.member("by", key)
            json.name("values")
            json.value(.array(change.values))
        }
    }
}

/// The members of an object within an effect, each of which must be taken by name.
struct EffectReader {
    /// Position of the object within the effect.
    let place: JSONPointer
    private var members: [JSONMember]
    private var taken: [String] = []

    /// Reads an object; where `names` are given, a member that has none of them is refused before
    /// anything else is looked at.
    init(
        _ value: JSONValue,
        at place: JSONPointer,
        of names: [String]? = nil
    ) throws(EffectError) {
        guard case .object(let members) = value else {
            throw .wrongKind(value, "an object", at: place)
        }
        self.members = members
        self.place = place
        guard let names else { return }
        let stranger = members.first { member in
            !names.contains { member.name.hasSameBytes(as: $0) }
        }
        if let stranger { throw unknown(stranger.name, names) }
    }

    /// The value of a member, also where it is null; nil where it is not there.
    mutating func take(_ name: String) throws(EffectError) -> JSONValue? {
        taken.append(name)
        var values: [JSONValue] = []
        members.removeAll { member in
            guard member.name.hasSameBytes(as: name) else { return false }
            values.append(member.value)
            return true
        }
        guard values.count < 2 else {
            throw .malformed(at: place.appending(name), reason: "is given twice")
        }
        return values.first
    }

    mutating func need(_ name: String) throws(EffectError) -> JSONValue {
        guard let value = try take(name) else {
            throw .malformed(at: place.appending(name), reason: "is missing")
        }
        return value
    }

    mutating func needString(_ name: String) throws(EffectError) -> String {
        let value = try need(name)
        guard let text = value.string else {
            throw .wrongKind(value, "a string", at: place.appending(name))
        }
        return text
    }

    mutating func needPointer(_ name: String) throws(EffectError) -> JSONPointer {
        try Self.pointer(try needString(name), at: place.appending(name))
    }

    /// Refuses members that were not taken.
    func refuseRest() throws(EffectError) {
        guard let first = members.first else { return }
        throw unknown(first.name, taken)
    }

    private func unknown(_ name: String, _ known: [String]) -> EffectError {
        .malformed(
            at: place.appending(name),
            reason: "is unknown, \(nearestNameAdvice(on: name, among: known))"
        )
    }

    static func pointer(_ text: String, at place: JSONPointer) throws(EffectError) -> JSONPointer {
        do throws(JSONPointerError) {
            return try JSONPointer(text)
        } catch {
            throw .malformed(at: place, reason: "cannot be taken: \(error.message)")
        }
    }
}

extension EffectError {
    static func wrongKind(
        _ value: JSONValue,
        _ needed: String,
        at place: JSONPointer
    ) -> EffectError {
        .malformed(at: place, reason: "is \(value.kindText), \(needed) is needed")
    }
}
