import AsyncHTTPClient
import LarderModel
package import NIOCore
import NIOHTTP1
import NIOPosix

/// Asks origins over HTTP/1.1 with async-http-client.
///
/// It follows no redirect, and reads no proxy from the environment.
///
/// Unless the origin allows private addresses, ``AddressRule`` applies twice:
/// - before a connection, to the URL's address or the addresses of its name (``NameCheck``);
/// - before the first request byte, to the peer of a new connection (``AddressCheck``).
///
/// Behind a proxy the peer is the proxy, which the origin's settings name. There the rule can judge
/// only an address that is part of the URL.
package final class HTTPUpstream: Upstream {
    private let clients: ClientPool
    private let names: NameCheck
    private let userAgent: String
    private let silence: TimeAmount

    /// - Parameters:
    ///   - eventLoopGroup: the loops of the connections; it must outlive ``shutdown()``.
    ///   - userAgent: User-Agent for requests without one from the client or the origin's headers.
    ///   - readTime: how long a body may be silent while a reader waits for it.
    ///   - lookUp: function that looks up the addresses of a name; nil for the system's resolver.
    package init(
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        userAgent: String,
        readTime: Duration = Limits.upstreamReadTime,
        lookUp: (@Sendable (String) -> EventLoopFuture<[SocketAddress]>)? = nil
    ) {
        clients = ClientPool(eventLoopGroup: eventLoopGroup)
        names = NameCheck(eventLoopGroup: eventLoopGroup, lookUp: lookUp)
        self.userAgent = userAgent
        silence = TimeAmount(readTime)
    }

    package func ask(
        _ request: UpstreamRequest,
        onSent: @escaping @Sendable () -> Void
    ) async throws(UpstreamError) -> UpstreamReply {
        guard !Task.isCancelled else { throw .cancelled }
        let settings = ConnectionSettings(for: request)
        let now = NIODeadline.now()
        let deadline = now + TimeAmount(request.timeout)
        let host = request.url.host
        try await names.judge(request.url, settings, now: now, deadline: deadline)
        var marks = WireMarks(target: request.url.requestTarget)
        if request.mayRepeat, (request.body?.count ?? 0) <= Limits.reusedBodyBytesMax {
            marks.silence = min(
                TimeAmount(Limits.reusedSilenceMax),
                .nanoseconds(TimeAmount(request.timeout).nanoseconds / 3)
            )
        }
        var repeats = Repeats()
        while true {
            let client = try clients.client(for: settings, host: host)
            let loop = clients.anyEventLoop
            let prepared = try prepare(request, marks, loop)
            let answer = Answer(to: prepared, from: client, loop, deadline, onSent: onSent)
            do throws(AnswerFailure) {
                var reply = reply(try await answer.head(), answer, to: request)
                reply.isToRepeat = repeats.mayHaveArrived
                return reply
            } catch {
                let next = repeats.next(after: error, request)
                let isOver = NIODeadline.now() >= deadline
                guard next != .giveUp, !isOver, !Task.isCancelled,
                    request.upload?.hasBegun != true
                else {
                    // The silence of a reused connection took all of the time.
                    if isOver, next == .onNewConnection { throw .timedOut(.head) }
                    throw repeats.outcome(of: error, request)
                }
                switch next {
                case .giveUp, .again: continue
                case .onNewConnection: marks.connectedAfter = .now()
                case .afterPause:
                    // Each other connection of that time may be closed, too; after this pause the pool
                    // knows of most.
                    marks.connectedAfter = .now()
                    try? await Task.sleep(for: Limits.closedConnectionPause)
                }
            }
        }
    }

    /// The answer for the engine, decoded unless the request itself names the codings.
    private func reply(
        _ head: AnswerHead,
        _ answer: Answer,
        to request: UpstreamRequest
    ) -> UpstreamReply {
        let host = request.url.host
        // An open stream of events, or of lines, is silent while there are none.
        let silence = head.isOpenStream ? nil : silence
        var reply = UpstreamReply(
            status: head.status,
            headers: head.headers,
            body: UpstreamBody { () async throws(UpstreamError) -> [UInt8]? in
                do throws(AnswerFailure) {
                    return try await answer.piece(within: silence)
                } catch {
                    throw UpstreamError(error, host: host)
                }
            },
            endsWithConnection: head.endsWithConnection
        )
        reply.headers.remove(Entry.codingField)
        let codings = head.headers.listed("Content-Encoding").filter { coding in
            !AnswerHead.plainCodings.contains(coding)
        }
        if codings.isEmpty { reply.headers.remove("Content-Encoding") }
        guard request.method != "HEAD", request.headers["Accept-Encoding"] == nil,
            head.mayBeDecoded, codings.count == 1, let coding = ContentCoding(codings[0])
        else { return reply }
        for name in AnswerHead.codedFields { reply.headers.remove(name) }
        reply.headers.mark(coding: coding.rawValue)
        reply.body = reply.body.decoded(coding)
        return reply
    }

    package func check(_ request: UpstreamRequest) async -> UpstreamCheck {
        let recorder = ConnectionRecorder()
        let outcome: UpstreamCheck.Outcome
        do throws(UpstreamError) {
            outcome = try await look(request, recorder)
        } catch {
            outcome = .failed(error)
        }
        return UpstreamCheck(connection: recorder.connection, outcome: outcome)
    }

    private func look(
        _ request: UpstreamRequest,
        _ recorder: ConnectionRecorder
    ) async throws(UpstreamError) -> UpstreamCheck.Outcome {
        let settings = ConnectionSettings(for: request)
        let now = NIODeadline.now()
        let deadline = now + TimeAmount(request.timeout)
        try await names.judge(request.url, settings, now: now, deadline: deadline)
        let loop = clients.anyEventLoop
        let prepared = try prepare(request, WireMarks(target: request.url.requestTarget), loop)
        let client = try clients.newClient(settings, host: request.url.host, recorder: recorder)
        let answer = Answer(to: prepared, from: client, loop, deadline)
        let outcome: UpstreamCheck.Outcome
        do throws(AnswerFailure) {
            let head = try await answer.head()
            outcome = .answered(status: head.status, headers: head.headers)
        } catch {
            outcome = .failed(
                UpstreamError(error, host: request.url.host, proxy: request.origin.proxy)
            )
        }
        // The only error says that the client was shut down before, and only this function shuts it
        // down.
        try? await client.shutdown()
        return outcome
    }

    /// Ends every connection; requests under way fail, and none may follow.
    package func shutdown() async { await clients.shutdown() }

    /// The URL names only the host: ``RequestHandler`` writes the target from the marks.
    private func prepare(
        _ request: UpstreamRequest,
        _ marks: WireMarks,
        _ loop: any EventLoop
    ) throws(UpstreamError) -> HTTPClient.Request {
        var fields = HTTPHeaders(
            request.sentHeaders(userAgent: userAgent).fields.map { ($0.name, $0.value) }
        )
        marks.write(to: &fields)
        if request.purpose == .upload { fields.add(name: "Connection", value: "close") }
        do {
            return try HTTPClient.Request(
                url: request.url.originText + "/",
                method: HTTPMethod(rawValue: request.method),
                headers: fields,
                body: request.upload.map { sending($0, loop) } ?? request.body.map { .bytes($0) }
            )
        } catch {
            throw .unreachable(host: request.url.host, reason: "its URL cannot be asked: \(error)")
        }
    }

    /// The body of a request whose delegate is on the event loop.
    ///
    /// The HTTP client forgets a connection if the answer ends before the body. So the last piece
    /// is written on the event loop, and the client knows immediately that it is the last one.
    private func sending(_ upload: UpstreamUpload, _ loop: any EventLoop) -> HTTPClient.Body {
        .stream(contentLength: upload.byteCount) { writer in
            loop.makeFutureWithTask { () async throws -> ByteBuffer? in
                var left = upload.byteCount
                while let piece = try await upload.next() {
                    left = left.map { $0 - Int64(piece.count) }
                    guard left != 0 else { return ByteBuffer(bytes: piece) }
                    try await writer.write(.byteBuffer(ByteBuffer(bytes: piece))).get()
                }
                return nil
            }.flatMap { last in
                last.map { writer.write(.byteBuffer($0)) } ?? loop.makeSucceededVoidFuture()
            }
        }
    }
}

