package import LarderModel

/// Puts the ids that an origin has given in place of temporary ones.
package struct IDReplacement: Equatable, Sendable {
    /// The id as the origin has it: a string or a number.
    package var values: [TemporaryID: JSONValue]
    /// Addresses of the things that are no entities; a URL that names only such a thing becomes its
    /// address.
    package var addresses: [TemporaryID: WebURL] = [:]

    package init(_ values: [TemporaryID: JSONValue]) { self.values = values }

    package var isEmpty: Bool { values.isEmpty }

    /// A string that is only the name of a temporary id becomes the id in its JSON type.
    ///
    /// In a longer string, and in the name of a member, it becomes text.
    package func replaced(in value: JSONValue) -> JSONValue {
        switch value {
        case .null, .bool, .number: return value
        case .string(let text):
            let found = TemporaryID.occurrences(in: text)
            if let only = found.first, only.range == 0..<text.utf8.count {
                return values[only.id] ?? value
            }
            return .string(replaced(in: text, found) { $0 })
        case .array(let elements): return .array(elements.map { replaced(in: $0) })
        case .object(let members):
            return .object(members.map { replaced(in: $0) })
        }
    }

    private func replaced(in member: JSONMember) -> JSONMember {
        JSONMember(name: renamed(member.name), value: replaced(in: member.value))
    }

    /// Bytes that are not JSON stay as they are, as do those that name none of the ids.
    ///
    /// With `isPatch` they are a JSON Patch (RFC 6902), whose `path` and `from` are JSON pointers.
    package func replaced(inJSON bytes: [UInt8], isPatch: Bool = false) -> [UInt8] {
        let names = Self.names(inJSON: bytes)
        guard names.contains(where: { values[$0] != nil }),
            let value = try? JSONValue(parsing: bytes)
        else { return bytes }
        guard isPatch, let operations = value.elements else { return replaced(in: value).bytes }
        return JSONValue.array(operations.map { renamedOperation($0) }).bytes
    }

    private func renamedOperation(_ value: JSONValue) -> JSONValue {
        guard case .object(let members) = value else { return replaced(in: value) }
        return .object(
            members.map { member in
                let isPlace = member.name == "path" || member.name == "from"
                let text = isPlace ? member.value.string : nil
                guard let text, let pointer = try? JSONPointer(text) else {
                    return replaced(in: member)
                }
                return JSONMember(name: member.name, value: .string(replaced(in: pointer).text))
            }
        )
    }

    /// The temporary ids in a JSON text, however its strings are escaped.
    package static func names(inJSON bytes: [UInt8]) -> [TemporaryID] {
        let isEscaped = zip(bytes, bytes.dropFirst()).contains { first, second in
            first == UInt8(ascii: "\\") && second == UInt8(ascii: "u")
        }
        guard isEscaped, let value = try? JSONValue(parsing: bytes) else {
            return TemporaryID.occurrences(in: bytes).map(\.id)
        }
        return TemporaryID.occurrences(in: value.bytes).map(\.id)
    }

    /// The effect with the ids in its values and pointers; as it is if no effect can have them.
    package func replaced(in effect: Effect) -> Effect {
        guard !TemporaryID.occurrences(in: effect.bytes).isEmpty else { return effect }
        let made = renamed(effect)
        return (try? Effect(parsing: made.bytes)) ?? effect
    }

    private func renamed(_ effect: Effect) -> Effect {
        switch effect {
        case .put(let value): .put(replaced(in: value))
        case .merge(let patch): .merge(replaced(in: patch))
        case .patch(let operations): .patch(operations.map { renamed($0) })
        case .set(let assignments, let unset):
            .set(
                assignments.map {
                    JSONAssignment(replaced(in: $0.pointer), replaced(in: $0.value))
                },
                unset: unset.map { replaced(in: $0) }
            )
        case .add(let additions):
            .add(additions.map { JSONAddition(replaced(in: $0.pointer), $0.number) })
        case .listAdd(let changes): .listAdd(changes.map { renamed($0) })
        case .listRemove(let changes): .listRemove(changes.map { renamed($0) })
        case .all(let effects): .all(effects.map { renamed($0) })
        case .replace, .delete, .none: effect
        }
    }

    private func renamed(_ operation: JSONPatchOperation) -> JSONPatchOperation {
        let path = replaced(in: operation.path)
        return switch operation {
        case .add(_, let value): .add(path, replaced(in: value))
        case .remove: .remove(path)
        case .replace(_, let value): .replace(path, replaced(in: value))
        case .move(let from, _): .move(from: replaced(in: from), to: path)
        case .copy(let from, _): .copy(from: replaced(in: from), to: path)
        case .test(_, let value): .test(path, replaced(in: value))
        }
    }

    private func renamed(_ change: JSONListChange) -> JSONListChange {
        JSONListChange(
            replaced(in: change.pointer),
            by: change.key.map { renamed($0) },
            values: change.values.map { replaced(in: $0) }
        )
    }

    /// An id is part of one token, also where it has a slash.
    private func replaced(in pointer: JSONPointer) -> JSONPointer {
        JSONPointer(tokens: pointer.tokens.map { renamed($0) })
    }

    private func renamed(_ text: String) -> String {
        replaced(in: text, TemporaryID.occurrences(in: text)) { $0 }
    }

    /// The id is percent-encoded; nil if the result is not a URL.
    package func replaced(in url: WebURL) -> WebURL? {
        let found = TemporaryID.occurrences(in: url.text)
        guard !found.isEmpty else { return url }
        if found.count == 1, let address = addresses[found[0].id], url.names(only: found[0]) {
            return address
        }
        return try? WebURL(replaced(in: url.text, found, PercentCoding.encode))
    }

    private func replaced(
        in text: String,
        _ found: [TemporaryID.Occurrence],
        _ code: (String) -> String
    ) -> String {
        guard !found.isEmpty else { return text }
        let bytes = Array(text.utf8)
        var (result, end): ([UInt8], Int) = ([], 0)
        for occurrence in found {
            guard let id = values[occurrence.id]?.idText else { continue }
            result += bytes[end..<occurrence.range.lowerBound]
            result += Array(code(id).utf8)
            end = occurrence.range.upperBound
        }
        return String(decoding: result + bytes[end...], as: UTF8.self)
    }
}

extension WebURL {
    /// Whether the last segment is the marked name, and all that is after the base URL.
    fileprivate func names(only occurrence: TemporaryID.Occurrence) -> Bool {
        guard occurrence.isMarked, occurrence.range.upperBound == text.utf8.count else {
            return false
        }
        return text.utf8.dropLast(occurrence.range.count).last == UInt8(ascii: "/")
    }
}

extension JSONValue {
    /// The text of a string or of an integer, as an id; nil for any other value.
    package var idText: String? {
        switch self {
        case .string(let text): text.isEmpty ? nil : text
        case .number(let number): number.isIDText ? number.text : nil
        case .null, .bool, .array, .object: nil
        }
    }
}

extension JSONNumber {
    fileprivate var isIDText: Bool {
        text.utf8.allSatisfy { $0.isASCIIDigit || $0 == UInt8(ascii: "-") }
    }
}
