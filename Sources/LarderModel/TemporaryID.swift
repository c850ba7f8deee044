/// Name that a program gives to a thing before its origin does: `tmp:UUID`.
///
/// Texts name it as it is or as `{{id:tmp:UUID}}`, also with percent-encoded colons and braces.
package struct TemporaryID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    /// Reads `tmp:UUID`; nil for any other text.
    package init?(_ text: String) {
        let found = Self.occurrences(in: text)
        guard let first = found.first, first.range == 0..<text.utf8.count, !first.isMarked,
            first.id.text.hasSameBytes(as: text)
        else { return nil }
        self = first.id
    }

    private init(uuid: some Collection<UInt8>) {
        text = "tmp:" + String(decoding: uuid, as: UTF8.self)
    }

    package static func < (left: Self, right: Self) -> Bool { left.text < right.text }

    /// A place in a text that names a temporary id.
    package struct Occurrence: Equatable, Sendable {
        package let id: TemporaryID
        /// The bytes of the name, with the braces around it.
        package let range: Range<Int>
        /// Whether it has the braces.
        package let isMarked: Bool
    }

    package static func occurrences(in bytes: [UInt8]) -> [Occurrence] {
        bytes.withUnsafeBytes { occurrences(in: $0) }
    }

    package static func occurrences(in text: String) -> [Occurrence] {
        text.withBytes { occurrences(in: UnsafeRawBufferPointer($0)) }
    }

    /// The places that name temporary ids, in their order.
    package static func occurrences(in bytes: UnsafeRawBufferPointer) -> [Occurrence] {
        var found: [Occurrence] = []
        var place = 0
        let last = bytes.count - (4 + uuidLength)
        while place <= last {
            guard bytes[place] == UInt8(ascii: "t"), let named = name(at: place, in: bytes) else {
                place += 1
                continue
            }
            let range = place..<named.end
            let marked = marks(around: range, in: bytes)
            found.append(
                Occurrence(id: named.id, range: marked ?? range, isMarked: marked != nil)
            )
            place = (marked ?? range).upperBound
        }
        return found
    }

    private static let uuidLength = 36
    private static let openings = ["{{id:", "%7B%7Bid:", "%7B%7Bid%3A", "{{id%3A"]
    private static let closings = ["}}", "%7D%7D"]

    private static func name(
        at start: Int,
        in bytes: UnsafeRawBufferPointer
    ) -> (id: TemporaryID, end: Int)? {
        var place = start
        guard isText("tmp", at: place, in: bytes) else { return nil }
        place += 3
        guard let colon = [":", "%3A"].first(where: { isText($0, at: place, in: bytes) }) else {
            return nil
        }
        place += colon.utf8.count
        guard place + uuidLength <= bytes.count else { return nil }
        let uuid = bytes[place..<(place + uuidLength)]
        for (index, byte) in uuid.enumerated() {
            let isDash = [8, 13, 18, 23].contains(index)
            guard isDash ? byte == UInt8(ascii: "-") : byte.hexValue != nil else { return nil }
        }
        return (TemporaryID(uuid: uuid), place + uuidLength)
    }

    private static func marks(
        around range: Range<Int>,
        in bytes: UnsafeRawBufferPointer
    ) -> Range<Int>? {
        let opening = openings.first { text in
            isText(text, at: range.lowerBound - text.utf8.count, in: bytes)
        }
        let closing = closings.first { isText($0, at: range.upperBound, in: bytes) }
        guard let opening, let closing else { return nil }
        let start = range.lowerBound - opening.utf8.count
        return start..<(range.upperBound + closing.utf8.count)
    }

    /// Whether a text is at a place; letters after a `%` count in either case.
    private static func isText(
        _ text: String,
        at start: Int,
        in bytes: UnsafeRawBufferPointer
    ) -> Bool {
        guard start >= 0, start + text.utf8.count <= bytes.count else { return false }
        let isEncoded = text.utf8.contains(UInt8(ascii: "%"))
        return zip(text.utf8, bytes[start...]).allSatisfy { wanted, byte in
            wanted == byte || isEncoded && (0x41...0x5A).contains(wanted) && byte == wanted | 0x20
        }
    }
}

extension EntryID {
    /// The temporary id that this id has or is; nil for an id that an origin or a client gave.
    package var temporary: TemporaryID? {
        guard let name = entity else {
            return text.utf8.starts(with: "tmp:".utf8) ? TemporaryID(text) : nil
        }
        return TemporaryID(name.key.id)
    }
}
