import Glibc
import LarderAPI
import LarderModel
import LarderWire
import NIOCore
import NIOHTTP1

/// Facts from the fields of a head: where the request ends, and what may follow it.
///
/// One pass finds all of them. A search for each name would be another pass, and every hit would
/// pay for all passes.
struct RequestFraming {
    /// Whether the client may send another protocol than HTTP after the request.
    private(set) var asksForAnotherProtocol: Bool
    private(set) var hasLength = false
    private(set) var isCoded = false
    private(set) var hostCount = 0
    private(set) var areHostsSound = true

    init(_ head: HTTPRequestHead) {
        asksForAnotherProtocol = head.method == .CONNECT
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 4 where name.isEqual(to: "Host"):
                hostCount += 1
                areHostsSound = areHostsSound && value.isHost
            case 7 where name.isEqual(to: "Upgrade"): asksForAnotherProtocol = true
            case 14 where name.isEqual(to: "Content-Length"): hasLength = true
            case 17 where name.isEqual(to: "Transfer-Encoding"): isCoded = true
            default: break
            }
        }
    }

    /// Whether nothing can follow the head but the next request.
    var hasNoBody: Bool { !hasLength && !isCoded }
}

extension String {
    /// The parser leaves the space around a header's value (RFC 9110 5.6.3) where it is.
    fileprivate var isHost: Bool {
        utf8.allSatisfy(\.standsInHost)
            || utf8.drop(while: \.isBlank).reversed().drop(while: \.isBlank)
                .allSatisfy(\.standsInHost)
    }
}

extension UInt8 {
    /// Whether the byte is valid in a host with its port (RFC 3986 3.2.2).
    var standsInHost: Bool { ASCIISet.host.contains(self) }

    /// Whether the byte is valid in a path with its query (RFC 3986 3.3, 3.4).
    var standsInTarget: Bool { ASCIISet.target.contains(self) }
}

/// A set of ASCII characters, one bit for each.
private struct ASCIISet {
    private var bits: (UInt64, UInt64) = (0, 0)

    /// Letters, digits, and these.
    private init(and others: String) {
        for byte in UInt8.min..<128 where byte.isASCIIAlphanumeric || others.utf8.contains(byte) {
            if byte < 64 { bits.0 |= 1 << UInt64(byte) } else { bits.1 |= 1 << UInt64(byte - 64) }
        }
    }

    static let host = ASCIISet(and: "-._~!$&'()*+,;=:%[]")
    static let target = ASCIISet(and: "-._~!$&'()*+,;=:%@/?")

    func contains(_ byte: UInt8) -> Bool {
        guard byte < 128 else { return false }
        return (byte < 64 ? bits.0 : bits.1) >> UInt64(byte % 64) & 1 == 1
    }
}

/// A read of an entry in the form that nearly all clients send, found without the parser.
///
/// The form is HTTP/1.1 with one Host, and no field that could change the answer to the target. A
/// plain read is also valid for the parser, which would read the same. The parser gets every other
/// request.
struct FastPathGet {
    /// Range of the target, which is in origin form.
    let target: Range<Int>
    /// The length of the head, its empty line included.
    let length: Int

