package import LarderModel

/// A moment in UTC with milliseconds, as RFC 3339 writes it: `2026-11-20T18:43:27.120Z`.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public let milliseconds: Int64

    /// A moment so many milliseconds after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package init(_ moment: LarderModel.Timestamp) {
        milliseconds = moment.milliseconds
    }

    /// The moment as it travels.
    public var text: String {
        LarderModel.Timestamp(milliseconds: milliseconds).rfc3339
    }

    /// Whether a moment is before another.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

extension Timestamp: Codable {
    /// Reads RFC 3339 in UTC, with milliseconds or without; any other text is refused.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let moment = LarderModel.Timestamp(rfc3339: text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "'\(text)' is not a time, give 2026-11-20T18:43:27Z"
            )
        }
        self.init(moment)
    }

    /// Writes ``text``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
