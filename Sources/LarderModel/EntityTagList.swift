/// Reads If-None-Match and If-Match (RFC 9110 13.1).
package enum EntityTagList {
    /// Whether the header's values name an entity tag, compared weakly, or say `*`.
    ///
    /// A comma inside the quotes belongs to the tag, and a backslash is a character like any other
    /// (8.8.3). A tag without quotes, which some origins send and clients send back, goes up to
    /// the next comma.
    package static func contains(_ tag: String, in values: [String]) -> Bool {
        let own = opaque(Array(tag.utf8)[...])
        return names(values) { $0.opaque == own }
    }

    /// Whether a tag is in the list, compared strongly: a weak one is like no other (8.8.3.2).
    package static func containsStrongly(_ tag: String, in values: [String]) -> Bool {
        let own = Array(tag.utf8)[...]
        return names(values) { !$0.isWeak && $0.opaque == own }
    }

    private struct Tag {
        let opaque: ArraySlice<UInt8>
        let isWeak: Bool
    }

    private static func names(_ values: [String], _ isMeant: (Tag) -> Bool) -> Bool {
        if values.count == 1, values[0].utf8.filter({ !$0.isBlank }) == [UInt8(ascii: "*")] {
            return true
        }
        return values.contains { value in
            var rest = Array(value.utf8)[...]
            while let next = popTag(&rest) {
                if isMeant(next) { return true }
            }
            return false
        }
    }

    /// The tag without the mark of a weak one.
    private static func opaque(_ tag: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        tag.starts(with: [UInt8(ascii: "W"), UInt8(ascii: "/")]) ? tag.dropFirst(2) : tag
    }

    /// Takes the next tag of a list; nil at its end.
    private static func popTag(_ rest: inout ArraySlice<UInt8>) -> Tag? {
        let quote = UInt8(ascii: "\"")
        let comma = UInt8(ascii: ",")
        rest = rest.drop { $0 == comma || $0.isBlank }
        guard !rest.isEmpty else { return nil }
        let bare = opaque(rest)
        let end: Int
        if bare.first == quote, let close = bare.dropFirst().firstIndex(of: quote) {
            end = close + 1
        } else {
            end = bare.firstIndex(of: comma) ?? bare.endIndex
        }
        var tag = bare[bare.startIndex..<end]
        while tag.last?.isBlank == true { tag.removeLast() }
        defer { rest = rest[end...] }
        return Tag(opaque: tag, isWeak: bare.startIndex > rest.startIndex)
    }
}