    /// Nil for what does not begin with the whole of one.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var text = Text(bytes: bytes)
        guard text.skip("GET "), text.starts(with: "/v1/entries/") else { return nil }
        let begin = text.place
        text.skip { $0.standsInTarget }
        let end = text.place
        guard text.skip(" HTTP/1.1\r\n") else { return nil }
        var hosts = 0
        while !text.skip("\r\n") {
            guard let field = text.field(), field.isHarmless(&text) else { return nil }
            hosts += field == .host ? 1 : 0
            guard text.skip("\r\n") else { return nil }
        }
        guard hosts == 1, text.place <= Self.lengthMax else { return nil }
        target = begin..<end
        length = text.place
    }

    /// A longer head is the parser's, which has limits of its own; none of this length has as many
    /// fields as that takes.
    private static let lengthMax = 2_048

    /// Fields that change nothing of the answer to a read.
    private enum Field {
        case host
        case connection
        case other

        /// Goes over the field's value; false for one that means something.
        func isHarmless(_ text: inout Text) -> Bool {
            switch self {
            case .host: text.skip { $0.standsInHost }
            case .connection: return text.skip("keep-alive") || text.skip("Keep-Alive")
            case .other: text.skip { $0 >= UInt8(ascii: " ") && $0 < 0x7F }
            }
            return true
        }
    }

    /// Bytes of a head, and the place up to which they have been read.
    private struct Text {
        let bytes: UnsafeRawBufferPointer
        private(set) var place = 0

        func starts(with text: StaticString) -> Bool {
            let count = text.utf8CodeUnitCount
            guard bytes.count - place >= count, let base = bytes.baseAddress else { return false }
            return memcmp(base + place, text.utf8Start, count) == 0
        }

        mutating func skip(_ text: StaticString) -> Bool {
            guard starts(with: text) else { return false }
            place += text.utf8CodeUnitCount
            return true
        }

        mutating func skip(while isWanted: (UInt8) -> Bool) {
            while place < bytes.count, isWanted(bytes[place]) { place += 1 }
        }

        /// The name of a field with its colon and a space; nil for any that may mean something.
        mutating func field() -> Field? {
            if skip("Host: ") || skip("host: ") { return .host }
            if skip("Connection: ") || skip("connection: ") { return .connection }
            for name in Self.ignoredHeaders where skip(name) { return .other }
            return nil
        }

        private static let ignoredHeaders: [StaticString] = [
            "User-Agent: ", "user-agent: ", "Accept: ", "accept: ", "Accept-Encoding: ",
            "accept-encoding: ", "Accept-Language: ", "accept-language: ", "Larder-Client: ",
        ]
    }
}

extension HTTPRequestHead {
    var path: Substring {
        Substring(uri.utf8.prefix { $0 != UInt8(ascii: "?") })
    }

    /// Text after the target's first `?`; nil where it has none.
    var query: Substring? {
        guard let mark = uri.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        return uri[uri.utf8.index(after: mark)...]
    }

    /// Whether no request can follow on the connection.
    ///
    /// The parser takes no HTTP after a request for an upgrade (RFC 9110 7.8), though the daemon
    /// never grants one. For clients of HTTP/1.0, the end of the connection ends the answer.
    func isLast(_ framing: RequestFraming) -> Bool {
        !isKeepAlive || version != .http1_1 || framing.asksForAnotherProtocol
            || framing.isCoded && codingProblem != nil
    }

    /// The head, if it is one to be answered, with a target that ``RouteMatch`` takes.
    func checked(_ framing: RequestFraming) throws(RouteError) -> HTTPRequestHead {
        if let problem = hostProblem(framing) { throw .problem(problem) }
        if framing.isCoded, let problem = codingProblem { throw .problem(problem) }
        guard let target = originForm else { return self }
        var head = self
        head.uri = target
        return head
    }

    /// Path and query of an absolute target that names the daemon itself; nil for any other target.
    ///
    /// The name is `larder`. An absolute target with another host is one of the raw routes
    /// (RFC 9112 3.2.2). Host is ignored: the socket has one server.
    private var originForm: String? {
        guard uri.utf8.first != UInt8(ascii: "/"), RawCommand.isAbsolute(uri) else { return nil }
        let rest = uri.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
        let host = rest.prefix { ![UInt8(ascii: "/"), UInt8(ascii: "?")].contains($0) }
        guard String(Substring(host)).isEqual(to: "larder") else { return nil }
        let text = String(Substring(rest.dropFirst(host.count)))
        return text.hasPrefix("/") ? text : "/\(text)"
    }

