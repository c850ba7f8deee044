import LarderModel

/// A type whose other members depend on the value of one of them.
protocol WireUnion {}

/// Asks a type for the names of its members, without a value: the type reads an object in which
/// every member that it needs has a value without meaning.
///
/// The coding keys that the compiler makes cannot be listed. A type with an `init(from:)` of its
/// own may refuse such values. Then only the names up to there are known, as of a ``WireUnion``.
final class MemberProbe: Decoder {
    private var names: [String] = []

    static func names<Value: Decodable>(of type: Value.Type) -> (names: [String], isWhole: Bool) {
        let probe = MemberProbe()
        do {
            _ = try type.init(from: probe)
            return (probe.names, !(type is any WireUnion.Type))
        } catch {
            return (probe.names, false)
        }
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members<Key>(probe: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { NoElements() }
    func singleValueContainer() -> any SingleValueDecodingContainer { NoValue() }

    private func note(_ key: some CodingKey) {
        let name = memberName(of: key)
        if names.last != name { names.append(name) }
    }

    fileprivate static func placeholder<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let plain: Any? =
            switch type {
            case is String.Type: ""
            case is Bool.Type: false
            case is Double.Type: 0.0
            case let type as any FixedWidthInteger.Type: zero(type)
            case is Duration.Type: Duration.zero
            case is RawJSON.Type: RawJSON.null
            case is Timestamp.Type: Timestamp(milliseconds: 0)
            case let type as any WireEnum.Type: type.init(rawValue: "")
            default: nil
            }
        if let plain, let value = plain as? Value { return value }
        return try type.init(from: MemberProbe())
    }

    private static func zero(_ type: any FixedWidthInteger.Type) -> Any { type.init(0) }

    /// Members that are there where they must be, and null where they may be.
    private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let probe: MemberProbe

        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        func contains(_ key: Key) -> Bool {
            probe.note(key)
            return false
        }

        func decodeNil(forKey key: Key) -> Bool {
            probe.note(key)
            return true
        }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            probe.note(key)
            return try placeholder(type)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type,
            forKey key: Key
        ) -> KeyedDecodingContainer<Nested> {
            probe.note(key)
            return MemberProbe().container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
            probe.note(key)
            return NoElements()
        }

        func superDecoder() -> any Decoder { probe }
        func superDecoder(forKey key: Key) -> any Decoder { probe }
    }

    private struct NoElements: UnkeyedDecodingContainer {
        var codingPath: [any CodingKey] { [] }
        var count: Int? { 0 }
        var isAtEnd: Bool { true }
        var currentIndex: Int { 0 }

        func decodeNil() -> Bool { true }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try placeholder(type)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) -> KeyedDecodingContainer<Nested> {
            MemberProbe().container(keyedBy: type)
        }

        func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { self }
        func superDecoder() -> any Decoder { MemberProbe() }
    }

    private struct NoValue: SingleValueDecodingContainer {
        var codingPath: [any CodingKey] { [] }

        func decodeNil() -> Bool { true }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try placeholder(type)
        }
    }
}
