package import LarderJSON
import LarderModel

/// Reads values of the API from JSON and from queries.
///
/// Names are in snake_case: `base_url` is read for `baseURL`. A member that is null counts as not
/// given. In a query an array is a parameter that is repeated. Commas divide arrays of numbers,
/// booleans and ``WireEnum`` too. A boolean is `true`, `false`, `1` or `0`.
package struct APIDecoder: Sendable {
    package enum Mode: Sendable {
        /// For requests: unknown members, members that are given twice and unknown values of a
        /// ``WireEnum`` are errors.
        case strict
        /// For answers, which a newer daemon may have sent: unknown members are ignored, of
        /// several the last counts, and an unknown value of a ``WireEnum`` is kept.
        case lenient
    }

    private let mode: Mode

    package init(_ mode: Mode) { self.mode = mode }

    package func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        from json: [UInt8]
    ) throws(APIDecodingError) -> Value {
        // An answer has values of clients and origins within its own objects, so it may be deeper.
        let depthMax = mode == .strict ? Limits.jsonDepthMax : Limits.frameDepthMax
        let node: WireNode
        do throws(JSONError) {
            node = try WireNode(parsing: json, depthMax: depthMax)
        } catch {
            throw .notJSON(error)
        }
        let state = DecodingState(mode, .json, json)
        defer { state.giveNamesBack() }
        return try decode(type, node, state)
    }

    /// Reads what follows the `?` of a target.
    package func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        query: Substring
    ) throws(APIDecodingError) -> Value {
        let state = DecodingState(mode, .query, [])
        defer { state.giveNamesBack() }
        return try decode(type, WireNode(query: query), state)
    }

    /// The names of the members that a type has, in the order of its declaration.
    package static func memberNames<Value: Decodable>(of type: Value.Type) -> [String] {
        MemberProbe.members(of: type).known.map(\.name)
    }

    private func decode<Value: Decodable>(
        _ type: Value.Type,
        _ node: WireNode,
        _ state: DecodingState
    ) throws(APIDecodingError) -> Value {
        do {
            return try state.read(type, node, .root)
        } catch {
            throw APIDecodingError(error, at: .root)
        }
    }
}

/// Where a value is in a text or a query.
indirect enum WirePath {
    case root
    case member(String, of: WirePath)
    case element(Int, of: WirePath)

    /// `settings.hosts[2]`; empty for the root.
    var text: String {
        switch self {
        case .root: ""
        case .member(let name, .root): name
        case .member(let name, let path): "\(path.text).\(name)"
        case .element(let index, let path): "\(path.text)[\(index)]"
        }
    }
}

extension APIDecodingError {
    /// An error of ours as it is, one of a type's own as its reason.
    init(_ error: any Error, at path: WirePath) {
        switch error {
        case let error as APIDecodingError: self = error
        case DecodingError.dataCorrupted(let context):
            self = .invalid(at: path.text, reason: context.debugDescription)
        default: self = .invalid(at: path.text, reason: "\(error)")
        }
    }
}

/// State that the decoders of one text or query share.
final class DecodingState {
    let mode: APIDecoder.Mode
    let source: APIDecodingError.Source
    /// The bytes that the ranges of nodes are offsets of.
    private let json: [UInt8]
    private var names: NamesOfTypes

    init(_ mode: APIDecoder.Mode, _ source: APIDecodingError.Source, _ json: [UInt8]) {
        self.mode = mode
        self.source = source
        self.json = json
        names = NamesOfTypes.taken()
    }

    func names<Key: CodingKey>(of type: Key.Type) -> MemberNames { names.names(of: type) }

    /// Leaves the names to the next encoder or decoder; this one is not used after it.
    func giveNamesBack() { names.giveBack() }

