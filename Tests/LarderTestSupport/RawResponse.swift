import LarderAPI
package import LarderModel

/// One answer as it came over a socket, taken apart by the rules of RFC 9112 alone.
package struct RawResponse: Equatable, Sendable {
    package var status: Int
    package var version: String
    package var headers: HeaderFields
    package var body: [UInt8]

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The body, in which no member may be unknown.
    package func value<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try APIDecoder(.strict).decode(type, from: body)
    }

    /// The lines of a stream.
    package var lines: [String] { text.split(separator: "\n").map(String.init) }

    /// The same without what differs from one moment to the next.
    package var withoutDate: RawResponse {
        var other = self
        other.headers.remove("Date")
        return other
    }

    /// Takes one answer from the front of `bytes`; nil when it is not whole.
    ///
    /// `method` is the request's, as an answer to HEAD has no body. `isAtEnd` says that the
    /// connection is closed, which ends a body without a length.
    static func take(
        from bytes: inout [UInt8],
        method: String,
        isAtEnd: Bool
    ) throws(RawClientError) -> RawResponse? {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        var response = try RawResponse(head: bytes[..<end.lowerBound])
        let rest = bytes[end.upperBound...]
        let length: Int
        if method == "HEAD" || response.status < 200 || [204, 304].contains(response.status) {
            length = 0
        } else if response.headers["Transfer-Encoding"] == "chunked" {
            guard let (body, count) = try unchunked(rest) else { return nil }
            response.body = body
            length = count
        } else if let text = response.headers["Content-Length"] {
            guard let count = Int(text) else { throw .notHTTP(text) }
            guard rest.count >= count else { return nil }
            response.body = Array(rest.prefix(count))
            length = count
        } else {
            guard isAtEnd else { return nil }
            response.body = Array(rest)
            length = rest.count
        }
        bytes.removeFirst(end.upperBound + length)
        return response
    }

    private init(head: ArraySlice<UInt8>) throws(RawClientError) {
        let text = String(decoding: head, as: UTF8.self)
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        let start = lines.popFirst()?.split(separator: " ") ?? []
        guard start.count >= 2, let status = Int(start[1]) else { throw .notHTTP(text) }
        self.status = status
        version = String(start[0])
        headers = HeaderFields()
        body = []
        for line in lines {
            let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw .notHTTP(text) }
            headers.append(String(parts[0]), String(parts[1]))
        }
    }

    /// The body in chunks at the front, and how many bytes it takes; nil when it is not whole.
    private static func unchunked(
        _ bytes: ArraySlice<UInt8>
    ) throws(RawClientError) -> ([UInt8], Int)? {
        var body: [UInt8] = []
        var rest = bytes
        while let line = rest.firstRange(of: Array("\r\n".utf8)) {
            let text = String(decoding: rest[..<line.lowerBound], as: UTF8.self)
            guard let count = Int(text, radix: 16) else { throw .notHTTP(text) }
            guard rest.endIndex - line.upperBound >= count + 2 else { return nil }
            let chunk = rest[line.upperBound...].prefix(count)
            body += chunk
            rest = rest[(chunk.endIndex + 2)...]
            if count == 0 { return (body, rest.startIndex - bytes.startIndex) }
        }
        return nil
    }
}

/// What a ``RawClient`` met instead of an answer.
package enum RawClientError: Error, Equatable {
    case closed(after: String)
    case notHTTP(String)
}
