package import LarderJSON
package import LarderModel

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
    public init(_ members: [Member] = []) { self.members = members }

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

/// JSON of any form, also `null`, of a member that may be missing.
struct GivenJSON: Decodable, NamedMembers {
    let json: RawJSON
}

/// The name of a member that no type declares: it travels as it is.
struct GivenName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
}

/// Leaves the member of an optional property out where it has no value, in place of `null`.
///
///     @OmittedWhenNil public var restsUntil: Timestamp?
@propertyWrapper
public struct OmittedWhenNil<Value: Codable> {
    /// The value of the property.
    public var wrappedValue: Value?

    /// A property with this value.
    public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }
}

extension OmittedWhenNil: Sendable where Value: Sendable {}
extension OmittedWhenNil: Equatable where Value: Equatable {}
extension OmittedWhenNil: Hashable where Value: Hashable {}

/// Outside of an object there is nothing to leave out, so the value is written as any optional is.
extension OmittedWhenNil: Codable {
    /// Reads a value or null.
    public init(from decoder: any Decoder) throws { wrappedValue = try Value?(from: decoder) }

    /// Writes the value or null.
    public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

// The compiler takes these in the code that it makes for a type with such a property.

extension KeyedEncodingContainer {
    /// Writes the member only where there is a value.
    public mutating func encode<Value>(
        _ property: OmittedWhenNil<Value>,
        forKey key: Key
    ) throws {
        guard let value = property.wrappedValue else { return }
        try encode(value, forKey: key)
    }
}

extension KeyedDecodingContainer {
    /// Reads a member that may be missing or null; of ``RawJSON``, null is a value.
    public func decode<Value>(
        _ type: OmittedWhenNil<Value>.Type,
        forKey key: Key
    ) throws -> OmittedWhenNil<Value> {
        guard Value.self == RawJSON.self else {
            return OmittedWhenNil(wrappedValue: try decodeIfPresent(Value.self, forKey: key))
        }
        let given = try decodeIfPresent(GivenJSON.self, forKey: key)
        return OmittedWhenNil(wrappedValue: given?.json as? Value)
    }
}

/// Puts the members of a property's value among the members of the object around it.
///
///     @Flattened public var rows: UsageSum
///
/// They take the place of the property. The name of the property does not travel.
@propertyWrapper
public struct Flattened<Value: Codable> {
    /// The value of the property.
    public var wrappedValue: Value

    /// A property with this value.
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}

extension Flattened: Sendable where Value: Sendable {}
extension Flattened: Equatable where Value: Equatable {}
extension Flattened: Hashable where Value: Hashable {}

extension Flattened: Codable {
    /// Reads the value.
    public init(from decoder: any Decoder) throws { wrappedValue = try Value(from: decoder) }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

// The compiler takes these in the code that it makes for a type with such a property. The coder
// of the API has the object itself for a superclass.

extension KeyedEncodingContainer {
    /// Writes the members of the value.
    public mutating func encode<Value>(_ property: Flattened<Value>, forKey key: Key) throws {
        try property.wrappedValue.encode(to: superEncoder(forKey: key))
    }
}

extension KeyedDecodingContainer {
    /// Reads the members of the value.
    public func decode<Value>(
        _ type: Flattened<Value>.Type,
        forKey key: Key
    ) throws -> Flattened<Value> {
        Flattened(wrappedValue: try Value(from: superDecoder(forKey: key)))
    }
}

/// A JSON value as it was written: the spelling of its numbers, the order of its members and its
/// white space are kept.
public struct RawJSON: Hashable, Sendable {
    /// The value in UTF-8.
    public let bytes: [UInt8]

    /// The value null.
    public static let null = RawJSON(unchecked: Array("null".utf8))

    /// Nil for bytes that are not one JSON value.
    public init?(_ bytes: [UInt8]) {
        guard JSONValidator.accepts(bytes) else { return nil }
        self.bytes = bytes
    }

    /// Nil for a text that is not one JSON value.
    public init?(_ text: String) { self.init(Array(text.utf8)) }

    /// The value in its compact spelling.
    package init(_ value: JSONValue) { bytes = value.bytes }

    /// Bytes that are known to be one JSON value.
    package init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// JSON on one line, anything else as a string.
    package init(quoting bytes: [UInt8]) {
        self =
            RawJSON(bytes).map { RawJSON(unchecked: Self.onOneLine($0.bytes)) }
            ?? RawJSON(.string(String(decoding: bytes, as: UTF8.self)))
    }

    /// The first bytes of a body; null if it is empty.
    package init(quotingBody bytes: [UInt8], upTo bytesMax: Int = Limits.quotedBodyBytesMax) {
        let quoted = Array(bytes.prefix(bytesMax))
        self = quoted.isEmpty ? .null : RawJSON(quoting: quoted)
    }

    /// JSON without line ends, which occur only between its tokens, and without a byte order mark.
    package static func onOneLine(_ json: [UInt8]) -> [UInt8] {
        guard !json.starts(with: JSONTokenizer.byteOrderMark) else {
            return onOneLine(Array(json.dropFirst(JSONTokenizer.byteOrderMark.count)))
        }
        guard json.contains(where: { $0 == 0x0A || $0 == 0x0D }) else { return json }
        return json.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
    }

    /// The value as text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension RawJSON: Codable {
    /// Only the coder of the API keeps the bytes of a value; any other is refused.
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            .init(
                codingPath: decoder.codingPath,
                debugDescription: "RawJSON needs LarderAPI's coder"
            )
        )
    }

    /// Only the coder of the API keeps the bytes of a value; any other is refused.
    public func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            self,
            .init(
                codingPath: encoder.codingPath,
                debugDescription: "RawJSON needs LarderAPI's coder"
            )
        )
    }
}

/// Items of a list, up to the limit of the request.
public struct Page<Item: Codable & Sendable>: Codable, Sendable {
    /// The items, in the order of the list.
    public var items: [Item]
    /// The value of `cursor` that asks for the next page; null on the last page.
    public var next: String?

    /// A page with these items.
    public init(items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }
}

extension Page: Equatable where Item: Equatable {}

/// A moment in UTC with milliseconds, as RFC 3339 writes it: `2026-11-20T18:43:27.120Z`.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public let milliseconds: Int64

    /// A moment so many milliseconds after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package init(_ moment: LarderModel.Timestamp) { milliseconds = moment.milliseconds }

    /// The moment as it travels.
    public var text: String { LarderModel.Timestamp(milliseconds: milliseconds).rfc3339 }

    /// Whether a moment is before another.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

extension Timestamp: Codable {
    /// Reads RFC 3339 in UTC, with milliseconds or without; any other text is refused.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let moment = LarderModel.Timestamp(rfc3339: text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "'\(text)' is not a time, give 2026-11-20T18:43:27Z"
            )
        }
        self.init(moment)
    }

    /// Writes ``text``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// A text of which the API knows some values, and a newer daemon may know more.
///
///     public struct PinState: WireEnum {
///         public static let held = PinState(rawValue: "held")
///         public static let known: [PinState] = [.held]
///         public let rawValue: String
///         public init(rawValue: String) { self.rawValue = rawValue }
///     }
///
/// A request with an unknown value is refused. In an answer an unknown value is kept.
public protocol WireEnum: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The values that this version knows.
    static var known: [Self] { get }
    /// The value as it travels.
    var rawValue: String { get }
    /// A value, known or not.
    init(rawValue: String)
}

extension WireEnum {
    /// Reads the text, known or not.
    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    /// The value as it travels.
    public var description: String { rawValue }
}
