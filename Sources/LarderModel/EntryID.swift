/// The text an entry is found by; for a fetched one the URL as ``WebURL`` spells it.
///
/// Clients see ``description``. The store has ``text``, in which an entity's origin and key come
/// after a control character that no other id has. Two ids are the same when their bytes are, as in
/// the database.
package struct EntryID: Sendable, CustomStringConvertible {
    package let text: String

    /// The id as clients give and get it: of an entity `entity:ORIGIN/TYPE:KEY`.
    package var description: String { isEntity ? Self.entityScheme + text.dropFirst() : text }

    /// Takes 1 to 8,192 bytes of UTF-8 without control characters (U+0000 to U+001F, U+007F).
    package init(_ text: String) throws(ModelError) {
        let utf8 = text.utf8
        guard !utf8.isEmpty else { throw .badID("it is empty") }
        guard utf8.count <= Limits.idBytesMax else {
            throw .badID("it has \(utf8.count) bytes, at most \(Limits.idBytesMax) are taken")
        }
        guard !utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw .badID("it contains a control character")
        }
        self.text = text
    }

    /// Reads an id as a client gives it: a URL in any spelling is the id of its answer, and
    /// `entity:ORIGIN/TYPE:KEY` is an entity's.
    ///
    /// Any other text stays as it is, and so does the id of a variant, which has a space.
    package init(given text: String) throws(ModelError) {
        if let name = Self.entityText(of: text) {
            guard let entity = EntityName(text: name) else {
                throw .badID(
                    "'\(text)' does not name an entity as entity:ORIGIN/TYPE:KEY does, and no other "
                        + "id can begin with 'entity:'"
                )
            }
            self.init(entity)
        } else if text.hasScheme, !text.utf8.contains(UInt8(ascii: " ")),
            let url = try? WebURL(text)
        {
            try self.init(url)
        } else {
            try self.init(text)
        }
    }

    /// The beginning of stored ids for a beginning that a client gives, which has the rules of an
    /// id.
    package static func prefix(given text: String) throws(ModelError) -> String {
        let id = try EntryID(text)
        return entityText(of: text).map { entityMark + $0 } ?? id.text
    }

    /// The part after `entity:`; nil for a text that does not begin so.
    private static func entityText(of text: String) -> Substring? {
        text.utf8.starts(with: entityScheme.utf8) ? text.dropFirst(entityScheme.count) : nil
    }

    package init(_ url: WebURL) throws(ModelError) { try self.init(url.text) }

    /// The id under which an answer to a read is kept.
    ///
    /// For a read with a body it is the URL, a space, the method, `=sha256-` and the digest.
    package init(_ url: WebURL, _ content: RequestContent?) throws(ModelError) {
        guard let content else {
            try self.init(url)
            return
        }
        try self.init(
            "\(url.text) \(content.method.rawValue)\(Self.digestMark)\(content.digest)"
        )
    }

    package init(_ entity: EntityName) { text = "\(Self.entityMark)\(entity.origin)/\(entity.key)" }

    /// Reads an id as ``text`` of one was, an entity's too.
    package init(stored text: String) throws(ModelError) {
        guard text.utf8.first == Self.entityMark.utf8.first else {
            try self.init(text)
            return
        }
        guard let entity = EntityName(text: text.dropFirst()) else {
            throw .badID("it names no entity")
        }
        self.init(entity)
    }

    package var isEntity: Bool { text.utf8.first == Self.entityMark.utf8.first }

    package var entity: EntityName? { isEntity ? EntityName(text: text.dropFirst()) : nil }

    /// The id of the read, if this is the id of one of its variants: the read's id, a space and the
    /// variant's name.
    ///
    /// The read's id is a URL, or that of a read with a body.
    package var urlOfVariant: EntryID? {
        guard !isEntity, let space = text.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let end = requestName?.end ?? space
        guard end < text.endIndex else { return nil }
        let read = String(text[..<end])
        return read.hasScheme ? try? EntryID(read) : nil
    }

    /// The prefix of the ids of a read's variants; nil for an id that is no read's.
    ///
    /// The ids of reads with a body have their URL's prefix, too.
    package var variantPrefix: String? {
        guard !isEntity, text.hasScheme else { return nil }
        let isRead =
            if let requestName { requestName.end == text.endIndex } else {
                !text.utf8.contains(UInt8(ascii: " "))
            }
        return isRead ? text + " " : nil
    }

    /// The URL of a read with a body, or of a variant of such a read; nil for any other id.
    package var urlOfRequest: EntryID? {
        requestName.flatMap { try? EntryID(String(text[..<$0.start])) }
    }

    /// Whether it is the id of a read with a body.
    package var isOfRequest: Bool { requestName.map { $0.end == text.endIndex } ?? false }

    /// Method and digest in the id of a read with a body, or of a variant of such a read.
    var requestName: (start: String.Index, method: Substring, digest: Substring, end: String.Index)?
    {
        guard let start = text.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let name = text[text.index(after: start)...]
        for method in [ReadMethod.post, .query] {
            let head = method.rawValue + Self.digestMark
            guard name.utf8.starts(with: head.utf8) else { continue }
            let rest = name.dropFirst(head.count)
            let digest = rest.prefix { $0.isHexDigit }
            guard digest.utf8.count == 64, rest[digest.endIndex...].first ?? " " == " " else {
                return nil
            }
            return (start, name.prefix(method.rawValue.count), digest, digest.endIndex)
        }
        return nil
    }

    private static let digestMark = "=sha256-"

    package static func entityPrefix(_ origin: OriginName) -> String { "\(entityMark)\(origin)/" }

    /// Prefix of the ids of all entities, and of no others.
    package static let entityMark = "\u{1}"
    /// The beginning of an entity's id as clients give it.
    package static let entityScheme = "entity:"
    /// No entity's id is after it in the order of bytes, and no other before it.
    package static let firstOfEntries = " "
}

