import Glibc
import LarderEngine
import LarderModel
import Logging
import NIOCore

/// Refuses clients while the process can open no more files.
///
/// Without it the listener would be ready again and again, and each turn of its event loop would fail
/// to accept. A descriptor in reserve is given up to accept each client that waits, tell it 503 and
/// close its connection.
///
/// Used on the listener's event loop.
final class AcceptGuard: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private let listener: Int32
    private let logger: Logger
    private var reserve: Int32
    private var refused = 0
    private var noticeDue = NIODeadline.uptimeNanoseconds(0)

    /// `listener` is the descriptor that clients are accepted from.
    init(listener: Int32, logger: Logger) {
        self.listener = listener
        self.logger = logger
        reserve = Self.openReserve()
    }

    deinit {
        if reserve >= 0 { close(reserve) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError,
            [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode)
        else { return context.fireErrorCaught(error) }
        let count = refuseWaiting()
        refused += count
        if count == 0 { pause(context) }
        let now = context.eventLoop.now
        guard now >= noticeDue else { return }
        noticeDue = now + .larder(Limits.shortageNoticeTime)
        logger.warning(
            "no file can be opened, clients are refused",
            metadata: .larder([
                .reason: "\(String(cString: strerror(error.errnoCode)))", .count: "\(refused)",
            ])
        )
        refused = 0
    }

    /// Refuses the clients that wait, a bounded number in one turn; how many they were.
    private func refuseWaiting() -> Int {
        var count = 0
        while count < Limits.refusedConnectionsMax {
            if reserve >= 0 { close(reserve) }
            let client = accept(listener, nil, nil)
            guard client >= 0 else { break }
            ConnectionRefusal.noFiles.send(to: client)
            close(client)
            count += 1
            reserve = -1
        }
        reserve = Self.openReserve()
        return count
    }

    /// Another thread was quicker with the descriptor in reserve.
    private func pause(_ context: ChannelHandlerContext) {
        let channel = context.channel
        _ = channel.setOption(.autoRead, value: false)
        channel.eventLoop.scheduleTask(in: .larder(Limits.acceptPause)) {
            _ = channel.setOption(.autoRead, value: true)
        }
    }

    private static func openReserve() -> Int32 { open("/dev/null", O_RDONLY | O_CLOEXEC) }

    /// Takes what the client has sent so far: with that unread, the kernel would drop the answer.
}
