import LarderModel
import NIOCore
import NIOHTTP1

/// Writes the head of each request as the upstream wants it, and tells whether a connection that
/// was used before is still alive.
///
/// - The request target goes out byte for byte. async-http-client parses URLs with Foundation,
///   which encodes `%` again in a URL that has a character such as `[` as well.
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
    private var isRefused = false
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
                    return refuse(context, promise)
                }
                silence = requests > 0 ? marks.silence : nil
            }
            requests += 1
            head?.requestBegins(hasEscapes: request.headers.contains { $0.value.mayHoldEscapes })
            context.write(wrapOutboundOut(.head(request)), promise: promise)
        case .body(let part):
            guard !isRefused else {
                promise?.fail(StaleConnection.unused)
                return
            }
            context.write(wrapOutboundOut(.body(part)), promise: promise)
        case .end(let trailers):
            guard !isRefused else {
                promise?.fail(StaleConnection.unused)
                return
            }
            startTimer(context)
            context.write(wrapOutboundOut(.end(trailers)), promise: promise)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        stopTimer()
        if case .end = unwrapInboundIn(data) { lastUse = context.eventLoop.now }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        stopTimer()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        stopTimer()
    }

    private func isUsable(_ marks: WireMarks, now: NIODeadline) -> Bool {
        guard requests > 0 else { return true }
        guard born >= marks.connectedAfter else { return false }
        return marks.silence != nil || now - lastUse <= TimeAmount(Limits.reusedIdleMax)
    }

    /// The error reaches async-http-client in a turn of its own: its state machine is in the middle
    /// of a step here.
    private func refuse(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        isRefused = true
        promise?.fail(StaleConnection.unused)
        fail(.unused, context)
    }

    private func fail(_ reason: StaleConnection, _ context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.execute {
            bound.value.fireErrorCaught(reason)
            bound.value.close(promise: nil)
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

extension String {
    /// Whether the text can contain a scalar of ``FieldBytes``.
    fileprivate var mayHoldEscapes: Bool { utf8.contains(0xF4) }
}
