import LarderModel

/// A place in a JSON value (RFC 6901), as the tokens that lead to it from the root.
///
/// The text `/tags/0` has the tokens `tags` and `0`; the empty text has none and names the whole.
/// In an object a token is a member's name, in an array an index.
package struct JSONPointer: Sendable {
    package let tokens: [String]

    package static let whole = JSONPointer(tokens: [])

    /// Tokens as they are, without escapes.
    package init(tokens: [String]) {
        self.tokens = tokens
    }

    /// Reads the text; in a token `~0` stands for `~` and `~1` for `/`.
    package init(_ text: String) throws(JSONPointerError) {
        guard text.utf8.count <= Limits.jsonPointerBytesMax else { throw .tooLong }
        guard let first = text.utf8.first else {
            tokens = []
            return
        }
        guard first == UInt8(ascii: "/") else { throw .noSlash }
        let parts = text.utf8.dropFirst()
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count <= Limits.jsonDepthMax else { throw .tooDeep }
        var tokens: [String] = []
        tokens.reserveCapacity(parts.count)
        for part in parts { tokens.append(try Self.unescaped(part)) }
        self.tokens = tokens
    }

    private static func unescaped(_ part: Substring.UTF8View) throws(JSONPointerError) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(part.count)
        var isEscaped = false
        for byte in part {
            switch (isEscaped, byte) {
            case (false, UInt8(ascii: "~")): isEscaped = true
            case (false, _): bytes.append(byte)
            case (true, UInt8(ascii: "0")):
                bytes.append(UInt8(ascii: "~"))
                isEscaped = false
            case (true, UInt8(ascii: "1")):
                bytes.append(UInt8(ascii: "/"))
                isEscaped = false
            case (true, _): throw .badEscape
            }
        }
        guard !isEscaped else { throw .badEscape }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text that reads back as this pointer.
    package var text: String {
        var bytes: [UInt8] = []
        for token in tokens {
            bytes.append(UInt8(ascii: "/"))
            for byte in token.utf8 {
                switch byte {
                case UInt8(ascii: "~"): bytes += [byte, UInt8(ascii: "0")]
                case UInt8(ascii: "/"): bytes += [UInt8(ascii: "~"), UInt8(ascii: "1")]
                default: bytes.append(byte)
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONPointer: Hashable {
    package static func == (left: JSONPointer, right: JSONPointer) -> Bool {
        left.tokens.elementsEqual(right.tokens) { $0.hasSameBytes(as: $1) }
    }

    package func hash(into hasher: inout Hasher) {
        for token in tokens { hasher.combine(JSONName(token)) }
    }
}

extension JSONPointer {
    /// The place of the member or element of this name within this place.
    package func appending(_ token: String) -> JSONPointer {
        JSONPointer(tokens: tokens + [token])
    }

    /// Whether `other` lies within this place and is another one.
    package func isAbove(_ other: JSONPointer) -> Bool {
        tokens.count < other.tokens.count
            && zip(tokens, other.tokens).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    /// The index that a token is in an array: digits without a leading zero; else nil, as for `-`.
    package static func index(_ token: String) -> Int? {
        let digits = token.utf8
        guard !digits.isEmpty, digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
            digits.count == 1 || digits.first != UInt8(ascii: "0")
        else { return nil }
        return Int(token)
    }
}

/// Why a text is not a JSON pointer.
package enum JSONPointerError: Error, Equatable, Sendable {
    case noSlash
    case badEscape
    case tooLong
    case tooDeep

    /// Fault, as the end of a sentence about the text.
    package var message: String {
        switch self {
        case .noSlash: "a JSON pointer is empty or begins with '/'"
        case .badEscape: "in a JSON pointer '~' is followed by 0 or 1"
        case .tooLong: "a JSON pointer has at most \(Limits.jsonPointerBytesMax) bytes"
        case .tooDeep: "a JSON pointer has at most \(Limits.jsonDepthMax) tokens"
        }
    }
}
