import AsyncHTTPClient
import LarderModel
package import NIOCore
import NIOHTTP1
import NIOPosix

/// Asks origins over HTTP/1.1 and HTTP/2 with async-http-client.
///
/// It follows no redirect, decodes no body, and reads no proxy from the environment. Unless the
/// origin allows private addresses, ``AddressRule`` judges the URL's address or what its name leads
/// to (``NameCheck``) before anything is connected, and the peer of a new connection before a
/// request byte leaves (``AddressCheck``). Behind a proxy the peer is the proxy, which whoever named
/// it has chosen; there only an address that stands in the URL can be judged.
package final class HTTPUpstream: Upstream {
    private let clients: ClientPool
    private let names: NameCheck
    private let userAgent: String
    private let silence: TimeAmount

    /// - Parameters:
    ///   - eventLoopGroup: where connections live; it must outlive ``shutdown()``.
    ///   - userAgent: sent where neither the client nor the origin's headers name one.
    ///   - readTime: how long a body may send nothing while it is waited for.
    ///   - lookUp: what tells the addresses of a name; nil for the system's resolver.
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
        let prepared = try prepare(request)
        var closedMax = Limits.closedConnectionsMax
        while true {
            let client = try clients.client(for: settings, host: host)
            let answer = Answer(to: prepared, from: client, deadline: deadline, onSent: onSent)
            do throws(AnswerFailure) {
                let head = try await answer.head()
                return UpstreamReply(
                    status: head.status,
                    headers: head.headers,
                    body: Self.body(of: answer, host: host, silence: silence)
                )
            } catch {
                let isClosed = error.isOfClosedConnection
                let asksAgain =
                    isClosed
                    ? closedMax > 0 && (error.progress == .connecting || request.isRead)
                    : error.isOfPool
                guard asksAgain, NIODeadline.now() < deadline, !Task.isCancelled else {
                    throw UpstreamError(error, host: host)
                }
                guard isClosed else { continue }
                closedMax -= 1
                // By then the pool knows of all the others that are closed.
                try? await Task.sleep(for: Limits.closedConnectionPause)
            }
        }
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
        let prepared = try prepare(request)
        let client = try clients.newClient(settings, host: request.url.host, recorder: recorder)
        let answer = Answer(to: prepared, from: client, deadline: deadline)
        let result: Result<AnswerHead, AnswerFailure>
        do throws(AnswerFailure) {
            result = .success(try await answer.head())
        } catch {
            result = .failure(error)
        }
        // Its one error is that it was shut down before, which nobody else does.
        try? await client.shutdown()
        switch result {
        case .success(let head): return .answered(status: head.status, headers: head.headers)
        case .failure(let failure): throw UpstreamError(failure, host: request.url.host)
        }
    }

    package func shutdown() async {
        await clients.shutdown()
    }

    private func prepare(
        _ request: UpstreamRequest
    ) throws(UpstreamError) -> HTTPClient.Request {
        let fields = HTTPHeaders(
            request.sentHeaders(userAgent: userAgent).fields.map { ($0.name, $0.value) }
        )
        do {
            return try HTTPClient.Request(
                url: request.url.text,
                method: HTTPMethod(rawValue: request.method),
                headers: fields,
                body: request.body.map { .bytes($0) }
            )
        } catch {
            throw .unreachable(host: request.url.host, reason: "its URL cannot be asked: \(error)")
        }
    }

    private static func body(
        of answer: Answer,
        host: String,
        silence: TimeAmount
    ) -> UpstreamBody {
        UpstreamBody { () async throws(UpstreamError) -> [UInt8]? in
            do throws(AnswerFailure) {
                return try await answer.piece(within: silence)
            } catch {
                throw UpstreamError(error, host: host)
            }
        }
    }
}

extension UpstreamRequest {
    /// Whether it may be sent again although it may have arrived (RFC 9110 9.2.1).
    fileprivate var isRead: Bool { method == "GET" || method == "HEAD" }

    /// The header fields as they go over the wire: the client's, over them the origin's own where
    /// the URL is the origin's, and our defaults where neither says anything.
    func sentHeaders(userAgent: String) -> HeaderFields {
        var sent = headers
        if url.originText == origin.baseURL.originText {
            for field in origin.headers.fields { sent.remove(field.name) }
            for field in origin.headers.fields { sent.append(field.name, field.value) }
        }
        if sent["Accept-Encoding"] == nil { sent.append("Accept-Encoding", "identity") }
        if sent["User-Agent"] == nil { sent.append("User-Agent", userAgent) }
        return sent
    }
}
