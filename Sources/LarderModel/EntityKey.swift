/// The name of an entity within an origin and a scope: `Type:id`.
///
/// Both parts percent-encode `/`, `:`, `%` and control characters (U+0000 to U+001F, U+007F). So
/// the first colon divides them, and a key can be part of a lane and of a path.
///
/// Only the colon of a temporary id, `Article:tmp:…`, stays as it is. Two keys are equal when their
/// bytes are.
package struct EntityKey: Sendable, CustomStringConvertible {
    package let text: String

    package var description: String { text }

    /// The key of what this type and this id name; nil where one of them is empty, or the text is
    /// longer than keys may be.
    package init?(type: String, id: String) {
        guard let text = type.withBytes({ type in id.withBytes { Self.text(type, $0) } }) else {
            return nil
        }
        self.text = text
    }

    /// The same from bytes that are UTF-8.
    package init?(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
        guard let text = Self.text(type, id) else { return nil }
        self.text = text
    }

    /// Reads a key in any spelling, and normalizes its percent-encoding.
    package init(_ text: String) throws(ModelError) {
        let parts = text.utf8.split(
            separator: UInt8(ascii: ":"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard let type = parts.first, let id = parts.dropFirst().first else {
            throw .badKey("'\(text)' is no Type:id")
        }
        guard text.utf8.count <= Limits.entityKeyBytesMax else {
            throw .badKey("it has more than \(Limits.entityKeyBytesMax) bytes")
        }
        guard let type = PercentCoding.decoded(type), let id = PercentCoding.decoded(id) else {
            throw .badKey("in '\(text)' a '%' is not followed by two digits of UTF-8")
        }
        guard let key = EntityKey(type: type, id: id) else {
            throw .badKey("in '\(text)' the type or the id is empty, or it is too long")
        }
        self = key
    }

    /// A text that ``text`` was.
    package init(unchecked text: String) { self.text = text }

    /// The type, decoded.
    package var type: String {
        PercentCoding.decoded(text.utf8.prefix { $0 != UInt8(ascii: ":") }) ?? ""
    }

    /// The text of the key field, or the canonical JSON of several, decoded.
    package var id: String {
        let rest = text.utf8.drop { $0 != UInt8(ascii: ":") }
        return PercentCoding.decoded(rest.dropFirst()) ?? ""
    }
}

extension EntityKey: Hashable {
    package static func == (left: EntityKey, right: EntityKey) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}

extension EntityKey {
    private static func text(
        _ type: some Collection<UInt8>,
        _ id: some Collection<UInt8>
    ) -> String? {
        guard !type.isEmpty, !id.isEmpty,
            type.count + id.count < Limits.entityKeyBytesMax
        else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(type.count + 1 + id.count)
        append(type, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        if id.starts(with: temporary) {
            bytes += temporary
            append(id.dropFirst(temporary.count), to: &bytes)
        } else {
            append(id, to: &bytes)
        }
        guard bytes.count <= Limits.entityKeyBytesMax else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Prefix of the keys of all entities of a type, and of no others.
    package static func typePrefix(_ type: String) -> String {
        var bytes: [UInt8] = []
        append(Array(type.utf8), to: &bytes)
        return String(decoding: bytes, as: UTF8.self) + ":"
    }

    private static let temporary = Array("tmp:".utf8)

    private static func append(_ part: some Collection<UInt8>, to bytes: inout [UInt8]) {
        for byte in part {
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "%"), 0..<0x20, 0x7F:
                PercentCoding.append(byte, to: &bytes)
            default: bytes.append(byte)
            }
        }
    }
}

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
