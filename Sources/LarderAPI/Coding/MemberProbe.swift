import LarderJSON
import Synchronization

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

    /// The members of a type, in the order of its declaration, and whether these are all.
    package static func members(of type: any Decodable.Type) -> (known: [Member], areAll: Bool) {
        let probe = MemberProbe()
        let isRead = (try? type.init(from: probe)) != nil
        return (probe.members, isRead && !(type is any WireUnion.Type))
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
    private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol, PathlessCoder {
        let probe: MemberProbe

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
            let isJSON = type == GivenJSON.self
            probe.note(key, isJSON ? RawJSON.self : type, isOptional: true)
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

        func superDecoder() -> any Decoder { probe }
    }

    private struct NoElements: UnkeyedDecodingContainer, PathlessCoder {
        var count: Int? { 0 }
        var isAtEnd: Bool { true }
        var currentIndex: Int { 0 }

        func decodeNil() -> Bool { true }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try placeholder(type) }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) -> KeyedDecodingContainer<Nested> {
            MemberProbe().container(keyedBy: type)
        }

        func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { self }
        func superDecoder() -> any Decoder { MemberProbe() }
    }

    private struct NoValue: SingleValueDecodingContainer, PathlessCoder {
        func decodeNil() -> Bool { true }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try placeholder(type) }
    }
}

/// The names of the members of the types that were written or read; one encoder or decoder has it at a
/// time.
///
/// A coder that made its names itself spent a third to a half of its time on it (perf: 64 clients that
/// write, `GET /v1/status`).
struct NamesOfTypes: @unchecked Sendable {
    /// By the type of the coding keys.
    private var byKeys: [ObjectIdentifier: MemberNames] = [:]

    // Unchecked: a value is in the list, or one encoder or decoder has it.
    private static let unused = Mutex<[NamesOfTypes]>([])
    private static let unusedMax = 8

    static func taken() -> NamesOfTypes {
        unused.withLock { $0.popLast() } ?? NamesOfTypes()
    }

    mutating func names<Key: CodingKey>(of type: Key.Type) -> MemberNames {
        if let names = byKeys[ObjectIdentifier(type)] { return names }
        let new = MemberNames(of: type)
        byKeys[ObjectIdentifier(type)] = new
        return new
    }

    func giveBack() {
        Self.unused.withLock { if $0.count < Self.unusedMax { $0.append(self) } }
    }
}

/// The names of the members of one type as they travel, by its coding keys.
///
/// A page of 1,000 entries asks for 15,000 names; so a name is made once for each key.
final class MemberNames {
    /// By the one byte of a synthesized key; empty where the key was not asked for.
    @exclusivity(unchecked) private var texts: [String] = []
    /// The same with quotation marks and colon.
    @exclusivity(unchecked) private var encoded: [[UInt8]] = []

    init<Key: CodingKey>(of keys: Key.Type) {
        assert("\(keys)" != "_DictionaryCodingKey", "a dictionary has no order; use NamedValues")
    }

    func text<Key: CodingKey>(_ key: Key) -> String {
        guard let place = place(key) else { return memberName(of: key) }
        return texts[place]
    }

    func encoded<Key: CodingKey>(_ key: Key) -> [UInt8] {
        guard let place = place(key) else { return Self.encode(memberName(of: key)) }
        return encoded[place]
    }

    /// Where the key's name is, which is made if it is not there; nil for a key with a payload.
    private func place<Key: CodingKey>(_ key: Key) -> Int? {
        guard MemoryLayout<Key>.size == 1 else { return nil }
        let place = withUnsafeBytes(of: key) { Int($0[0]) }
        if place < texts.count, !encoded[place].isEmpty { return place }
        if place >= texts.count {
            let more = place + 1 - texts.count
            texts += Array(repeating: "", count: more)
            encoded += Array(repeating: [], count: more)
        }
        texts[place] = memberName(of: key)
        encoded[place] = Self.encode(texts[place])
        return place
    }

    private static func encode(_ name: String) -> [UInt8] {
        var json = JSONWriter()
        json.name(name)
        return json.bytes
    }
}

/// The name of a member as it travels.
func memberName(of key: some CodingKey) -> String {
    if key is GivenName { return key.stringValue }
    // No property can be named `self`.
    return key.stringValue == "isOwn" ? "self" : snakeCase(key.stringValue)
}

/// The name of a property as the name of its member: `baseURL` becomes `base_url`, `id` stays.
///
/// A word begins at a capital letter after a small one or a digit, and at the last of several
/// capital letters before a small one: `urlTTLText` is `url_ttl_text`. An `s` after an
/// abbreviation belongs to it: `pendingIDs` is `pending_ids`.
package func snakeCase(_ name: String) -> String {
    let letters = Array(name.utf8)
    var text: [UInt8] = []
    for (index, letter) in letters.enumerated() {
        guard letter.isCapital else {
            text.append(letter)
            continue
        }
        let isAfterSmall = index > 0 && !letters[index - 1].isCapital
        let rest = letters[(index + 1)...]
        let isPlural =
            rest.first == UInt8(ascii: "s") && !(rest.dropFirst().first?.isSmall ?? false)
        let isBeforeSmall = rest.first?.isSmall == true && !isPlural
        if index > 0, isAfterSmall || isBeforeSmall { text.append(UInt8(ascii: "_")) }
        text.append(letter | 0x20)
    }
    return String(decoding: text, as: UTF8.self)
}

extension UInt8 {
    fileprivate var isCapital: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
    fileprivate var isSmall: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
}
