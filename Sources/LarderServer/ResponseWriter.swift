import DequeModule
import LarderAPI
import LarderEngine
import LarderModel
import NIOCore
import NIOHTTP1
import Synchronization

/// Writes one answer to a connection, no faster than the client reads it.
///
/// Used on the connection's event loop.
struct ResponseWriter: Sendable {
    let channel: any Channel
    let version: HTTPVersion
    let isHeadOnly: Bool

    /// Sends a whole answer; a large one in pieces, as fast as the client reads.
    func respond(
        _ status: HTTPResponseStatus,
        _ headers: HTTPHeaders = HTTPHeaders(),
        body: [UInt8] = []
    ) async {
        var headers = headers
        if status != .noContent {
            headers.replaceOrAdd(name: "Content-Length", value: String(body.count))
        }
        guard await begin(status, headers, isFlushed: false) else { return }
        var rest = isHeadOnly ? [] : body[...]
        while rest.count > Limits.unsentBytesMax {
            guard await send(rest.prefix(Limits.unsentBytesMax)) else { return }
            rest = rest.dropFirst(Limits.unsentBytesMax)
        }
        if !rest.isEmpty {
            channel.write(
                HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: rest))),
                promise: nil
            )
        }
        await end()
    }

    func respond(_ problem: Problem, _ headers: HTTPHeaders = HTTPHeaders()) async {
        var headers = headers
        headers.replaceOrAdd(name: "Content-Type", value: Problem.mediaType)
        headers.replaceOrAdd(name: "Cache-Control", value: "no-store")
        if problem.status == 503, !headers.contains(name: "Retry-After") {
            headers.add(name: "Retry-After", value: "1")
        }
        await respond(
            HTTPResponseStatus(statusCode: problem.status),
            headers,
            body: problem.encoded()
        )
    }

    /// The head of an answer whose body follows.
    ///
    /// Returns false once the connection is closed.
    func begin(
        _ status: HTTPResponseStatus,
        _ headers: HTTPHeaders,
        isFlushed: Bool = true
    ) async -> Bool {
        let head = HTTPResponseHead(version: version, status: status, headers: headers)
        guard isFlushed else {
            channel.write(HTTPServerResponsePart.head(head), promise: nil)
            return channel.isActive
        }
        return await write(.head(head))
    }

    /// The next piece of the body; returns when the socket has taken it.
    ///
    /// Returns false once the connection is closed.
    func send(_ bytes: some Collection<UInt8> & Sendable) async -> Bool {
        guard !isHeadOnly else { return channel.isActive }
        return await write(.body(.byteBuffer(ByteBuffer(bytes: bytes))))
    }

    /// Sends a body that comes piece by piece, no faster than the client reads it.
    ///
    /// If the body breaks off, so does the answer, as its head has been sent.
    func copy(
        _ status: HTTPResponseStatus,
        _ headers: HTTPHeaders,
        next: () async throws -> [UInt8]?
    ) async {
        guard await begin(status, headers) else { return }
        guard !isHeadOnly, status.mayHaveResponseBody else { return await end() }
        do {
            while let piece = try await next() {
                guard await send(piece) else { return }
            }
        } catch {
            return await abort()
        }
        await end()
    }

    func end() async {
        _ = await write(.end(nil))
    }

    /// Cuts the answer off: what was begun cannot be finished.
    func abort() async {
        try? await channel.close().get()
    }

    /// Asks a client that waits for it to send its body (RFC 9110 10.1.1).
    func goOn() {
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        channel.writeAndFlush(HTTPServerResponsePart.head(head), promise: nil)
    }

    private func write(_ response: HTTPServerResponsePart) async -> Bool {
        let wait = ReadingWait(channel)
        defer { wait.end() }
        do {
            try await channel.writeAndFlush(response)
            return true
        } catch {
            return false
        }
    }
}

/// Closes a connection whose client takes no byte of what was written for its time.
private final class ReadingWait: Sendable {
    private enum State {
        case waiting(Scheduled<Void>?)
        case over
    }

    private let channel: any Channel
    private let state = Mutex(State.waiting(nil))

    init(_ channel: any Channel) {
        self.channel = channel
        look(after: .min, since: channel.eventLoop.now)
    }

    /// Looks several times in the client's time.
    ///
    /// `unsent` is what was left at the look before. `last` is the moment of the last look at which
    /// the client had taken bytes.
    private func look(after unsent: Int, since last: NIODeadline) {
        let (loop, time) = (channel.eventLoop, Limits.stalledResponseTime)
        let next = loop.scheduleTask(in: TimeAmount(time / 6)) { [self] () -> Void in
            guard case .waiting = state.withLock({ $0 }) else { return }
            let (left, now) = (channel.unsentBytes, loop.now)
            let taken = left < unsent ? now : last
            guard now - taken < TimeAmount(time) else { return channel.close(promise: nil) }
            look(after: left, since: taken)
        }
        let isOver = state.withLock { state in
            if case .over = state { return true }
            state = .waiting(next)
            return false
        }
        if isOver { next.cancel() }
    }

