import Glibc
import LarderEngine
import LarderModel
import LarderWire
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
            Self.refuse(client)
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
    private static func refuse(_ client: Int32) {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        _ = recv(client, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        let answer = refusal
        _ = send(
            client,
            answer,
            answer.count,
            Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        )
    }

    /// One answer for all: there is nothing left to make another with.
    private static let refusal: [UInt8] = {
        let problem = Problem(
            .overloaded,
            "the daemon can open no more files",
            hint: "Try again, or raise the limit of open files, LimitNOFILE= of the unit."
        )
        let body = problem.encoded()
        let head = [
            "HTTP/1.1 503 Service Unavailable", "Content-Type: \(Problem.mediaType)",
            "Content-Length: \(body.count)", "Retry-After: 1", "Connection: close", "", "",
        ]
        return Array(head.joined(separator: "\r\n").utf8) + body
    }()
}
