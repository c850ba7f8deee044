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
