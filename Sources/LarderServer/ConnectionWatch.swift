import LarderModel
import NIOCore

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

    /// The present request's body is waited for; its time counts from the first such look.
    mutating func bodyAwaited(now: NIODeadline) {
        if bodyBegan == nil { bodyBegan = now }
    }

    func isOverdue(isIdle: Bool, waitsForRequest: Bool, now: NIODeadline) -> Bool {
        if let began = closingBegan ?? unreadSince {
            return now - began > .larder(Limits.stalledResponseTime)
        }
        let stalled = TimeAmount.larder(Limits.stalledRequestTime)
        if let headBegan, now - headBegan > stalled { return true }
        if waitsForRequest {
            return now - lastRead > stalled || now - (bodyBegan ?? now) > bodyTime
        }
        return isIdle && now - lastRead > .larder(Limits.idleConnectionTime)
    }

    /// How long the body may take that has come so far.
    private var bodyTime: TimeAmount {
        .larder(Limits.requestBodyTime)
            + .seconds(Int64(bodyBytes / Limits.requestBodyBytesPerSecondMin))
    }
}