    func read<Value: Decodable>(
        _ type: Value.Type,
        _ node: WireNode,
        _ path: WirePath
    ) throws -> Value {
        // A nil that is no value would be cast to an optional type.
        if let plain = try plain(type, node, path), let value = plain as? Value { return value }
        let decoder = ValueDecoder(self, listed(node, for: type), path)
        let value: Value
        do {
            value = try type.init(from: decoder)
            try decoder.checkKind()
        } catch {
            throw decoder.unknownMember(of: type) ?? APIDecodingError(error, at: path)
        }
        if let error = decoder.unknownMember() { throw error }
        return value
    }

    /// A value that needs no decoder; nil for other types.
    private func plain<Value>(
        _ type: Value.Type,
        _ node: WireNode,
        _ path: WirePath
    ) throws -> Any? {
        if type == String.self { return try string(node, path) }
        if type == Bool.self { return try bool(node, path) }
        if type == Double.self { return try double(node, path) }
        if type == Int64.self { return try integer(Int64.self, node, path) }
        if type == Int.self { return try integer(Int.self, node, path) }
        if let type = type as? any FixedWidthInteger.Type { return try integer(type, node, path) }
        if type == Duration.self { return try duration(node, path) }
        if let type = type as? any WireEnum.Type { return try wireEnum(type, node, path) }
        guard type == RawJSON.self else { return nil }
        return source == .json
            ? RawJSON(unchecked: Array(json[node.range])) : try string(node, path)
    }

    /// A parameter of a query as a list, if the type is one.
    private func listed(_ node: WireNode, for type: Any.Type) -> WireNode {
        guard case .words(let words) = node.content, let list = type as? any WireList.Type else {
            return node
        }
        let parts =
            list.hasCommas
            ? words.flatMap { $0.split(separator: ",").map(String.init) } : words
        return WireNode(.array(parts.map { WireNode(.words([$0])) }))
    }
}

extension DecodingState {
    func string(_ node: WireNode, _ path: WirePath) throws(APIDecodingError) -> String {
        switch node.content {
        case .string(let text): return text
        case .words(let words): return try word(words, path)
        case .null, .bool, .number, .array, .object:
            throw wrong(node, path, "a string")
        }
    }

    func bool(_ node: WireNode, _ path: WirePath) throws(APIDecodingError) -> Bool {
        switch node.content {
        case .bool(let bool): return bool
        case .words(let words):
            let text = try word(words, path)
            switch text {
            case "true", "1": return true
            case "false", "0": return false
            default:
                throw .unknownValue(
                    at: path.text,
                    text: text,
                    known: ["true", "false", "1", "0"]
                )
            }
        case .null, .number, .string, .array, .object:
            throw wrong(node, path, "a boolean")
        }
    }

    func double(_ node: WireNode, _ path: WirePath) throws(APIDecodingError) -> Double {
        let text = try number(node, path, "a number")
        guard let double = Double(text), double.isFinite else {
            throw .outOfRange(at: path.text, text: text, wanted: "a number of 64 bits")
        }
        return double
    }

    func integer<Integer: FixedWidthInteger>(
        _ type: Integer.Type,
        _ node: WireNode,
        _ path: WirePath
    ) throws(APIDecodingError) -> Integer {
        let text = try number(node, path, "an integer")
        if let integer = Integer(text), text.utf8.first != UInt8(ascii: "+") { return integer }
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else {
            throw wrong(node, path, "an integer")
        }
        let range = "\(Integer.min) to \(Integer.max)"
        throw .outOfRange(at: path.text, text: text, wanted: range)
    }

    private func number(
        _ node: WireNode,
        _ path: WirePath,
        _ wanted: String
    ) throws(APIDecodingError) -> String {
        switch node.content {
        case .number(let text): return text
        case .words(let words):
            let text = try word(words, path)
            guard text.utf8.contains(where: \.isASCIIDigit) else {
                throw .wrongType(at: path.text, found: "'\(text)'", wanted: wanted)
            }
            return text
        case .null, .bool, .string, .array, .object:
            throw wrong(node, path, wanted)
        }
    }

