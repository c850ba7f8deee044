import Glibc
import LarderAPI
import LarderEngine
import LarderModel
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// The open connections, how many each user has, and how they are told of the daemon's end.
///
/// Guarded by a lock.
final class ConnectionList: Sendable {
    private struct Open {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var perUser: Quota<UInt32>
        var isDraining = false
        var accepted: Int64 = 0
        var refused: Int64 = 0
        /// Of those how many the log has been told of, and when it is told of more.
        var told: Int64 = 0
        var noticeDue = NIODeadline.uptimeNanoseconds(0)
        var drained: [CheckedContinuation<Void, Never>] = []
    }

    private let open: Mutex<Open>

    init(
        connectionsMax: Int = Limits.connectionsMax,
        perUserMax: Int = Limits.connectionsPerUserMax
    ) {
        open = Mutex(Open(perUser: Quota(max: connectionsMax, each: perUserMax)))
    }

    var count: Int { open.withLock { $0.channels.count } }

    var isDraining: Bool { open.withLock { $0.isDraining } }

    /// How many were refused since the log was told; nil while it is not to be told again.
    func takeRefusals(now: NIODeadline) -> Int64? {
        open.withLock { open in
            guard now >= open.noticeDue else { return nil }
            open.noticeDue = now + TimeAmount(Limits.shortageNoticeTime)
            defer { open.told = open.refused }
            return open.refused - open.told
        }
    }

    var counts: ConnectionStats {
        open.withLock { open in
            var counts = ConnectionStats()
            counts.open = open.channels.count
            counts.accepted = open.accepted
            counts.refused = open.refused
            return counts
        }
    }

    /// Takes a connection in until it is closed; false when there are too many, or the daemon is
    /// ending.
    func add(_ channel: any Channel, uid: UInt32) -> Bool {
        let isTaken = open.withLock { open in
            guard !open.isDraining, open.perUser.take(uid) else {
                open.refused += 1
                return false
            }
            open.accepted += 1
            open.channels[ObjectIdentifier(channel)] = channel
            return true
        }
        if isTaken {
            channel.closeFuture.whenComplete { _ in self.remove(channel, uid: uid) }
        }
        return isTaken
    }

    private func remove(_ channel: any Channel, uid: UInt32) {
        let waiting = open.withLock { open -> [CheckedContinuation<Void, Never>] in
            guard open.channels.removeValue(forKey: ObjectIdentifier(channel)) != nil else {
                return []
            }
            open.perUser.release(uid)
            guard open.isDraining, open.channels.isEmpty else { return [] }
            defer { open.drained = [] }
            return open.drained
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Tells every connection that the daemon is ending, and takes no more.
    func drain() {
        let channels = open.withLock { open in
            open.isDraining = true
            return Array(open.channels.values)
        }
        for channel in channels {
            channel.pipeline.fireUserInboundEventTriggered(DrainBegan())
        }
    }

    func waitUntilEmpty() async {
        await withCheckedContinuation { continuation in
            let isEmpty = open.withLock { open in
                if !open.channels.isEmpty { open.drained.append(continuation) }
                return open.channels.isEmpty
            }
            if isEmpty { continuation.resume() }
        }
    }

    func closeAll() {
        let channels = open.withLock { Array($0.channels.values) }
        for channel in channels { channel.close(promise: nil) }
    }
}

/// The user event by which a connection hears of the daemon's end.
struct DrainBegan: Sendable {}

/// The 503 answer to a client whose connection the server does not take.
///
/// The bytes are made once, as the process may have no memory or file left when they are needed.
struct ConnectionRefusal: Sendable {
    static let noFiles = ConnectionRefusal(
        "the daemon can open no more files",
        hint: "Try again, or raise the limit of open files, LimitNOFILE= of the unit."
    )
    static let tooMany = ConnectionRefusal(
        "there are too many connections, of all users or of yours",
        hint: "Close some, or raise the limit of open files, LimitNOFILE= of the unit."
    )

    private let bytes: [UInt8]

    private init(_ detail: String, hint: String) {
        let body = Problem(.overloaded, detail, hint: hint).encoded()
        let head = [
            "HTTP/1.1 503 Service Unavailable", "Content-Type: \(Problem.mediaType)",
            "Content-Length: \(body.count)", "Retry-After: 1", "Server: \(HTTPHeaders.server)",
            "Connection: close", "", "",
        ]
        bytes = Array(head.joined(separator: "\r\n").utf8) + body
    }

    /// Sends as much as the socket takes without waiting, which is all of it on a new connection.
    func send(to client: Int32) {
        // A close with unread bytes would reset the connection before the client reads the answer.
        var request = [UInt8](repeating: 0, count: 4_096)
        _ = recv(client, &request, request.count, Int32(MSG_DONTWAIT))
        _ = Glibc.send(client, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    }
}

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
        noticeDue = now + TimeAmount(Limits.shortageNoticeTime)
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
        channel.eventLoop.scheduleTask(in: TimeAmount(Limits.acceptPause)) {
            _ = channel.setOption(.autoRead, value: true)
        }
    }

    private static func openReserve() -> Int32 { open("/dev/null", O_RDONLY | O_CLOEXEC) }
}

/// How long a connection has been silent, looked at now and then rather than timed by each byte.
struct ConnectionWatch {
    private var lastRead: NIODeadline
    /// When the first bytes of a head came that is not whole yet.
    private var headBegan: NIODeadline?
    private var sawPart = false
    /// Since when the body of the present request is waited for, and how much of it has come.
    private var bodyBegan: NIODeadline?
    private var bodyBytes = 0
    private var closingBegan: NIODeadline?
    /// Since when the client has to read before it is answered further.
    private var unreadSince: NIODeadline?
    /// Bytes that the client had yet to take at the last look.
    private var unsentBytes = 0
    private var timer: RepeatedTask?

