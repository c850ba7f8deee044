import NIOCore

/// Counts the bytes that the socket has taken from a connection.
///
/// It reports the count when the connection wants to write and has not been able to for the time
/// of the `IdleStateHandler` before it.
final class StallHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let stalls: Recorder<Int>
    private var bytesSent = 0

    init(reportingTo stalls: Recorder<Int>) {
        self.stalls = stalls
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let count = unwrapOutboundIn(data).readableBytes
        let taken = promise ?? context.eventLoop.makePromise()
        taken.futureResult.assumeIsolated().whenSuccess { self.bytesSent += count }
        context.write(data, promise: taken)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case IdleStateHandler.IdleStateEvent.write = event, bytesSent > 0 {
            stalls.record(bytesSent)
        }
        context.fireUserInboundEventTriggered(event)
    }
}
