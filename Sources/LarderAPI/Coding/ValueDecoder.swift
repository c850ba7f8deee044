import LarderJSON
import LarderModel

/// The decoder of one value.
///
/// It remembers which members were asked for: these are the ones that the value's type has.
final class ValueDecoder: Decoder, PathlessCoder {
    /// The form of JSON that the value's type asks for.
    private enum Form {
        case object
        case array
        /// Another value, which is read by itself.
        case single
    }

    let state: DecodingState
    let node: WireNode
    let path: WirePath
    private var asked: [String] = []
    /// Whether no member comes twice, as far as the mode asks for that.
    private var areDistinct = false
    private var form = Form.object
    private var index: [JSONName: Int] = [:]
    /// The value of the last name in `asked`: an optional member is asked for three times.
    private var found: WireNode?

    /// How many members are looked through one by one.
    private static let scannedMax = 16

    init(_ state: DecodingState, _ node: WireNode, _ path: WirePath) {
        self.state = state
        self.node = node
        self.path = path
        guard case .object(let members) = node.content, members.count > Self.scannedMax else {
            return
        }
        for (place, member) in members.enumerated() { index[JSONName(member.name)] = place }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let (members, names) = (try members(), state.names(of: type))
        return KeyedDecodingContainer(
            ObjectDecoding<Key>(decoder: self, members: members, names: names)
        )
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = node.content else {
            throw state.wrong(node, path, "an array")
        }
        form = .array
        return ArrayDecoding(decoder: self, elements: elements)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        form = .single
        return SingleDecoding(decoder: self)
    }

    /// Expects an object where a type without members has not asked for anything.
    func checkKind() throws(APIDecodingError) {
        if form == .object, asked.isEmpty { _ = try members() }
    }

    /// The members of the object, of which none comes twice unless the mode allows it.
    func members() throws(APIDecodingError) -> [WireNode.Member] {
        guard case .object(let members) = node.content else {
            throw state.wrong(node, path, "an object")
        }
        guard state.mode == .strict, !areDistinct, let twice = Self.repeated(in: members) else {
            areDistinct = true
            return members
        }
        throw .repeatedMember(twice, in: path.text, state.source)
    }

    /// The first name that comes a second time.
    private static func repeated(in members: [WireNode.Member]) -> String? {
        guard members.count > scannedMax else {
            return members.indices.first { place in
                members[..<place].contains { $0.name.hasSameBytes(as: members[place].name) }
            }.map { members[$0].name }
        }
        var seen: Set<JSONName> = []
        return members.first { !seen.insert(JSONName($0.name)).inserted }?.name
    }

    /// The value of the last member of this name, which counts as known from now on.
    func value(_ name: String, in members: [WireNode.Member]) -> WireNode? {
        if let last = asked.last, last.hasSameBytes(as: name) { return found }
        asked.append(name)
        if members.count > Self.scannedMax {
            found = index[JSONName(name)].map { members[$0].value }
        } else {
            found = members.last { $0.name.hasSameBytes(as: name) }?.value
        }
        return found
    }

    /// The first unknown member of a value that was not read to its end, so that its type has members
    /// that were not asked for.
    ///
    /// A misspelled member is reported as unknown, and not as missing.
    func unknownMember<Value: Decodable>(of type: Value.Type) -> APIDecodingError? {
        guard state.mode == .strict, form == .object else { return nil }
        let members = MemberProbe.members(of: type)
        return members.areAll ? unknownMember(beside: members.known.map(\.name)) : nil
    }

    /// The first member that was not asked for, if the mode refuses those, once the value was read.
    func unknownMember(beside others: [String] = []) -> APIDecodingError? {
        guard state.mode == .strict, form == .object, case .object(let members) = node.content,
            let unknown = unknown(of: members, beside: others)
        else { return nil }
        var known = others
        var names = Set(others.map(JSONName.init))
        for name in asked where names.insert(JSONName(name)).inserted { known.append(name) }
        return .unknownMember(unknown, in: path.text, known: known, state.source)
    }

    /// The first name that is neither among `others` nor was asked for.
    private func unknown(of members: [WireNode.Member], beside others: [String]) -> String? {
        guard members.count > Self.scannedMax else {
            return members.first { member in
                !(asked.contains { $0.hasSameBytes(as: member.name) }
                    || others.contains { $0.hasSameBytes(as: member.name) })
            }?.name
        }
        let names = Set((others + asked).map(JSONName.init))
        return members.first { !names.contains(JSONName($0.name)) }?.name
    }
}

private struct ObjectDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol, PathlessCoder {
    let decoder: ValueDecoder
    let members: [WireNode.Member]
    let names: MemberNames

    /// Members whose names are keys as they are: of a dictionary.
    var allKeys: [Key] { members.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool { decoder.value(names.text(key), in: members) != nil }

    func decodeNil(forKey key: Key) throws -> Bool {
        if case .null = try node(key).content { true } else { false }
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder.state.read(type, try node(key), path(key))
    }

    /// A query has no objects, so a member that is one is not among its parameters.
    func decodeIfPresent<Value: Decodable>(
        _ type: Value.Type,
        forKey key: Key
    ) throws -> Value? {
        if decoder.state.source == .query, type is any NamedMembers.Type { return nil }
        guard contains(key) else { return nil }
        if type == GivenJSON.self {
            return GivenJSON(json: try decode(RawJSON.self, forKey: key)) as? Value
        }
        guard try !decodeNil(forKey: key) else { return nil }
        return try decode(type, forKey: key)
    }

    // The usual types, which most members have, without the way through a generic function.

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try decoder.state.string(try node(key), path(key))
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try decoder.state.bool(try node(key), path(key))
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try decoder.state.integer(type, try node(key), path(key))
    }

    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try decoder.state.integer(type, try node(key), path(key))
    }

    /// The object itself, for ``Flattened``.
    func superDecoder() -> any Decoder { decoder }

    private func path(_ key: Key) -> WirePath { .member(names.text(key), of: decoder.path) }

    private func node(_ key: Key) throws(APIDecodingError) -> WireNode {
        let name = names.text(key)
        guard let node = decoder.value(name, in: members) else {
            throw .missingMember(name, in: decoder.path.text, decoder.state.source)
        }
        return node
    }
}

