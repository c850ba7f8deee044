import LarderModel
import LarderWire
import NIOCore
import NIOHTTP1

extension HTTPRequestHead {
    /// The target before its query.
    var path: Substring {
        Substring(uri.utf8.prefix { $0 != UInt8(ascii: "?") })
    }

    /// What stands behind the target's first `?`; nil where it has none.
    var query: Substring? {
        guard let mark = uri.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        return uri[uri.utf8.index(after: mark)...]
    }

    /// Whether no request can follow on the connection.
    ///
    /// The parser takes no HTTP behind an upgrade (RFC 9110 7.8), which is never granted, and
    /// clients of HTTP/1.0 find an answer's end at the connection's.
    func isLast(_ framing: RequestFraming) -> Bool {
        !isKeepAlive || version != .http1_1 || framing.asksForAnotherProtocol
            || framing.isCoded && codingProblem != nil
    }

    /// The head with its target in origin form, if it is one to be answered.
    func checked(_ framing: RequestFraming) throws(RouteError) -> HTTPRequestHead {
        if let problem = hostProblem(framing) { throw .problem(problem) }
        if framing.isCoded, let problem = codingProblem { throw .problem(problem) }
        guard let target = originForm else { return self }
        var head = self
        head.uri = target
        return head
    }

    /// What a target in absolute form asks for; nil for any other (RFC 9112 3.2.2).
    ///
    /// The authority counts for nothing, as Host does: the socket has one server.
    private var originForm: String? {
        guard uri.utf8.first != UInt8(ascii: "/"),
            let scheme = ["http://", "https://"].first(where: {
                String(uri.prefix($0.count)).isEqual(to: $0)
            })
        else { return nil }
        let rest = uri.utf8.dropFirst(scheme.utf8.count)
        let target = rest.drop { ![UInt8(ascii: "/"), UInt8(ascii: "?")].contains($0) }
        let text = String(decoding: target, as: UTF8.self)
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

    /// Chunks are the one coding of a body that is taken: 400 where they do not end the list, 501 for
    /// what stands before them (RFC 9112 6.1), which the parser takes.
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

    var expectsContinue: Bool {
        headers.first(name: "Expect")?.isEqual(to: "100-continue") ?? false
    }

    /// What the parser makes of a ``PlainRead``, but for fields that mean nothing.
    static func plainRead(of target: String) -> HTTPRequestHead {
        HTTPRequestHead(version: .http1_1, method: .GET, uri: target, headers: ["Host": "larder"])
    }

    /// Stands for a request that could not be read.
    static var unreadable: HTTPRequestHead {
        HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
    }
}

extension Exchange {
    /// Answers a request that has no route.
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
    /// There is no entry under an id.
    static func miss(_ id: EntryID) -> Problem {
        Problem(.miss, "nothing is cached under '\(id)'")
    }

    /// What the parser's complaint means to the client.
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