extension UpstreamRequest {
    /// The header fields that are sent.
    ///
    /// The origin's own fields replace the client's if the URL is the origin's. Larder's defaults
    /// apply if neither has a field.
    func sentHeaders(userAgent: String) -> HeaderFields {
        var sent = headers
        if url.originText == origin.baseURL.originText {
            for field in origin.headers.fields { sent.remove(field.name) }
            for field in origin.headers.fields { sent.append(field.name, field.value) }
        }
        if sent["Accept-Encoding"] == nil {
            sent.append("Accept-Encoding", acceptsCodings ? ContentCoding.accepted : "identity")
        }
        if sent["User-Agent"] == nil { sent.append("User-Agent", userAgent) }
        return sent
    }
}

/// Counts how often a request was sent again, and decides whether to send it once more.
///
/// The last error of a write covers all its sendings: with `hasLeft` one of them may have arrived.
private struct Repeats {
    enum Next {
        case giveUp
        case again
        case afterPause
        case onNewConnection
    }

    private var closed = 0
    private var unused = 0
    private var silent = 0
    /// Whether an earlier sending may have reached the origin.
    private(set) var mayHaveArrived = false

    mutating func next(after failure: AnswerFailure, _ request: UpstreamRequest) -> Next {
        switch failure.error as? StaleConnection {
        case .unused:
            unused += 1
            return unused <= 2 * Limits.upstreamConnectionsPerUserMax ? .again : .giveUp
        case .silent:
            silent += 1
            mayHaveArrived = true
            return silent == 1 ? .onNewConnection : .giveUp
        case nil: break
        }
        if failure.isOfPool { return .again }
        guard failure.isOfClosedConnection,
            failure.progress == .connecting || request.mayRepeat
        else { return .giveUp }
        closed += 1
        if failure.progress != .connecting { mayHaveArrived = true }
        return closed <= Limits.closedConnectionsMax ? .afterPause : .giveUp
    }

