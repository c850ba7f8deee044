import LarderModel
import NIOCore
import NIOHTTP1

/// Writes the head of each request, and detects whether a reused connection is still alive.
///
/// - The request target goes out byte for byte. async-http-client parses URLs with Foundation. If a
///   URL has a character such as `[`, Foundation also encodes its `%` again.
/// - A reused connection may be dead without a sign, for example after a suspend. A request that
///   may be sent twice gives it up after ``WireMarks/silence``. A request that must not goes out
///   only over a connection that was busy until ``Limits/reusedIdleMax`` ago.
final class RequestHandler: ChannelDuplexHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private var born = NIODeadline.uptimeNanoseconds(0)
    private let head: ResponseHeadHandler?
    private var requests = 0
    private var lastUse = NIODeadline.uptimeNanoseconds(0)
    /// Promises of the parts of a refused request; nil while no request is refused.
    private var refused: [EventLoopPromise<Void>]?
    /// Whether the answer to the present request has ended.
    private var isAnswered = false
    private var silence: TimeAmount?
    private var timer: Scheduled<Void>?

    /// - Parameter head: Handler of the bytes of the same connection; nil for a stream of HTTP/2.
    init(head: ResponseHeadHandler?) {
        self.head = head
    }

    func handlerAdded(context: ChannelHandlerContext) {
        born = context.eventLoop.now
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var request):
            let marks = WireMarks.take(from: &request.headers)
            if let marks {
                request.uri = marks.target
                guard isUsable(marks, now: context.eventLoop.now) else {
                    refused = promise.map { [$0] } ?? []
                    return fail(.unused, context)
                }
                silence = requests > 0 ? marks.silence : nil
            }
            requests += 1
            isAnswered = false
            // The first byte of every scalar of FieldBytes.
            let hasEscapes = request.headers.contains { $0.value.utf8.contains(0xF4) }
            head?.requestBegins(hasEscapes: hasEscapes)
            context.write(wrapOutboundOut(.head(request)), promise: promise)
        case _ where refused != nil:
            if let promise { refused?.append(promise) }
        case .body(let part):
            context.write(wrapOutboundOut(.body(part)), promise: promise)
        case .end(let trailers):
            startTimer(context)
            let promise = failing(beforeAnswer: promise, context)
            context.write(wrapOutboundOut(.end(trailers)), promise: promise)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        stopTimer()
        if case .end = unwrapInboundIn(data) {
            lastUse = context.eventLoop.now
            isAnswered = true
        }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        stopTimer()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        stopTimer()
    }

    /// The promise of the request's last write, which fails only before the answer has ended.
    ///
    /// An origin may answer before it has all of a request. async-http-client then closes first and
    /// passes the end of the answer on second. The close fails the remaining writes, and their
    /// error would fail the answer.
    private func failing(
        beforeAnswer promise: EventLoopPromise<Void>?,
        _ context: ChannelHandlerContext
    ) -> EventLoopPromise<Void>? {
        guard let promise, !isAnswered else { return promise }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { result in
            promise.completeWith(self.isAnswered ? .success(()) : result)
        }
        return written
    }

    private func isUsable(_ marks: WireMarks, now: NIODeadline) -> Bool {
        guard requests > 0 else { return true }
        guard born >= marks.connectedAfter else { return false }
        return marks.silence != nil || now - lastUse <= TimeAmount(Limits.reusedIdleMax)
    }

    /// Reports the error to async-http-client in a later turn of the event loop.
    ///
    /// At this moment its state machine is in the middle of a step. The error arrives before any
    /// promise fails, because async-http-client blames a failed write on the peer.
    private func fail(_ reason: StaleConnection, _ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.execute {
            let (handler, context) = bound.value
            context.fireErrorCaught(reason)
            for promise in handler.refused ?? [] { promise.fail(reason) }
            context.close(promise: nil)
        }
    }

    private func startTimer(_ context: ChannelHandlerContext) {
        guard let silence else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: silence) {
            let (handler, context) = bound.value
            handler.timer = nil
            handler.fail(.silent, context)
        }
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
        silence = nil
    }
}
