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