/// A wire type asks for no nested container, and its superclass is the object itself.
extension KeyedDecodingContainerProtocol where Self: PathlessCoder {
    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) -> KeyedDecodingContainer<Nested> {
        preconditionFailure("a wire type asks for no nested container")
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
        preconditionFailure("a wire type asks for no nested container")
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder() }
}

private struct ArrayDecoding: UnkeyedDecodingContainer, PathlessCoder {
    let decoder: ValueDecoder
    let elements: [WireNode]
    private(set) var currentIndex = 0

    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    private var path: WirePath { .element(currentIndex, of: decoder.path) }

    private func current() throws(APIDecodingError) -> WireNode {
        guard !isAtEnd else { throw .invalid(at: path.text, reason: "the array is too short") }
        return elements[currentIndex]
    }

    mutating func decodeNil() throws -> Bool {
        guard case .null = try current().content else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try decoder.state.read(type, try current(), path)
        currentIndex += 1
        return value
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) -> KeyedDecodingContainer<Nested> {
        preconditionFailure("a wire type asks for no nested container")
    }

    func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer {
        preconditionFailure("a wire type asks for no nested container")
    }

    func superDecoder() -> any Decoder { preconditionFailure("a wire type has no superclass") }
}

private struct SingleDecoding: SingleValueDecodingContainer, PathlessCoder {
    let decoder: ValueDecoder

    func decodeNil() -> Bool {
        if case .null = decoder.node.content { true } else { false }
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try decoder.state.read(type, decoder.node, decoder.path)
    }
}

/// A JSON text or a query as a tree, of which each value knows its bytes.
struct WireNode {
    struct Member {
        let name: String
        let value: WireNode
    }

    enum Content {
        case null
        case bool(Bool)
        /// As it is written.
        case number(String)
        case string(String)
        case array([WireNode])
        case object([Member])
        /// The values of a query parameter, in the order in which they came.
        case words([String])
    }

    let content: Content
    /// Empty in a query.
    let range: Range<Int>

    init(_ content: Content, _ range: Range<Int> = 0..<0) {
        self.content = content
        self.range = range
    }

    /// The kind of the value, as a message says it: `a number`.
    var kindText: String {
        switch content {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string, .words: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension WireNode {
    init(parsing json: [UInt8], depthMax: Int) throws(JSONError) {
        let result = json.withUnsafeBytes { bytes -> Result<WireNode, JSONError> in
            Result { () throws(JSONError) in
                var tokenizer = JSONTokenizer(bytes, depthMax: depthMax)
                // A text without a value is an error of the tokenizer's.
                guard let first = try tokenizer.next() else { throw .unexpectedEnd(at: 0) }
                let node = try Self.value(first, &tokenizer, bytes)
                while try tokenizer.next() != nil {}
                return node
            }
        }
        self = try result.get()
    }

    private static func value(
        _ token: JSONToken,
        _ tokenizer: inout JSONTokenizer,
        _ bytes: UnsafeRawBufferPointer
    ) throws(JSONError) -> WireNode {
        switch token.kind {
        case .null: return WireNode(.null, token.range)
        case .true: return WireNode(.bool(true), token.range)
        case .false: return WireNode(.bool(false), token.range)
        case .number:
            return WireNode(
                .number(String(decoding: bytes[token.range], as: UTF8.self)),
                token.range
            )
        case .string: return WireNode(.string(JSONStringScan.text(token, in: bytes)), token.range)
        case .beginArray:
            var elements: [WireNode] = []
            while let next = try tokenizer.next() {
                guard next.kind != .endArray else {
                    let range = token.range.lowerBound..<next.range.upperBound
                    return WireNode(.array(elements), range)
                }
                elements.append(try value(next, &tokenizer, bytes))
            }
        case .beginObject:
            var members: [Member] = []
            while let next = try tokenizer.next() {
                guard next.kind != .endObject else {
                    let range = token.range.lowerBound..<next.range.upperBound
                    return WireNode(.object(members), range)
                }
                let name = JSONStringScan.text(next, in: bytes)
                guard let first = try tokenizer.next() else { break }
                members.append(Member(name: name, value: try value(first, &tokenizer, bytes)))
            }
        case .endArray, .endObject, .name: break
        }
        preconditionFailure("the tokenizer pairs what opens and closes")
    }
}

extension WireNode {
    /// Reads a query as a form is read (`application/x-www-form-urlencoded`): `+` is a space.
    init(query: Substring) throws(APIDecodingError) {
        var names: [String] = []
        var words: [JSONName: [String]] = [:]
        for piece in query.split(separator: "&") {
            let name = piece.prefix { $0 != "=" }
            guard let decoded = Self.decode(name),
                let value = Self.decode(piece.dropFirst(name.count + 1))
            else { throw .badEncoding(name: String(name)) }
            if words[JSONName(decoded)] == nil { names.append(decoded) }
            words[JSONName(decoded), default: []].append(value)
        }
        self.init(
            .object(
                names.map { name in
                    Member(name: name, value: WireNode(.words(words[JSONName(name)] ?? [])))
                }
            )
        )
    }

    private static func decode(_ text: Substring) -> String? {
        PercentCoding.decoded(text.utf8.lazy.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 })
    }
}