    private func duration(_ node: WireNode, _ path: WirePath) throws(APIDecodingError) -> Duration {
        let text = try string(node, path)
        do throws(ModelError) {
            return try Duration(unit: text)
        } catch {
            throw .invalid(at: path.text, reason: error.message)
        }
    }

    private func wireEnum<Value: WireEnum>(
        _ type: Value.Type,
        _ node: WireNode,
        _ path: WirePath
    ) throws(APIDecodingError) -> Value {
        let value = Value(rawValue: try string(node, path))
        guard mode == .lenient || Value.known.contains(value) else {
            let known = Value.known.map(\.rawValue)
            throw .unknownValue(at: path.text, text: value.rawValue, known: known)
        }
        return value
    }

    private func word(_ words: [String], _ path: WirePath) throws(APIDecodingError) -> String {
        if words.count == 1 || mode == .lenient, let last = words.last { return last }
        throw .repeatedMember(path.text, in: "", source)
    }

    func wrong(_ node: WireNode, _ path: WirePath, _ wanted: String) -> APIDecodingError {
        var found = node.kindText
        if case .words(let words) = node.content { found = "'\(words.joined(separator: ","))'" }
        return .wrongType(at: path.text, found: found, wanted: wanted)
    }
}

/// An array, which a query gives by repeating a parameter.
private protocol WireList {
    /// Whether commas divide it too: the text of no element has one.
    static var hasCommas: Bool { get }
}

extension Array: WireList {
    fileprivate static var hasCommas: Bool {
        Element.self == Bool.self || Element.self is any FixedWidthInteger.Type
            || Element.self is any WireEnum.Type
    }
}

/// Why a text or a query is not the value of the API that it should be.
///
/// Each names the place: `settings.fetch.timeout`, `changes[2].target`.
package enum APIDecodingError: Error, Equatable, Sendable {
    /// Where a value comes from, which is what a message calls it.
    package enum Source: Equatable, Sendable {
        case json
        case query
    }

    case notJSON(JSONError)
    /// The query's percent-encoding is invalid; the name as it was given.
    case badEncoding(name: String)
    /// The members that the type has, in the order of their declaration.
    case unknownMember(String, in: String, known: [String], Source)
    case repeatedMember(String, in: String, Source)
    case missingMember(String, in: String, Source)
    /// `found` and `wanted` are nouns: `a string`.
    case wrongType(at: String, found: String, wanted: String)
    case outOfRange(at: String, text: String, wanted: String)
    /// A text that is none of those that there are.
    case unknownValue(at: String, text: String, known: [String])
    /// A text that its type refuses, and why.
    case invalid(at: String, reason: String)

    /// The error in one sentence for people, without a full stop.
    package var message: String {
        switch self {
        case .notJSON(let error): error.message
        case .badEncoding(let name):
            "the query parameter '\(name)' is not percent-encoded UTF-8"
        case .unknownMember(let name, let place, let known, let source):
            "unknown \(source.noun) '\(name)'\(Self.within(place)), "
                + nearestNameAdvice(on: name, among: known)
        case .repeatedMember(let name, let place, let source):
            "the \(source.noun) '\(name)'\(Self.within(place)) is given twice"
        case .missingMember(let name, let place, let source):
            "the \(source.noun) '\(name)'\(Self.within(place)) is missing"
        case .wrongType(let place, let found, let wanted):
            "\(place.isEmpty ? "the body" : "'\(place)'") is \(found), \(wanted) is needed"
        case .outOfRange(let place, let text, let wanted):
            "\(place): \(text) is out of range, \(wanted) is needed"
        case .unknownValue(let place, let text, let known):
            "\(place): '\(text)' is unknown, \(nearestNameAdvice(on: text, among: known))"
        case .invalid(let place, let reason): "\(place): \(reason)"
        }
    }

    private static func within(_ place: String) -> String { place.isEmpty ? "" : " in '\(place)'" }
}

extension APIDecodingError.Source {
    fileprivate var noun: String {
        switch self {
        case .json: "member"
        case .query: "query parameter"
        }
    }
}
