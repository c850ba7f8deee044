/// A type whose other members depend on the value of one of them.
protocol WireUnion {}

/// Asks a type for the names of its members, without a value: the type reads an object in which
/// every member that it needs has a value without meaning.
///
/// The coding keys that the compiler makes cannot be listed. A type with an `init(from:)` of its
/// own may refuse such values. Then only the names up to there are known, as of a ``WireUnion``.
package final class MemberProbe: Decoder {
    package struct Member {
        package let name: String
        /// Nil if the type was not told.
        package var type: (any Decodable.Type)?
        package var isOptional = false
    }

    private var members: [Member] = []
    private var names: [String] { members.map(\.name) }

    /// The members of a type, in the order of its declaration.
    package static func members(of type: any Decodable.Type) -> [Member] {
        let probe = MemberProbe()
        _ = try? type.init(from: probe)
        return probe.members
    }

    static func names<Value: Decodable>(of type: Value.Type) -> (names: [String], isWhole: Bool) {
        let probe = MemberProbe()
        do {
            _ = try type.init(from: probe)
            return (probe.names, !(type is any WireUnion.Type))
        } catch {
            return (probe.names, false)
        }
    }

    package var codingPath: [any CodingKey] { [] }
    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members<Key>(probe: self))
    }

    package func unkeyedContainer() -> any UnkeyedDecodingContainer { NoElements() }
    package func singleValueContainer() -> any SingleValueDecodingContainer { NoValue() }

    private func note(
        _ key: some CodingKey,
        _ type: (any Decodable.Type)? = nil,
        isOptional: Bool = false
    ) {
        let name = memberName(of: key)
        if members.last?.name != name { members.append(Member(name: name)) }
        guard let type else { return }
        members[members.count - 1].type = type
        members[members.count - 1].isOptional = isOptional
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
            probe.note(key, type)
            return try placeholder(type)
        }

        func decodeIfPresent<Value: Decodable>(
            _ type: Value.Type,
            forKey key: Key
        ) throws -> Value? {
            probe.note(key, type, isOptional: true)
            return nil
        }

        // The compiler takes a function of its own for each of these.
        func decodeIfPresent(_: Bool.Type, forKey key: Key) -> Bool? { absent(key) }
        func decodeIfPresent(_: String.Type, forKey key: Key) -> String? { absent(key) }
        func decodeIfPresent(_: Double.Type, forKey key: Key) -> Double? { absent(key) }
        func decodeIfPresent(_: Int.Type, forKey key: Key) -> Int? { absent(key) }
        func decodeIfPresent(_: Int64.Type, forKey key: Key) -> Int64? { absent(key) }
        func decodeIfPresent(_: UInt32.Type, forKey key: Key) -> UInt32? { absent(key) }

        private func absent<Value: Decodable>(_ key: Key) -> Value? {
            probe.note(key, Value.self, isOptional: true)
            return nil
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
