import LarderJSON
import LarderModel
import LarderTestSupport

/// The value of a text that is JSON.
func json(_ text: String) throws -> JSONValue {
    try JSONValue(parsing: Array(text.utf8))
}

extension JSONValue {
    var text: String {
        var json = JSONWriter()
        json.value(self)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

/// Values, pointers and effects from few names and numbers, so that they often meet.
extension SeededRandom {
    private static let names = ["a", "b", "c", "", "~/", "0", "1", "-", "é", "e\u{301}"]

    mutating func count(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &self)
    }

    mutating func number() throws -> JSONValue {
        let text = pick([
            "0", "-0", "1", "1.0", "1e0", "10e-1", "-1", "0.1", "0.10", "2", "3.25", "1e2", "100",
            "-2.5e-3", "123456789012345678901234567890", "1e400", "1e-400",
            "1e99999999999999999999",
        ])
        return try json(text)
    }

    mutating func anyValue(depth: Int) throws -> JSONValue {
        switch count(0...(depth > 0 ? 9 : 5)) {
        case 0: return .null
        case 1: return .bool(pick([true, false]))
        case 2, 3: return try number()
        case 4, 5: return .string(pick(["", "1", "true", "x", "é", "e\u{301}", "\u{FFFD}"]))
        case 6, 7:
            var elements: [JSONValue] = []
            for _ in 0..<count(0...4) { elements.append(try anyValue(depth: depth - 1)) }
            return .array(elements)
        default: return try object(depth: depth)
        }
    }

    /// Now and then a name comes twice.
    mutating func object(depth: Int) throws -> JSONValue {
        var members: [JSONMember] = []
        for _ in 0..<count(0...4) {
            let value = try anyValue(depth: depth - 1)
            members.append(JSONMember(name: pick(Self.names), value: value))
        }
        return .object(members)
    }

    mutating func pointer() -> JSONPointer {
        JSONPointer(tokens: (0..<count(0...3)).map { _ in pick(Self.names) })
    }

    /// The place of something that is there, or nearly so.
    mutating func pointer(in value: JSONValue) -> JSONPointer {
        var tokens: [String] = []
        var value = value
        while count(0...3) > 0 {
            if let members = value.members, !members.isEmpty {
                let member = pick(members)
                tokens.append(member.name)
                value = member.value
            } else if let elements = value.elements, !elements.isEmpty {
                let index = count(0...elements.count)
                tokens.append(index == elements.count ? pick(["-", "\(index)"]) : "\(index)")
                value = index == elements.count ? .null : elements[index]
            } else {
                break
            }
        }
        return count(0...4) == 0 ? pointer() : JSONPointer(tokens: tokens)
    }

    /// Another spelling of the same.
    mutating func respelled(_ value: JSONValue) throws -> JSONValue {
        switch value {
        case .number(let number):
            return try json(
                number.integer.map { pick(["\($0)", "\($0).0", "\($0)e0", "\($0).00E+00"]) }
                    ?? number.text
            )
        case .array(let elements):
            var respelled: [JSONValue] = []
            for element in elements { respelled.append(try self.respelled(element)) }
            return .array(respelled)
        case .object(let members):
            var respelled: [JSONMember] = []
            var seen: [String] = []
            for member in members.reversed() {
                guard !seen.contains(where: { $0.hasSameBytes(as: member.name) }) else { continue }
                seen.append(member.name)
                let value = try self.respelled(member.value)
                respelled.append(JSONMember(name: member.name, value: value))
            }
            respelled.shuffle(using: &self)
            return .object(respelled)
        case .null, .bool, .string: return value
        }
    }
}

extension SeededRandom {
    /// An effect that has a chance to fit `value`.
    mutating func effect(on value: JSONValue) throws -> Effect {
        switch count(0...11) {
        case 0: return .put(try self.anyValue(depth: 3))
        case 1: return .delete
        case 2: return .none
        case 3: return .replace
        case 4, 5: return .merge(try object(depth: 3))
        case 6, 7:
            var operations: [JSONPatchOperation] = []
            for _ in 0..<count(0...3) { operations.append(try operation(on: value)) }
            return .patch(operations)
        case 8: return try set(on: value)
        case 9:
            guard case .number(let number) = try number(), number.isAddable else { return .add([]) }
            return .add([JSONAddition(pointer(in: value), number)])
        case 10: return .listAdd([try listChange(on: value)])
        default: return .listRemove([try listChange(on: value)])
        }
    }

    mutating func set(on value: JSONValue) throws -> Effect {
        var assignments: [JSONAssignment] = []
        for _ in 0..<count(0...3) {
            let pointer = pointer(in: value)
            guard !assignments.contains(where: { $0.pointer == pointer }) else { continue }
            assignments.append(JSONAssignment(pointer, try self.anyValue(depth: 2)))
        }
        let unset = (0..<count(0...2)).map { _ in pointer(in: value) }.filter { $0 != .whole }
        return .set(assignments, unset: unset)
    }

    private mutating func operation(on value: JSONValue) throws -> JSONPatchOperation {
        let path = pointer(in: value)
        let from = pointer(in: value)
        switch count(0...5) {
        case 0: return .add(path, try self.anyValue(depth: 2))
        case 1: return .remove(path)
        case 2: return .replace(path, try self.anyValue(depth: 2))
        case 3: return from.isAbove(path) ? .remove(path) : .move(from: from, to: path)
        case 4: return .copy(from: from, to: path)
        default: return .test(path, value.value(at: path) ?? .null)
        }
    }

    private mutating func listChange(on value: JSONValue) throws -> JSONListChange {
        var pointer = pointer(in: value)
        for _ in 0..<4 where value.value(at: pointer)?.elements == nil {
            pointer = self.pointer(in: value)
        }
        var values: [JSONValue] = []
        for _ in 0..<count(0...3) { values.append(try self.anyValue(depth: 2)) }
        if let element = value.value(at: pointer)?.elements?.first { values.append(element) }
        guard count(0...3) == 0 else { return JSONListChange(pointer, values: values) }
        let keyed = values.map { JSONValue.object([JSONMember(name: "a", value: $0)]) }
        return JSONListChange(pointer, by: "a", values: keyed)
    }
}
