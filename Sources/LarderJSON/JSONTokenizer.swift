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

/// A token of a JSON text: its kind and its bytes.
package struct JSONToken: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        case beginObject
        case endObject
        case beginArray
        case endArray
        /// The name of a member; its range has both quotation marks, but not the colon.
        case name
        /// A string that is a value; its range has both quotation marks.
        case string
        case number
        case `true`
        case `false`
        case null
    }

    package let kind: Kind
    /// Offsets into the bytes that the tokenizer was given.
    package let range: Range<Int>
    /// Whether a string or a name has a backslash: where it has none, the bytes between its
    /// quotation marks are its text.
    package let hasEscapes: Bool

    init(_ kind: Kind, _ start: Int, _ end: Int, hasEscapes: Bool = false) {
        self.kind = kind
        range = Range(uncheckedBounds: (start, end))
        self.hasEscapes = hasEscapes
    }
}

/// Whether a JSON text, which comes in pieces, ends where its brackets and strings do.
///
/// So a text that was cut off is found, though not each that is wrong (``JSONValidator``).
package struct JSONEnding: Sendable {
    private var brackets = JSONBrackets()
    private var start: [UInt8] = []

    package init() {}

    package var isCutOff: Bool { (brackets.level > 0 || brackets.isInString) && !isWide }

    /// Whether the bytes begin with a mark of UTF-16 or UTF-32, so that they are not JSON.
    private var isWide: Bool {
        let marks: [[UInt8]] = [[0xFE, 0xFF], [0xFF, 0xFE], [0, 0, 0xFE, 0xFF]]
        return marks.contains { start.starts(with: $0) }
    }

    package mutating func take(_ bytes: [UInt8]) {
        if start.count < 4 { start += bytes.prefix(4 - start.count) }
        bytes.withUnsafeBytes { brackets.add($0) }
    }
}

/// Counts the brackets of a JSON text outside of its strings.
///
/// The text may come in pieces, and without some of its values.
package struct JSONBrackets: Sendable {
    /// How many arrays and objects are open.
    private(set) var level = 0
    /// The most that were open at the same time.
    package private(set) var depth = 0
    private(set) var isInString = false
    private var isEscaped = false

    package init() {}

    /// The nesting depth of a whole text.
    package static func depth(of text: UnsafeRawBufferPointer) -> Int {
        var brackets = JSONBrackets()
        brackets.add(text)
        return brackets.depth
    }

    package mutating func add(_ text: UnsafeRawBufferPointer) {
        for byte in text {
            guard !isEscaped else {
                isEscaped = false
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "\\"): isEscaped = isInString
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                level += isInString ? 0 : 1
                depth = max(depth, level)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): level -= isInString ? 0 : 1
            default: break
            }
        }
    }
}

/// Which of the open arrays and objects are objects: one bit a level, on the stack.
struct JSONNesting {
    /// Levels that fit: `Limits.jsonDepthMax` and what our own frames put around a body.
    static let depthMax = 576

    private var words: InlineArray<9, UInt64> = .init(repeating: 0)

    func isObject(_ level: Int) -> Bool {
        words[level >> 6] & (1 << UInt64(level & 63)) != 0
    }

    mutating func set(_ level: Int, isObject: Bool) {
        let bit: UInt64 = 1 << UInt64(level & 63)
        if isObject {
            words[level >> 6] |= bit
        } else {
            words[level >> 6] &= ~bit
        }
    }
}

/// Checks that bytes are one JSON text, without building a value.
package enum JSONValidator {
    package static func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        fault(in: bytes) == nil
    }

    /// Whether bytes are the beginning of a JSON text, and not all of it.
    package static func isCutOff(_ bytes: [UInt8]) -> Bool {
        let fault = bytes.withUnsafeBytes { Self.fault(in: $0) }
        return if case .unexpectedEnd? = fault { true } else { false }
    }

    private static func fault(in bytes: UnsafeRawBufferPointer) -> JSONError? {
        var tokenizer = JSONTokenizer(bytes)
        do throws(JSONError) {
            while try tokenizer.next() != nil {}
            return nil
        } catch {
            return error
        }
    }

    package static func accepts(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { accepts($0) }
    }
}

/// Why a text is not the JSON that was asked for, and the offset of the byte where that shows.
package enum JSONError: Error, Equatable, Sendable {
    /// The bytes end inside of a value.
    case unexpectedEnd(at: Int)
    /// A byte that is not allowed here: also an extra comma, a byte order mark, a bad literal.
    case unexpectedByte(UInt8, at: Int)
    /// A byte below 0x20 inside of a string.
    case controlCharacter(at: Int)
    /// A backslash that is followed by none of the escapes.
    case badEscape(at: Int)
    /// Bytes that are not UTF-8: cut, overlong, a surrogate, or above U+10FFFF.
    case badUTF8(at: Int)
    /// A number with a leading zero, or without a digit where one must be.
    case badNumber(at: Int)
    /// More arrays and objects within each other than are taken.
    case tooDeep(at: Int)
    /// Something else than white space after the value.
    case trailingBytes(at: Int)

    package var offset: Int {
        switch self {
        case .unexpectedEnd(let offset), .unexpectedByte(_, let offset),
            .controlCharacter(let offset), .badEscape(let offset), .badUTF8(let offset),
            .badNumber(let offset), .tooDeep(let offset), .trailingBytes(let offset):
            offset
        }
    }

    /// A sentence for people, without a full stop.
    package var message: String {
        switch self {
        case .unexpectedEnd(let offset):
            "the JSON ends too early, at byte \(offset)"
        case .unexpectedByte(let byte, let offset):
            "the JSON has an unexpected \(Self.show(byte)) at byte \(offset)"
        case .controlCharacter(let offset):
            "a string of the JSON has a control character at byte \(offset)"
        case .badEscape(let offset):
            "a string of the JSON has an unknown escape at byte \(offset)"
        case .badUTF8(let offset):
            "the JSON is not valid UTF-8 at byte \(offset)"
        case .badNumber(let offset):
            "the JSON has a malformed number at byte \(offset)"
        case .tooDeep(let offset):
            "the JSON is nested too deeply at byte \(offset)"
        case .trailingBytes(let offset):
            "the JSON is followed by something else at byte \(offset)"
        }
    }

    private static func show(_ byte: UInt8) -> String {
        guard byte > 0x20, byte < 0x7F else { return "byte 0x\(String(byte, radix: 16))" }
        return "'\(Character(Unicode.Scalar(byte)))'"
    }
}
