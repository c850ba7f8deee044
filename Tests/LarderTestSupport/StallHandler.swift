import NIOCore

/// Counts the bytes that the socket has taken from a connection, by whole writes.
///
/// It reports the count when a write is under way and none has ended for the time of the
/// `IdleStateHandler` before it. The count may be 0: what a socket holds at first can be less than
/// one write.
final class StallHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let stalls: Recorder<Int>
    private var bytesWritten = 0
    private var bytesSent = 0

    init(reportingTo stalls: Recorder<Int>) {
        self.stalls = stalls
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let count = unwrapOutboundIn(data).readableBytes
        bytesWritten += count
        let taken = promise ?? context.eventLoop.makePromise()
        taken.futureResult.assumeIsolated().whenSuccess { self.bytesSent += count }
        context.write(data, promise: taken)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case IdleStateHandler.IdleStateEvent.write = event, bytesSent < bytesWritten {
            stalls.record(bytesSent)
        }
        context.fireUserInboundEventTriggered(event)
    }
}
