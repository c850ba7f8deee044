import LarderJSON

/// A value as the simulated server and the model have it: an object of numbers and lists.
struct PlainValue: Hashable, CustomStringConvertible {
    enum Member: Hashable, Sendable {
        case number(Int)
        case list([Int])
        /// Entities in a list.
        case ids([String])
        /// Objects in a list, as a client sees them.
        case rows([Row])
    }

    /// An object in a list.
    struct Row: Hashable, Sendable {
        let id: String
        let value: PlainValue
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
            case .ids(let ids): "\"\(name)\":[\(ids.joined(separator: ","))]"
            case .rows(let rows):
                "\"\(name)\":[\(rows.map { $0.value.text(of: $0.id) }.joined(separator: ","))]"
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
            case .array(let elements) where member.name == "items":
                guard let rows = Self.rows(elements) else { return nil }
                members[member.name] = .rows(rows)
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

    private static func rows(_ elements: [JSONValue]) -> [Row]? {
        var rows: [Row] = []
        for element in elements {
            guard case .string(let id)? = element["id"],
                let value = PlainValue(parsing: element.bytes)
            else { return nil }
            rows.append(Row(id: id, value: value))
        }
        return rows
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
        case .ids(let ids): .array(ids.map { .string($0) })
        case .rows(let rows): .array(rows.map { $0.value.json(of: $0.id) })
        }
    }
}
