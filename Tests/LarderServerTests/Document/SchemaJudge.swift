import LarderJSON

/// Judges JSON by the schemas of the document, as far as that uses JSON Schema.
///
/// It is stricter than JSON Schema: a member of an object that names its members must be one of
/// these, as a client could not know of it otherwise.
struct SchemaJudge {
    let api: DocumentedAPI

    /// What is wrong with a value, each with the place where; empty when nothing is.
    func complaints(_ value: JSONValue, _ schema: JSONValue, at place: String = "") -> [String] {
        let parts = parts(of: schema)
        var own: [String] = []
        for part in parts {
            own += wrongType(value, part)
            own += wrongValue(value, part)
            own += wrongRange(value, part)
            own += refused(value, part)
            own += elements(value, part, at: place)
        }
        own = own.map { "\(place): \($0)" }
        return own + members(value, parts, at: place) + choices(value, parts, at: place)
    }

    /// The schema without references, and all that it is made of.
    private func parts(of schema: JSONValue) -> [JSONValue] {
        let referred = schema["$ref"] == nil ? [] : parts(of: api.resolved(schema))
        let all = (schema["allOf"]?.elements ?? []).flatMap(parts(of:))
        return [schema] + referred + all
    }

    private func wrongType(_ value: JSONValue, _ schema: JSONValue) -> [String] {
        guard let type = schema["type"] else { return [] }
        let types = type.elements?.compactMap(\.string) ?? [type.string ?? ""]
        let fits = types.contains { name in
            switch name {
            case "null": value.isNull
            case "boolean": value.bool != nil
            case "integer": value.integer != nil
            case "number": value.double != nil
            case "string": value.string != nil
            case "array": value.elements != nil
            case "object": value.members != nil
            default: false
            }
        }
        return fits ? [] : ["\(value.kindText) is none of \(types)"]
    }

    private func wrongValue(_ value: JSONValue, _ schema: JSONValue) -> [String] {
        if let const = schema["const"], const != value { return ["\(value) is not \(const)"] }
        if let known = schema["enum"]?.elements, !known.contains(value) {
            return ["\(value) is none of \(known)"]
        }
        return []
    }

    private func wrongRange(_ value: JSONValue, _ schema: JSONValue) -> [String] {
        guard let number = value.double else { return [] }
        let least = schema["minimum"]?.double ?? -.infinity
        let most = schema["maximum"]?.double ?? .infinity
        return least <= number && number <= most ? [] : ["\(number) is out of range"]
    }

    private func refused(_ value: JSONValue, _ schema: JSONValue) -> [String] {
        guard let other = schema["not"], complaints(value, other).isEmpty else { return [] }
        return ["it is what it must not be"]
    }

    private func elements(_ value: JSONValue, _ schema: JSONValue, at place: String) -> [String] {
        guard let elements = value.elements, let items = schema["items"] else { return [] }
        return elements.enumerated().flatMap { index, element in
            complaints(element, items, at: "\(place)/\(index)")
        }
    }

    private func members(
        _ value: JSONValue,
        _ parts: [JSONValue],
        at place: String
    ) -> [String] {
        guard let members = value.members else { return [] }
        let known = parts.flatMap { $0["properties"]?.members ?? [] }
        let others = parts.compactMap { $0["additionalProperties"] }.first { $0.members != nil }
        let required = parts.flatMap { $0["required"]?.elements ?? [] }.compactMap(\.string)
        let missing = required.filter { value[$0] == nil }.map { "\(place): \($0) is missing" }
        let wrong = members.flatMap { member -> [String] in
            let inner = "\(place)/\(member.name)"
            if let schema = known.first(where: { $0.name == member.name })?.value {
                return complaints(member.value, schema, at: inner)
            }
            if let others { return complaints(member.value, others, at: inner) }
            return known.isEmpty ? [] : ["\(inner) is not documented"]
        }
        return missing + wrong
    }

    private func choices(
        _ value: JSONValue,
        _ parts: [JSONValue],
        at place: String
    ) -> [String] {
        parts.compactMap { $0["oneOf"]?.elements }.flatMap { choices -> [String] in
            let found = choices.map { complaints(value, $0, at: place) }
            let fitting = found.count(where: \.isEmpty)
            guard fitting != 1 else { return [] }
            let nearest = found.min { $0.count < $1.count } ?? []
            return ["\(place): \(fitting) choices fit, not one"] + (fitting == 0 ? nearest : [])
        }
    }
}

extension JSONValue {
    /// The nearest double of a number.
    fileprivate var double: Double? {
        if case .number(let number) = self { Double(number.text) } else { nil }
    }
}
