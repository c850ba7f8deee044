package import LarderModel
package import LarderUpstream
import Synchronization

/// An ``Upstream`` that answers what a test queued, and reports what it was asked.
///
/// A URL for which nothing is queued (any more) is unreachable. It knows no time: a request's
/// timeout is up to who asks.
package final class ScriptedUpstream: Upstream {
    /// Every request, before it is answered.
    package let asked = Recorder<UpstreamRequest>()
    /// Every request whose task was cancelled while it was held.
    package let givenUp = Recorder<UpstreamRequest>()

    private let queues = Mutex<[WebURL: [ScriptedAnswer]]>([:])

    package init() {}

    /// Answers the next requests for `url` in this order, each once.
    package func answer(_ url: WebURL, with answers: ScriptedAnswer...) {
        queues.withLock { $0[url, default: []] += answers }
    }

    package func ask(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply {
        asked.record(request)
        let answer = queues.withLock { queues -> ScriptedAnswer? in
            guard let queue = queues[request.url], !queue.isEmpty else { return nil }
            return queues[request.url]?.removeFirst()
        }
        guard let answer else {
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

    package func shutdown() async {}

    private func pass(_ gate: Gate, for request: UpstreamRequest) async throws(UpstreamError) {
        do throws(CancellationError) {
            try await gate.wait()
        } catch {
            givenUp.record(request)
            throw .cancelled
        }
    }
}
