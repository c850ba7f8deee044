import AsyncHTTPClient
import LarderModel
package import NIOCore
import NIOHTTP1
import NIOPosix

/// Asks origins over HTTP/1.1 and HTTP/2 with async-http-client.
///
/// It follows no redirect, decodes no body, and reads no proxy from the environment. A new
/// connection's peer is judged by ``AddressRule`` before a request byte leaves, unless the origin
/// allows private addresses.
package final class HTTPUpstream: Upstream {
    private let clients: ClientPool
    private let userAgent: String
    private let silence: TimeAmount

    /// - Parameters:
    ///   - eventLoopGroup: where connections live; it must outlive ``shutdown()``.
    ///   - userAgent: sent where neither the client nor the origin's headers name one.
    ///   - readTime: how long a body may send nothing while it is waited for.
    package init(
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        userAgent: String,
        readTime: Duration = Limits.upstreamReadTime
    ) {
        clients = ClientPool(eventLoopGroup: eventLoopGroup)
        self.userAgent = userAgent
        silence = TimeAmount(readTime)
    }

    package func ask(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply {
        guard !Task.isCancelled else { throw .cancelled }
        let deadline = NIODeadline.now() + TimeAmount(request.timeout)
        let host = request.url.host
        let prepared = try prepare(request)
        while true {
            let client = try clients.client(for: ConnectionSettings(request.origin))
            let answer = Answer(to: prepared, from: client, deadline: deadline)
            do throws(AnswerFailure) {
                let head = try await answer.head()
                return UpstreamReply(
                    status: head.status,
                    headers: head.headers,
                    body: Self.body(of: answer, host: host, silence: silence)
                )
            } catch {
                let asksAgain = error.isOfPool && NIODeadline.now() < deadline
                guard asksAgain, !Task.isCancelled else { throw UpstreamError(error, host: host) }
            }
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
            return try HTTPClient.Request(url: request.url.text, method: .GET, headers: fields)
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