/// An entity's key and origin; the pair is unique within a scope.
package struct EntityName: Hashable, Sendable, CustomStringConvertible {
    package let origin: OriginName
    package let key: EntityKey

    package init(_ key: EntityKey, of origin: OriginName) {
        self.key = key
        self.origin = origin
    }

    /// Reads `origin/Type:id`.
    package init?(text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let origin = try? OriginName(String(parts[0])),
            let key = try? EntityKey(String(parts[1]))
        else { return nil }
        self.init(key, of: origin)
    }

    package var description: String { "\(origin)/\(key)" }
}

package enum ReadMethod: String, Sendable {
    case get = "GET"
    /// A read with a body (RFC 10008).
    case query = "QUERY"
    /// A read only on the paths that the origin's settings name.
    case post = "POST"
}

/// Method, media type and body of a read that is not a GET.
///
/// Two of them are equal if their digests are.
package struct RequestContent: Sendable {
    package let method: ReadMethod
    /// As the client gave it.
    package let mediaType: String
    /// At most ``Limits/readBodyBytesMax`` bytes.
    package let bytes: [UInt8]
    /// 64 hexadecimal digits in lower case.
    package let digest: String

    package init(_ method: ReadMethod, mediaType: String, bytes: [UInt8], digest: String) {
        (self.method, self.mediaType, self.bytes) = (method, mediaType, bytes)
        self.digest = digest
    }

    /// Reads what ``stored`` gave, for the row with this id; nil if one of them is of no such read.
    package init?(stored: UnsafeRawBufferPointer, id: EntryID) {
        guard let name = id.requestName, let method = ReadMethod(rawValue: String(name.method)),
            let end = stored.firstIndex(of: UInt8(ascii: "\n"))
        else { return nil }
        self.init(
            method,
            mediaType: String(decoding: stored[..<end], as: UTF8.self),
            bytes: Array(stored[(end + 1)...]),
            digest: String(name.digest)
        )
    }

    /// The media type, a line end and the body: the row's id has the rest.
    package var stored: [UInt8] { Array(mediaType.utf8) + [UInt8(ascii: "\n")] + bytes }

    package var storedByteCount: Int { mediaType.utf8.count + 1 + bytes.count }
}

extension RequestContent: Hashable {
    package static func == (one: RequestContent, other: RequestContent) -> Bool {
        one.method == other.method && one.digest == other.digest
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(method)
        hasher.combine(digest)
    }
}

extension EntryID: Hashable {
    package static func == (left: EntryID, right: EntryID) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}

extension String {
    /// Whether it has the end of a URL's scheme, `://`.
    ///
    /// By bytes: `contains` looks for it by characters, which took a fiftieth of accepting a write.
    package var hasScheme: Bool {
        var rest = utf8[...]
        while let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
            rest = rest[utf8.index(after: colon)...]
            if rest.starts(with: "//".utf8) { return true }
        }
        return false
    }
}
