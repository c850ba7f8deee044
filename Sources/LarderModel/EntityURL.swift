/// Path of an entity's own URL, with the fields of its key in braces: `/books/{isbn}`.
///
/// Characters that are not ASCII are percent-encoded, as in URLs.
package struct EntityURL: Hashable, Sendable {
    private enum Segment: Hashable {
        case text(String)
        case field(String)
    }

    private let segments: [Segment]

    /// Reads a path after the base URL; nil where it is none, or a field is not a whole segment.
    package init?(_ text: String) {
        guard text.utf8.first == UInt8(ascii: "/"), text.utf8.count <= Limits.idBytesMax,
            !text.contains("?"), !text.contains("#")
        else { return nil }
        var segments: [Segment] = []
        for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard part.contains("{") || part.contains("}") else {
                segments.append(.text(PercentCoding.path(String(part))))
                continue
            }
            let field = part.dropFirst().dropLast()
            guard part.hasPrefix("{"), part.hasSuffix("}"), !field.isEmpty,
                !field.contains("{"), !field.contains("}")
            else { return nil }
            segments.append(.field(String(field)))
        }
        self.segments = segments
        guard Set(fields).count == fields.count else { return nil }
    }

    /// The names of the fields, in their order.
    package var fields: [String] {
        segments.compactMap { if case .field(let name) = $0 { name } else { nil } }
    }

    /// The texts of the fields in a path after the base URL, without its query, in the order of
    /// ``fields``; nil where it is another path.
    package func texts(in path: String) -> [String]? {
        let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        guard path.utf8.first == UInt8(ascii: "/"), parts.count == segments.count else {
            return nil
        }
        var texts: [String] = []
        for (segment, part) in zip(segments, parts) {
            switch segment {
            case .text(let text): guard text.hasSameBytes(as: String(part)) else { return nil }
            case .field:
                guard let text = PercentCoding.decoded(part.utf8), !text.isEmpty else {
                    return nil
                }
                texts.append(text)
            }
        }
        return texts
    }

    /// The path in which the fields have these texts, in the order of ``fields``.
    package func path(_ texts: [String]) -> String {
        precondition(texts.count == fields.count)
        var rest = texts[...]
        return segments.reduce(into: "") { path, segment in
            path += "/"
            switch segment {
            case .text(let text): path += text
            case .field: path += rest.popFirst().map(PercentCoding.encode) ?? ""
            }
        }
    }
}
