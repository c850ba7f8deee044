import LarderModel

/// Reads one JSON text (RFC 8259) token by token, in one pass and without a copy.
///
/// The tokenizer is strict: white space may surround the value, and strings must be valid UTF-8. It
/// skips a byte order mark before the value, as RFC 8259 8.1 allows.
///
/// The grammar has escaped surrogates without their other half, `\uD800`, so they are accepted.
/// Member names may repeat.
///
/// After ``next()`` has returned nil, the whole text was valid. After it has thrown, the tokenizer
/// must not be used again.
///
/// The memory behind `bytes` must outlive it: use it inside of `withUnsafeBytes`.
package struct JSONTokenizer {
    /// Tokens that may come next.
    ///
    ///     value ──[──> valueOrEnd ──value──> commaOrEnd ──,──> value (array), name (object)
    ///       │  ──{──> nameOrEnd ──name:──> value             ──], }──> commaOrEnd, done
    ///       └──scalar──> commaOrEnd; at depth 0: done
    private enum State {
        case value
        case valueOrEnd
        case nameOrEnd
        case name
        case commaOrEnd
        case done
    }

    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private var state = State.value
    /// How many arrays and objects are open.
    package private(set) var depth = 0
    private let depthMax: Int
    private var nesting = JSONNesting()

    /// Reads `bytes`, in which arrays and objects may be nested up to `depthMax` deep.
    package init(_ bytes: UnsafeRawBufferPointer, depthMax: Int = Limits.jsonDepthMax) {
        precondition(depthMax <= JSONNesting.depthMax)
        self.bytes = bytes
        self.depthMax = depthMax
        if bytes.starts(with: Self.byteOrderMark) { position = Self.byteOrderMark.count }
    }

    /// U+FEFF in UTF-8.
    package static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The next token, or nil when the text has ended where it should.
    package mutating func next() throws(JSONError) -> JSONToken? {
        while true {
            skipSpace()
            guard position < bytes.count else {
                if case .done = state { return nil }
                throw .unexpectedEnd(at: position)
            }
            let byte = bytes[position]
            switch state {
            case .value:
                return try value(byte)
            case .valueOrEnd:
                if byte == UInt8(ascii: "]") { return close(.endArray) }
                return try value(byte)
            case .nameOrEnd:
                if byte == UInt8(ascii: "}") { return close(.endObject) }
                return try name(byte)
            case .name:
                return try name(byte)
            case .commaOrEnd:
                let isObject = nesting.isObject(depth - 1)
                if byte == UInt8(ascii: ",") {
                    position += 1
                    state = isObject ? .name : .value
                } else if byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    return close(isObject ? .endObject : .endArray)
                } else {
                    throw .unexpectedByte(byte, at: position)
                }
            case .done:
                throw .trailingBytes(at: position)
            }
        }
    }

    /// The range of the value whose first token was just returned; the others are passed over.
    ///
    /// `token` must begin a value: be no name and no end.
    package mutating func skipValue(_ token: JSONToken) throws(JSONError) -> Range<Int> {
        switch token.kind {
        case .string, .number, .true, .false, .null:
            return token.range
        case .beginObject, .beginArray:
            let outside = depth - 1
            while let inner = try next() {
                if depth == outside { return token.range.lowerBound..<inner.range.upperBound }
            }
            throw .unexpectedEnd(at: position)
        case .endObject, .endArray, .name:
            preconditionFailure("\(token.kind) begins no value")
        }
    }
}

extension JSONTokenizer {
    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private mutating func value(_ byte: UInt8) throws(JSONError) -> JSONToken {
        switch byte {
        case UInt8(ascii: "\""):
            let token = try string(.string)
            state = afterValue
            return token
        case UInt8(ascii: "{"): return try open(.beginObject)
        case UInt8(ascii: "["): return try open(.beginArray)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let start = position
            position = try JSONNumberScan.end(in: bytes, from: start)
            state = afterValue
            return JSONToken(.number, start, position)
        case UInt8(ascii: "t"): return try literal("true", .true)
        case UInt8(ascii: "f"): return try literal("false", .false)
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: throw .unexpectedByte(byte, at: position)
        }
    }

    private mutating func name(_ byte: UInt8) throws(JSONError) -> JSONToken {
        guard byte == UInt8(ascii: "\"") else { throw .unexpectedByte(byte, at: position) }
        let token = try string(.name)
        skipSpace()
        guard position < bytes.count else { throw .unexpectedEnd(at: position) }
        guard bytes[position] == UInt8(ascii: ":") else {
            throw .unexpectedByte(bytes[position], at: position)
        }
        position += 1
        state = .value
        return token
    }

    private mutating func string(_ kind: JSONToken.Kind) throws(JSONError) -> JSONToken {
        let start = position
        let (end, hasEscapes) = try JSONStringScan.end(in: bytes, from: start)
        position = end
        return JSONToken(kind, start, end, hasEscapes: hasEscapes)
    }

    private var afterValue: State { depth == 0 ? .done : .commaOrEnd }

    private mutating func open(_ kind: JSONToken.Kind) throws(JSONError) -> JSONToken {
        guard depth < depthMax else { throw .tooDeep(at: position) }
        nesting.set(depth, isObject: kind == .beginObject)
        depth += 1
        state = kind == .beginObject ? .nameOrEnd : .valueOrEnd
        position += 1
        return JSONToken(kind, position - 1, position)
    }

    private mutating func close(_ kind: JSONToken.Kind) -> JSONToken {
        depth -= 1
        state = afterValue
        position += 1
        return JSONToken(kind, position - 1, position)
    }

    private mutating func literal(
        _ text: StaticString,
        _ kind: JSONToken.Kind
    ) throws(JSONError) -> JSONToken {
        let start = position
        for index in 0..<text.utf8CodeUnitCount {
            let offset = start + index
            guard offset < bytes.count else { throw .unexpectedEnd(at: offset) }
            guard bytes[offset] == text.utf8Start[index] else {
                throw .unexpectedByte(bytes[offset], at: offset)
            }
        }
        position = start + text.utf8CodeUnitCount
        state = afterValue
        return JSONToken(kind, start, position)
    }
}
