package import LarderJSON

// JSON as literals, and as text of many lines.

extension JSONValue {
    static func integer(_ number: Int) -> JSONValue { .plain(String(number)) }

    /// A number or a boolean where the text is one, else a string.
    static func plain(_ text: String) -> JSONValue {
        let value = try? JSONValue(parsing: Array(text.utf8))
        return value?.string == nil ? value ?? .string(text) : .string(text)
    }

    /// The member of a name; nil takes it away, a new one comes last.
    subscript(name: String) -> JSONValue? {
        get { members?.first { $0.name == name }?.value }
        set {
            var members = members ?? []
            let place = members.firstIndex { $0.name == name }
            switch (place, newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil): members.remove(at: place)
            case (nil, let value?): members.append(JSONMember(name: name, value: value))
            case (nil, nil): break
            }
            self = .object(members)
        }
    }

    /// Compact JSON, in which what is longer than a line has a line for each member.
    func lines() -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.count > 100 else { return text }
        switch self {
        case .array(let elements):
            return "[\n" + elements.map { $0.lines() }.joined(separator: ",\n") + "\n]"
        case .object(let members):
            let lines = members.map { member in
                let name = String(decoding: JSONValue.string(member.name).bytes, as: UTF8.self)
                return "\(name):\(member.value.lines())"
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n}"
        case .null, .bool, .number, .string: return text
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral text: String) { self = .string(text) }
    package init(booleanLiteral bool: Bool) { self = .bool(bool) }
    package init(integerLiteral number: Int) { self = .integer(number) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(members.map { JSONMember(name: $0.0, value: $0.1) })
    }
}
