package import LarderModel

/// A Range of one part, in bytes (RFC 9110 14.1.2).
package enum ByteRange: Equatable {
    case from(Int, through: Int?)
    case last(Int)

    /// Reads the values of a request's Range fields.
    ///
    /// Nil for several parts, for another unit, and for a value that cannot be parsed.
    package init?(_ values: [String]) {
        guard values.count == 1, let mark = values[0].firstIndex(of: "="),
            values[0][..<mark].lowercased() == "bytes"
        else { return nil }
        let parts = HeaderList.split(String(values[0][mark...].dropFirst()), at: UInt8(ascii: ","))
        guard parts.count == 1 else { return nil }
        let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return nil }
        let (first, last) = (Self.number(bounds[0]), Self.number(bounds[1]))
        switch (first, last) {
        case (let first?, let last?) where first <= last: self = .from(first, through: last)
        case (let first?, nil) where bounds[1].isEmpty: self = .from(first, through: nil)
        case (nil, let count?) where bounds[0].isEmpty: self = .last(count)
        case _: return nil
        }
    }

    /// A number too large for any body counts as the largest.
    private static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int(text) ?? .max
    }

    /// The part of a body of this length; nil where the body has no byte of it.
    package func part(of byteCount: Int) -> Range<Int>? {
        switch self {
        case .from(let first, let last):
            guard first < byteCount else { return nil }
            return first..<(last.map { min($0, byteCount - 1) + 1 } ?? byteCount)
        case .last(let count): return count == 0 ? nil : max(0, byteCount - count)..<byteCount
        }
    }
}

/// Range of one part in a read, with the conditions that belong to it.
package struct RangeFields: Equatable, Sendable {
    package let fields: [HeaderFields.Field]
    /// Whether the part is the body from its first byte to its end, as players ask for it.
    package let isOfWholeBody: Bool

    /// Nil without a Range of one part.
    package init?(_ request: HeaderFields) {
        guard let range = request.list("Range").flatMap({ ByteRange([$0]) }) else { return nil }
        isOfWholeBody = range == .from(0, through: nil)
        let names: Set = ["if-match", "if-range", "range"]
        fields = request.fields.filter { names.contains($0.name.lowercased()) }
    }
}
