package import LarderJSON
import LarderModel

/// A JSON value as it was written: the spelling of its numbers, the order of its members and its
/// white space are kept.
public struct RawJSON: Hashable, Sendable {
    /// The value in UTF-8.
    public let bytes: [UInt8]

    /// The value null.
    public static let null = RawJSON(unchecked: Array("null".utf8))

    /// Nil for bytes that are not one JSON value.
    public init?(_ bytes: [UInt8]) {
        guard JSONValidator.accepts(bytes) else { return nil }
        self.bytes = bytes
    }

    /// Nil for a text that is not one JSON value.
    public init?(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// The value in its compact spelling.
    package init(_ value: JSONValue) {
        bytes = value.bytes
    }

    /// Bytes that are known to be one JSON value.
    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// JSON on one line, anything else as a string.
    package init(quoting bytes: [UInt8]) {
        self =
            RawJSON(bytes).map { RawJSON(unchecked: Self.onOneLine($0.bytes)) }
            ?? RawJSON(.string(String(decoding: bytes, as: UTF8.self)))
    }

    /// The first ``Limits/quotedBodyBytesMax`` bytes of a body; null if it is empty.
    package init(quotingBody bytes: [UInt8]) {
        let quoted = Array(bytes.prefix(Limits.quotedBodyBytesMax))
        self = quoted.isEmpty ? .null : RawJSON(quoting: quoted)
    }

    /// JSON without line ends, which occur only between its tokens, and without a byte order mark.
    package static func onOneLine(_ json: [UInt8]) -> [UInt8] {
        guard !json.starts(with: JSONTokenizer.byteOrderMark) else {
            return onOneLine(Array(json.dropFirst(JSONTokenizer.byteOrderMark.count)))
        }
        guard json.contains(where: { $0 == 0x0A || $0 == 0x0D }) else { return json }
        return json.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
    }

    /// The value as text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension RawJSON: Codable {
    /// Only the coder of the API keeps the bytes of a value; any other is refused.
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            .init(
                codingPath: decoder.codingPath,
                debugDescription: "RawJSON needs LarderAPI's coder"
            )
        )
    }

    /// Only the coder of the API keeps the bytes of a value; any other is refused.
    public func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            self,
            .init(
                codingPath: encoder.codingPath,
                debugDescription: "RawJSON needs LarderAPI's coder"
            )
        )
    }
}
