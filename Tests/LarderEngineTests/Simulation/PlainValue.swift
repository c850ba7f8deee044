import LarderJSON

/// A value as the simulated server and the model have it: an object of numbers and lists.
struct PlainValue: Hashable, CustomStringConvertible {
    enum Member: Hashable {
        case number(Int)
        case list([Int])
    }

    static let names = ["count", "liked", "tags"]
    /// The members that say which entity it is.
    private static let identity: Set = ["type", "id"]

    var members: [String: Member] = [:]

    /// The JSON text, its members in the order of their names.
    var description: String { text(of: nil) }

    /// The JSON text, with what says which entity it is.
    func text(of entity: String?) -> String {
        let identity = entity.map { ["\"type\":\"Doc\"", "\"id\":\"\($0)\""] } ?? []
        let texts = members.sorted { $0.key < $1.key }.map { name, member in
            switch member {
            case .number(let number): "\"\(name)\":\(number)"
            case .list(let list): "\"\(name)\":[\(list.map(String.init).joined(separator: ","))]"
            }
        }
        return "{\((identity + texts).joined(separator: ","))}"
    }

    init(_ members: [String: Member] = [:]) {
        self.members = members
    }

    /// Nil where it is anything else.
    init?(parsing bytes: [UInt8]) {
        guard case .object(let found)? = try? JSONValue(parsing: bytes) else { return nil }
        for member in found {
            switch member.value {
            case .number(let number):
                guard let number = Int(number.text) else { return nil }
                members[member.name] = .number(number)
            case .array(let elements):
                var list: [Int] = []
                for element in elements {
                    guard case .number(let text) = element, let number = Int(text.text) else {
                        return nil
                    }
                    list.append(number)
                }
                members[member.name] = .list(list)
            case .string where Self.identity.contains(member.name): continue
            case .null, .bool, .string, .object: return nil
            }
        }
    }

    /// The value as the engine takes it.
    func json(of entity: String?) -> JSONValue {
        let identity = entity.map { ["type": "Doc", "id": $0] } ?? [:]
        return .object(
            identity.sorted { $0.key < $1.key }.map { name, text in
                JSONMember(name: name, value: .string(text))
            }
                + members.sorted { $0.key < $1.key }.map { name, member in
                    JSONMember(name: name, value: member.json)
                }
        )
    }
}

extension PlainValue.Member {
    var json: JSONValue {
        switch self {
        case .number(let number): .number(JSONNumber(Int64(number)))
        case .list(let list): .array(list.map { .number(JSONNumber(Int64($0))) })
        }
    }
}
