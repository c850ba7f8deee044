import NIOCore

/// Closes a connection only after the event loop's present turn.
///
/// The daemon may refuse a request before it has all of its body. The HTTP client closes such a
/// connection first and passes the end of the answer on second. The close fails the writes that are
/// left, the HTTP client then fails the request with their error, and the answer is lost.
final class AnswerBeforeClose: ChannelOutboundHandler {
    typealias OutboundIn = NIOAny

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        context.eventLoop.assumeIsolated().execute { context.close(mode: mode, promise: promise) }
    }

    /// For the HTTP client, which calls it with each new connection on the connection's event loop.
    @Sendable
    static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(AnswerBeforeClose(), position: .first)
        }
    }
}
