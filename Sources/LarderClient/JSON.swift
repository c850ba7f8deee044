public import FoundationEssentials
package import LarderJSON

/// A JSON value of any kind, its numbers as they were written.
///
///     let changes: JSON = ["title": "Larder", "tags": ["cache", "offline"], "draft": nil]
public struct JSON: Equatable, Sendable {
    package let value: JSONValue

    package init(_ value: JSONValue) { self.value = value }

    /// Encodes a Swift value.
    ///
    /// - Throws: ``LarderError/invalid(_:)`` if the encoder fails.
    public init(
        encoding value: some Encodable,
        by encoder: JSONEncoder = JSONEncoder()
    ) throws(LarderError) {
        let bytes: Data
        do {
            bytes = try encoder.encode(value)
        } catch {
            throw .problem(Problem(.badRequest, "the value cannot be encoded: \(error)"))
        }
        try self.init(Array(bytes))
    }

    /// Reads a text of JSON (RFC 8259).
    ///
    /// - Throws: ``LarderError/invalid(_:)`` if the text is not JSON.
    public init(text: String) throws(LarderError) { try self.init(Array(text.utf8)) }

    private init(_ bytes: [UInt8]) throws(LarderError) {
        do throws(JSONError) {
            value = try JSONValue(parsing: bytes)
        } catch {
            throw .problem(Problem(.badRequest, "the value cannot be read: \(error.message)"))
        }
    }

    /// The value as a text, without spaces.
    public var text: String { String(decoding: value.bytes, as: UTF8.self) }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Null.
    public init(nilLiteral: ()) { self.init(.null) }

    /// True or false.
    public init(booleanLiteral value: Bool) { self.init(.bool(value)) }

    /// A whole number; any other is read by ``init(text:)``.
    public init(integerLiteral value: Int64) { self.init(.number(JSONNumber(value))) }

    /// A number with a fraction, as Swift spells it; decimals of many digits are read by
    /// ``init(text:)``.
    public init(floatLiteral value: Double) {
        // Swift's text of a finite number is JSON; infinity and NaN become null.
        self.init((try? JSONValue(parsing: Array("\(value)".utf8))) ?? .null)
    }

    /// A text.
    public init(stringLiteral value: String) { self.init(.string(value)) }

    /// An array.
    public init(arrayLiteral elements: JSON...) { self.init(.array(elements.map(\.value))) }

    /// An object; of a name that is given twice the last counts.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self.init(.object(elements.map { JSONMember(name: $0.0, value: $0.1.value) }))
    }
}