    /// Between two looks; every bound is kept within this.
    private static let interval = TimeAmount.seconds(5)

    init(now: NIODeadline) {
        lastRead = now
    }

    mutating func start(on eventLoop: any EventLoop, _ look: @escaping @Sendable () -> Void) {
        timer = eventLoop.scheduleRepeatedTask(
            initialDelay: Self.interval,
            delay: Self.interval
        ) { _ in look() }
    }

    mutating func stop() {
        timer?.cancel()
        timer = nil
    }

    mutating func partArrived() {
        sawPart = true
        headBegan = nil
    }

    /// Bytes have come; without a part while idle they are the beginning of a head.
    mutating func readCompleted(isIdle: Bool, now: NIODeadline) {
        lastRead = now
        if isIdle, !sawPart, headBegan == nil { headBegan = now }
        sawPart = false
    }

    mutating func bodyArrived(_ bytes: Int) {
        bodyBytes += bytes
    }

    mutating func requestEnded() {
        bodyBegan = nil
        bodyBytes = 0
    }

    /// The last answer was written; the client has yet to read it.
    mutating func closingBegan(now: NIODeadline) {
        closingBegan = now
    }

    /// The client has to read of its answers before the next request is taken up.
    mutating func readingAwaited(now: NIODeadline) {
        unreadSince = now
    }

    mutating func readingSeen() {
        unreadSince = nil
    }

    /// A client that has taken bytes since the last look has all of its time again.
    mutating func looked(unsentBytes: Int, now: NIODeadline) {
        if unsentBytes < self.unsentBytes {
            closingBegan = closingBegan.map { _ in now }
            unreadSince = unreadSince.map { _ in now }
        }
        self.unsentBytes = unsentBytes
    }

    /// The present request's body is waited for; its time counts from the first such look.
    mutating func bodyAwaited(now: NIODeadline) {
        if bodyBegan == nil { bodyBegan = now }
    }

    func isOverdue(isIdle: Bool, waitsForRequest: Bool, now: NIODeadline) -> Bool {
        if let began = closingBegan ?? unreadSince {
            return now - began > TimeAmount(Limits.stalledResponseTime)
        }
        let stalled = TimeAmount(Limits.stalledRequestTime)
        if let headBegan, now - headBegan > stalled { return true }
        if waitsForRequest {
            return now - lastRead > stalled || now - (bodyBegan ?? now) > bodyTime
        }
        return isIdle && now - lastRead > TimeAmount(Limits.idleConnectionTime)
    }

    /// How long the body may take that has come so far.
    private var bodyTime: TimeAmount {
        TimeAmount(Limits.bodyTime(byteCount: bodyBytes))
    }
}