    func end() {
        let next = state.withLock { state -> Scheduled<Void>? in
            defer { state = .over }
            guard case .waiting(let next) = state else { return nil }
            return next
        }
        next?.cancel()
    }
}

extension Channel {
    /// Bytes that were written and that the socket has yet to take; used on the event loop.
    var unsentBytes: Int {
        (try? syncOptions?.getOption(ChannelOptions.bufferedWritableBytes)) ?? 0
    }
}

/// Writes one head with the bytes that its field values stand for (``FieldBytes``).
///
/// It is the last on the way to the socket, and removes itself with the head: heads that need it are
/// rare.
final class FieldBytesHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Has the next head written by one of these.
    static func add(to pipeline: ChannelPipeline) {
        try? pipeline.syncOperations.addHandler(FieldBytesHandler(), position: .first)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let head = unwrapOutboundIn(data)
        let bytes = ByteBuffer(bytes: FieldBytes.unescaped(head.readableBytesView))
        context.write(wrapOutboundOut(bytes), promise: promise)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}

extension HTTPHeaders {
    /// Value of the field `Server`, which every answer has (RFC 9110 10.2.4).
    static let server = "larderd/\(Version.text)"

    /// Adds the fields of every answer, apart from those that it has.
    mutating func addGeneral(date: String) {
        if !contains(name: "Date") { add(name: "Date", value: date) }
        if !contains(name: "Server") { add(name: "Server", value: Self.server) }
    }

    /// Whether a value may stand for bytes that are not UTF-8.
    var mayHoldFieldBytes: Bool { contains { $0.value.utf8.contains(0xF4) } }
}

/// The body of a request as it comes, read no faster than it is taken.
///
/// Used on its connection's event loop only.
// Confined to the event loop, which every entry point checks.
final class RequestBody: @unchecked Sendable {
    private let eventLoop: any EventLoop
    private var pieces = Deque<ByteBuffer>()
    private var bufferedBytes = 0
    private(set) var isWhole = false
    private(set) var isBroken = false
    private var taker: CheckedContinuation<Result<ByteBuffer?, Problem>, Never>?
    /// Told when there is room for more.
    var hasRoom: () -> Void = {}
    /// Told once, before the first piece is waited for.
    var isWanted: () -> Void = {}
    /// The memory of a body that was collected, and of what is made of it, until the exchange ends.
    var memory: UserShare?

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Whether the connection should go on reading.
    var wantsMore: Bool {
        bufferedBytes < Limits.inlineBodyBytesMax * 2
    }

    /// Whether a reader waits for a piece: then the client is the slow side.
    var isAwaited: Bool { taker != nil }

    // MARK: From the connection

    func arrived(_ piece: ByteBuffer) {
        eventLoop.preconditionInEventLoop()
        guard piece.readableBytes > 0 else { return }
        if let taker {
            self.taker = nil
            taker.resume(returning: .success(piece))
        } else {
            pieces.append(piece)
            bufferedBytes += piece.heldBytes
        }
    }

    func ended() {
        eventLoop.preconditionInEventLoop()
        isWhole = true
        taker?.resume(returning: .success(nil))
        taker = nil
    }

    func hungUp() {
        eventLoop.preconditionInEventLoop()
        guard !isWhole else { return }
        isBroken = true
        taker?.resume(returning: .failure(.brokenBody))
        taker = nil
    }

    // MARK: From the route

    /// The next piece; nil at the end.
    func next() async throws(Problem) -> ByteBuffer? {
        eventLoop.preconditionInEventLoop()
        if let piece = pieces.popFirst() {
            bufferedBytes -= piece.heldBytes
            if !isWhole { hasRoom() }
            return piece
        }
        if isWhole { return nil }
        if isBroken { throw .brokenBody }
        isWanted()
        isWanted = {}
        return try await withCheckedContinuation { taker = $0 }.get()
    }

    /// Gives back bytes that were taken, for the next call of ``next()``.
    func putBack(_ piece: ByteBuffer) {
        eventLoop.preconditionInEventLoop()
        guard piece.readableBytes > 0 else { return }
        pieces.prepend(piece)
        bufferedBytes += piece.heldBytes
    }
}

extension Problem {
    static var brokenBody: Problem { Problem(.badRequest, "the body broke off") }
}

/// Input from a client, in order of arrival.
enum ConnectionInput {
    case part(HTTPServerRequestPart)
    /// Input that is not a request.
    case unreadable(Problem)
    /// Nothing more.
    case end
}

/// State that a connection keeps for the present exchange.
enum ConnectionExchange {
    /// Answered on the loop once the request is whole.
    case inline(HTTPRequestHead, EntryID)
    case job(RequestBody, ClientCancellation)
}

extension ByteBuffer {
    /// Memory that the buffer keeps: a small piece keeps all bytes that were read with it.
    var heldBytes: Int { storageCapacity }
}
