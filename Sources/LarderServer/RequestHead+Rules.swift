import LarderModel
import LarderWire
import NIOCore
import NIOHTTP1

extension HTTPRequestHead {
    /// Whether what the client sends behind it may be no HTTP.
    var asksForAnotherProtocol: Bool {
        headers.contains(name: "Upgrade") || method == .CONNECT
    }

    /// Whether nothing can follow the head but the next request.
    var hasNoBody: Bool {
        !headers.contains(name: "Content-Length") && !headers.contains(name: "Transfer-Encoding")
    }

    /// Whether no request can follow on the connection.
    ///
    /// The parser takes no HTTP behind an upgrade (RFC 9110 7.8), which is never granted, and
    /// clients of HTTP/1.0 find an answer's end at the connection's.
    var isLast: Bool {
        !isKeepAlive || version != .http1_1 || asksForAnotherProtocol
    }

    var byteCount: Int {
        headers.reduce(uri.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }

    var expectsContinue: Bool {
        headers.first(name: "Expect")?.isEqual(to: "100-continue") ?? false
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
            await respond(
                Problem(.methodNotAllowed, "\(path) takes \(allowed), not \(head.method.rawValue)"),
                ["Allow": allowed]
            )
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
