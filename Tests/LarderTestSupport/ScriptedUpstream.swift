package import LarderModel
package import LarderUpstream
import Synchronization

/// An ``Upstream`` that answers what a test queued, and reports what it was asked.
///
/// A URL for which nothing is queued (any more) is unreachable, or answered by a server. It knows no time: a request's
/// timeout is up to who asks.
package final class ScriptedUpstream: Upstream {
    /// Every request, before it is answered.
    package let asked = Recorder<UpstreamRequest>()
    /// Every request whose task was cancelled while it was held.
    package let givenUp = Recorder<UpstreamRequest>()

    /// Every request whose answer, or whose body, is held.
    package let held = Recorder<UpstreamRequest>()

    /// Every upload, when it has ended.
    package let uploaded = Recorder<Result<[UInt8], UpstreamError>>()

    /// Whether requests leave at once, or wait for a connection until they are answered.
    private let departs = Mutex(true)
    private let queues = Mutex<[WebURL: [ScriptedAnswer]]>([:])
    private let server = Mutex<@Sendable (UpstreamRequest) -> ScriptedAnswer?>({ _ in nil })

    package init() {}

    /// Has the requests from now on wait for a connection, so that they are never seen to leave.
    package func holdRequestsBack() {
        departs.withLock { $0 = false }
    }

    /// Answers the next requests for `url` in this order, each once.
    package func answer(_ url: WebURL, with answers: ScriptedAnswer...) {
        queues.withLock { $0[url, default: []] += answers }
    }

    /// Has a server answer what nothing is queued for; where it gives nothing, that is unreachable.
    package func answerOthers(
        by server: @escaping @Sendable (UpstreamRequest) -> ScriptedAnswer?
    ) {
        self.server.withLock { $0 = server }
    }

    package func ask(
        _ request: UpstreamRequest,
        onSent: @escaping @Sendable () -> Void
    ) async throws(UpstreamError) -> UpstreamReply {
        asked.record(request)
        if let upload = request.upload { await receive(upload) }
        if departs.withLock({ $0 }) { onSent() }
        let queued = queues.withLock { queues -> ScriptedAnswer? in
            guard let queue = queues[request.url], !queue.isEmpty else { return nil }
            return queues[request.url]?.removeFirst()
        }
        guard let answer = queued ?? server.withLock({ $0 })(request) else {
            throw .unreachable(host: request.url.host, reason: "nothing is scripted for it")
        }
        if let gate = answer.gate { try await pass(gate, for: request) }
        switch answer.outcome {
        case .failure(let error):
            throw error
        case .reply(let status, let headers, let pieces):
            let remaining = Mutex(pieces[...])
            let body = UpstreamBody { () async throws(UpstreamError) -> [UInt8]? in
                while let piece = remaining.withLock({ $0.popFirst() }) {
                    switch piece {
                    case .bytes(let bytes): return bytes
                    case .hold(let gate): try await self.pass(gate, for: request)
                    case .failure(let error): throw error
                    }
                }
                return nil
            }
            return UpstreamReply(status: status, headers: headers, body: body)
        }
    }

    /// The same queue as ``ask(_:onSent:)``, over a connection that is made up.
    package func check(_ request: UpstreamRequest) async -> UpstreamCheck {
        do throws(UpstreamError) {
            let reply = try await ask(request)
            return UpstreamCheck(
                connection: UpstreamConnection(
                    peer: "192.0.2.1:443",
                    httpVersion: "HTTP/1.1",
                    tlsVersion: "TLS 1.3"
                ),
                outcome: .answered(status: reply.status, headers: reply.headers)
            )
        } catch {
            return UpstreamCheck(connection: nil, outcome: .failed(error))
        }
    }

    /// Takes an upload as an origin does, up to its end or its break.
    private func receive(_ upload: UpstreamUpload) async {
        var bytes: [UInt8] = []
        do {
            while let piece = try await upload.next() { bytes += piece }
            uploaded.record(.success(bytes))
        } catch {
            uploaded.record(.failure(.brokenOff(reason: "the body broke off")))
        }
    }

    private func pass(_ gate: Gate, for request: UpstreamRequest) async throws(UpstreamError) {
        held.record(request)
        do throws(CancellationError) {
            try await gate.wait()
        } catch {
            givenUp.record(request)
            throw .cancelled
        }
    }
}

extension Upstream {
    /// The same without a word on when the request leaves.
    package func ask(
        _ request: UpstreamRequest
    ) async throws(UpstreamError) -> UpstreamReply {
        try await ask(request, onSent: {})
    }
}
