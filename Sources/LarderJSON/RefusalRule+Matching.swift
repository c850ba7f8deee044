package import LarderModel

extension [RefusalRule] {
    /// The first rule by which the body of a 2xx is a refusal, such as GraphQL's `errors`; nil if it
    /// is none.
    package func rule(matching body: [UInt8]) -> RefusalRule? {
        guard !isEmpty, let value = try? JSONValue(parsing: body) else { return nil }
        return first { $0.matches(value) }
    }
}

extension RefusalRule {
    fileprivate func matches(_ answer: JSONValue) -> Bool {
        guard let pointer = try? JSONPointer(pointer), let value = answer.value(at: pointer) else {
            return false
        }
        guard let equals else { return value.isSomething }
        switch value {
        case .string(let text): return text == equals
        case .number(let number): return number.text == equals
        case .bool(let bool): return String(bool) == equals
        case .null: return equals == "null"
        case .array, .object: return false
        }
    }
}

extension JSONValue {
    fileprivate var isSomething: Bool {
        switch self {
        case .null: false
        case .bool(let bool): bool
        case .number(let number): Double(number.text) != 0
        case .string(let text): !text.isEmpty
        case .array(let elements): !elements.isEmpty
        case .object(let members): !members.isEmpty
        }
    }
}
