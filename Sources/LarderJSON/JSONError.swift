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
    /// A good value, but not an object where one is needed.
    case notAnObject(at: Int)

    package var offset: Int {
        switch self {
        case .unexpectedEnd(let offset), .unexpectedByte(_, let offset),
            .controlCharacter(let offset), .badEscape(let offset), .badUTF8(let offset),
            .badNumber(let offset), .tooDeep(let offset), .trailingBytes(let offset),
            .notAnObject(let offset):
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
        case .notAnObject(let offset):
            "a JSON object was expected at byte \(offset)"
        }
    }

    private static func show(_ byte: UInt8) -> String {
        guard byte > 0x20, byte < 0x7F else { return "byte 0x\(String(byte, radix: 16))" }
        return "'\(Character(Unicode.Scalar(byte)))'"
    }
}