    /// A request of HTTP/1.1 has one Host header, no less and no more (RFC 9112 3.2).
    private func hostProblem(_ framing: RequestFraming) -> Problem? {
        guard version == .http1_1 else { return nil }
        guard framing.areHostsSound else {
            return Problem(.badRequest, "the Host header is no host")
        }
        guard framing.hostCount != 1 else { return nil }
        return Problem(
            .badRequest,
            "the request has \(framing.hostCount) Host headers, HTTP/1.1 needs one",
            hint: "Send Host: larder; any name will do."
        )
    }

    /// Problem with the codings of the body, of which the daemon takes `chunked` only.
    ///
    /// A list that does not end with `chunked` gets 400. A list with another coding before it gets
    /// 501 (RFC 9112 6.1), as the parser accepts such a list.
    private var codingProblem: Problem? {
        let name = "Transfer-Encoding"
        let codings = headers[canonicalForm: name].map { String($0).lowercased() }
        guard codings.last == "chunked" else {
            return Problem(.badRequest, "\(name) does not end with chunked")
        }
        guard let other = codings.first(where: { $0 != "chunked" }) else { return nil }
        return Problem(
            .badRequest,
            "\(name): '\(other)' is not known",
            status: 501,
            hint: "Send the body as it is, with Content-Length, or in chunks."
        )
    }

    /// Memory that the head takes: a text of more than 15 bytes has a block of its own.
    var heldBytes: Int {
        func bytes(_ text: String) -> Int {
            MemoryLayout<String>.stride + (text.utf8.count > 15 ? text.utf8.count + 33 : 0)
        }
        // The head's own storage, and that of its list of fields.
        return headers.reduce(bytes(uri) + 256) { $0 + bytes($1.name) + bytes($1.value) }
    }

    /// Whether the client waits for 100; a client of HTTP/1.0 knows no such answer (RFC 9110 10.1.1).
    var expectsContinue: Bool {
        guard version == .http1_1, let value = headers.first(name: "Expect") else { return false }
        return value.withoutBlanks.isEqual(to: "100-continue")
    }

    /// The head that the parser reads from a ``FastPathGet``, without fields that mean nothing.
    static func plainRead(of target: String) -> HTTPRequestHead {
        HTTPRequestHead(version: .http1_1, method: .GET, uri: target, headers: ["Host": "larder"])
    }

    /// Stands for a request that could not be read.
    static var unreadable: HTTPRequestHead {
        HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
    }
}

extension Exchange {
    func refuse(_ error: RouteError) async {
        switch error {
        case .notFound:
            await respond(Problem(.notFound, "there is no \(path)"))
        case .notAllowed(let methods):
            let allowed = methods.map(\.rawValue).joined(separator: ", ")
            let problem = Problem(
                .methodNotAllowed,
                "\(path) takes \(allowed), not \(head.method.rawValue)"
            )
            await respond(problem, ["Allow": allowed])
        case .problem(let problem):
            await respond(problem)
        }
    }
}

extension Problem {
    /// The problem of an id under which nothing is cached; only a URL can be fetched.
    static func miss(_ id: EntryID) -> Problem {
        let detail = "nothing is cached under '\(id)'"
        if id.isEntity {
            return Problem(.miss, detail, hint: "Fetch the URL of an answer that shows it.")
        }
        guard !id.text.hasScheme else { return Problem(.miss, detail) }
        return Problem(.miss, detail, hint: "Put it first: PUT /v1/entries/ID.")
    }

    /// Turns an error of the parser into a problem for the client.
    init(parsing error: any Error) {
        if error as? HTTPParserError == .headerOverflow
            || error is ByteToMessageDecoderError.PayloadTooLargeError
        {
            self.init(
                .headTooLarge,
                "the head has more than \(Limits.requestHeadBytesMax) bytes"
                    + " or \(Limits.headerFieldsMax) fields"
            )
        } else {
            self.init(.badRequest, "what came is no HTTP/1.1 request: \(error)")
        }
    }
}
