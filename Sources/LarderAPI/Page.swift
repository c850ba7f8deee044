package import LarderModel

/// Items of a list, up to the limit of the request.
public struct Page<Item: Codable & Sendable>: Codable, Sendable {
    /// The items, in the order of the list.
    public var items: [Item]
    /// The value of `cursor` that asks for the next page; null on the last page.
    public var next: String?

    /// A page with these items.
    public init(items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }
}

extension Page: Equatable where Item: Equatable {}

/// A moment in UTC with milliseconds, as RFC 3339 writes it: `2026-11-20T18:43:27.120Z`.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public let milliseconds: Int64

    /// A moment so many milliseconds after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package init(_ moment: LarderModel.Timestamp) { milliseconds = moment.milliseconds }

    /// The moment as it travels.
    public var text: String { LarderModel.Timestamp(milliseconds: milliseconds).rfc3339 }

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

/// A text of which the API knows some values, and a newer daemon may know more.
///
///     public struct PinState: WireEnum {
///         public static let held = PinState(rawValue: "held")
///         public static let known: [PinState] = [.held]
///         public let rawValue: String
///         public init(rawValue: String) { self.rawValue = rawValue }
///     }
///
/// A request with an unknown value is refused. In an answer an unknown value is kept.
public protocol WireEnum: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The values that this version knows.
    static var known: [Self] { get }
    /// The value as it travels.
    var rawValue: String { get }
    /// A value, known or not.
    init(rawValue: String)
}

extension WireEnum {
    /// Reads the text, known or not.
    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    /// The value as it travels.
    public var description: String { rawValue }
}
