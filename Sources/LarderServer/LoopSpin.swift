import Glibc
import LarderModel
import NIOCore
import NIOPosix

/// Keeps an event loop awake for a moment after it has answered the only client that asks at the time,
/// whose next request is often on its way; used on that loop only.
///
/// To wake a processor that sleeps takes longer than to answer a hit. Meanwhile a byte goes round in a
/// pipe, whose handler this is, so that the loop finds something whenever it looks at its sockets. With
/// two clients there is nothing to gain: it finds the one's request when it has answered the other's.
final class LoopSpin: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// That of the pipe; nil where no loop is to be kept awake.
    private var pipe: ChannelHandlerContext?
    /// Who was answered last.
    private var client: ObjectIdentifier?
    /// Since when at least nobody else was.
    private var aloneSince: NIODeadline?
    /// Until when it is kept awake; nil while no byte is under way.
    private var end: NIODeadline?

    private let now: () -> NIODeadline

    private static let time = TimeAmount(Limits.spinTimeMax)
    private static let quietTime = TimeAmount(Limits.spinQuietTime)
    private static let byte = ByteBuffer(integer: 0 as UInt8)

    init(now: @escaping () -> NIODeadline = NIODeadline.now) {
        self.now = now
    }

    /// Opens a pipe for a loop's spin, which keeps the loop awake from then on.
    static func open(
        _ spin: NIOLoopBoundBox<ServerLoop>,
        on eventLoop: any EventLoop
    ) async throws -> any Channel {
        var ends: [Int32] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else { throw IOError(errnoCode: errno, reason: "pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return try await NIOPipeBootstrap(group: eventLoop)
            .channelInitializer { pipe in
                pipe.eventLoop.makeCompletedFuture {
                    try pipe.pipeline.syncOperations.addHandler(spin.value.spin)
                }
            }
            .takingOwnershipOfDescriptors(input: ends[0], output: ends[1])
            .get()
    }

    func handlerAdded(context: ChannelHandlerContext) { pipe = context }

    func handlerRemoved(context: ChannelHandlerContext) { pipe = nil }

    /// A connection has been answered; the clock is looked at only where it was the last one, too.
    func answered(_ connection: ObjectIdentifier) {
        guard let pipe else { return }
        guard connection == client else {
            (client, aloneSince) = (connection, nil)
            return
        }
        let now = now()
        guard let since = aloneSince else {
            aloneSince = now
            return
        }
        guard now - since >= Self.quietTime else { return }
        if end == nil { send(pipe) }
        end = now + Self.time
    }

    /// The byte has gone round: once more, while the loop is to be kept awake.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let end, aloneSince != nil, now() < end else {
            self.end = nil
            return
        }
        send(context)
    }

    private func send(_ pipe: ChannelHandlerContext) {
        pipe.writeAndFlush(NIOAny(Self.byte), promise: nil)
    }
}
