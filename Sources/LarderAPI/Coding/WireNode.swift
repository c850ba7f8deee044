import LarderJSON
import LarderModel

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