    /// The error of a request that is not sent again.
    func outcome(of last: AnswerFailure, _ request: UpstreamRequest) -> UpstreamError {
        let host = request.url.host
        let error = UpstreamError(last, host: host, proxy: request.origin.proxy)
        // A read may always be sent again, so its error is about the last sending only.
        guard request.isWrite else { return error }
        switch error {
        case .unreachable, .closed, .shortage, .addressRefused:
            return mayHaveArrived ? .closed(host: host, hasLeft: true) : error
        case .timedOut:
            // async-http-client counts a request as sent that RequestHandler refused. All
            // connections may have been in use, which is not the origin's failure.
            guard request.purpose == .write, last.progress == .connecting, !mayHaveArrived else {
                return error
            }
            return .shortage(reason: "no connection was free within the request's time")
        case .brokenOff, .undecodable, .expandsTooMuch, .headTooLarge, .cancelled: return error
        }
    }
}

extension AnswerHead {
    /// Fields that describe the coded bytes.
    fileprivate static let codedFields = [
        "Content-Encoding", "Content-Length", "Content-MD5", "Content-Digest", "Repr-Digest",
        "Digest",
    ]

    /// Names that code nothing: identity (RFC 9110 8.4.1), and those that servers send by mistake.
    ///
    /// With one of them a body would count as one to decode.
    fileprivate static let plainCodings: Set = ["identity", "none", "utf-8", "utf8"]

    /// Whether the body can be decoded: a part of a coded body cannot, and a 204 or 304 has none.
    fileprivate var mayBeDecoded: Bool { ![204, 206, 304].contains(status) }

    private static let openTypes: Set = [
        "text/event-stream", "multipart/x-mixed-replace", "application/x-ndjson",
        "application/jsonl", "application/json-seq",
    ]

    fileprivate var isOpenStream: Bool {
        Self.openTypes.contains(headers["Content-Type"]?.mediaEssence ?? "")
    }
}
