import LarderModel

/// Members with names of a client's or an origin's own, such as header fields, in their order.
public struct NamedValues<Value: Codable & Sendable>: Sendable {
    /// A name with its value.
    public struct Member: Sendable {
        /// The name as it travels.
        public var name: String
        /// The value.
        public var value: Value

        /// A member with a name and a value.
        public init(_ name: String, _ value: Value) {
            self.name = name
            self.value = value
        }
    }

    /// The members in their order.
    public var members: [Member]

    /// These members in this order.
    public init(_ members: [Member] = []) {
        self.members = members
    }

    /// The value of the last member of this name.
    public subscript(name: String) -> Value? {
        members.last { $0.name.hasSameBytes(as: name) }?.value
    }
}

extension NamedValues.Member: Equatable where Value: Equatable {}
extension NamedValues: Equatable where Value: Equatable {}

extension NamedValues: ExpressibleByDictionaryLiteral {
    /// These members in this order.
    public init(dictionaryLiteral members: (String, Value)...) {
        self.members = members.map { Member($0.0, $0.1) }
    }
}

extension NamedValues: Codable {
    /// Reads an object.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: GivenName.self)
        members = try container.allKeys.map { key in
            Member(key.stringValue, try container.decode(Value.self, forKey: key))
        }
    }

    /// Writes an object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: GivenName.self)
        for member in members {
            try container.encode(member.value, forKey: GivenName(stringValue: member.name))
        }
    }
}

/// An object whose members no type declares.
protocol NamedMembers {}

extension NamedValues: NamedMembers {}

/// The name of a member that no type declares: it travels as it is.
struct GivenName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) { nil }
}
