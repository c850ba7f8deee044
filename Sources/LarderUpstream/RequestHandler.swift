import LarderModel
import NIOCore
import NIOHTTP1

/// Writes the head of each request, and detects whether a reused connection is still alive.
///
/// - The request target goes out byte for byte. async-http-client parses URLs with Foundation. If a
///   URL has a character such as `[`, Foundation also encodes its `%` again.
/// - A reused connection may be dead without a sign, for example after a suspend. A request that
///   may be sent twice gives it up after ``WireMarks/silence``. A request that must not goes out
///   only over a connection that was busy until ``Limits/reusedIdleMax`` ago.
/// - The head goes out together with the body, which async-http-client flushes separately.
final class RequestHandler: ChannelDuplexHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private var born = NIODeadline.uptimeNanoseconds(0)
    private let head: ResponseHeadHandler
    private var requests = 0
    private var lastUse = NIODeadline.uptimeNanoseconds(0)
    /// Promises of the parts of a refused request; nil while no request is refused.
    private var refused: [EventLoopPromise<Void>]?
    /// Whether the answer to the present request has ended.
    private var isAnswered = false
    /// Whether the connection is closed after the answer to the present request.
    private var isLast = false
    /// Whether the first part of the body follows immediately, and brings the head along.
    private var isHeadHeld = false
    private var closing: Scheduled<Void>?
    private var silence: TimeAmount?
    private var timer: Scheduled<Void>?

    init(head: ResponseHeadHandler) {
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
                    refused = promise.map { [$0] } ?? []
                    return fail(.unused, context)
                }
                silence = requests > 0 ? marks.silence : nil
            }
            requests += 1
            isAnswered = false
            isLast = !request.isKeepAlive
            // The body of an upload, which has its own connection, may come much later.
            isHeadHeld = !isLast && request.headers.contains(name: "Content-Length")
            // The first byte of every scalar of FieldBytes.
            let hasEscapes = request.headers.contains { $0.value.utf8.contains(0xF4) }
            head.requestBegins(hasEscapes: hasEscapes)
            context.write(wrapOutboundOut(.head(request)), promise: promise)
        case _ where refused != nil:
            if let promise { refused?.append(promise) }
        case .body(let part):
            isHeadHeld = false
            context.write(wrapOutboundOut(.body(part)), promise: promise)
        case .end(let trailers):
            isHeadHeld = false
            startTimer(context)
            let promise = failing(beforeAnswer: promise, context)
            context.write(wrapOutboundOut(.end(trailers)), promise: promise)
        }
    }

    func flush(context: ChannelHandlerContext) {
        // async-http-client sends no body while the channel is full, and only a flush empties it.
        guard isHeadHeld, context.channel.isWritable else { return context.flush() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        stopTimer()
        guard case .end = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        lastUse = context.eventLoop.now
        isAnswered = true
        context.fireChannelRead(data)
        guard isLast, context.channel.isActive else { return }
        // The HTTP client keeps a connection open, and never uses it again, if the answer ends before
        // the HTTP client has got the end of the request's body.
        closing = context.eventLoop.assumeIsolated().scheduleTask(
            in: TimeAmount(Limits.uploadCloseTime)
        ) { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        stopTimer()
        closing?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        stopTimer()
    }

    /// The promise of the request's last write, which fails only before the answer has ended.
    ///
    /// An origin may answer before it has all of a request. async-http-client then closes first and
    /// passes the end of the answer on second. The close fails the remaining writes, and their
    /// error would fail the answer.
    private func failing(
        beforeAnswer promise: EventLoopPromise<Void>?,
        _ context: ChannelHandlerContext
    ) -> EventLoopPromise<Void>? {
        guard let promise, !isAnswered else { return promise }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { result in
            promise.completeWith(self.isAnswered ? .success(()) : result)
        }
        return written
    }

    private func isUsable(_ marks: WireMarks, now: NIODeadline) -> Bool {
        guard requests > 0 else { return true }
        guard born >= marks.connectedAfter else { return false }
        return marks.silence != nil || now - lastUse <= TimeAmount(Limits.reusedIdleMax)
    }

    /// Reports the error to async-http-client in a later turn of the event loop.
    ///
    /// At this moment its state machine is in the middle of a step. The error arrives before any
    /// promise fails, because async-http-client blames a failed write on the peer.
    private func fail(_ reason: StaleConnection, _ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.execute {
            let (handler, context) = bound.value
            context.fireErrorCaught(reason)
            for promise in handler.refused ?? [] { promise.fail(reason) }
            context.close(promise: nil)
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

/// Changes heads between the socket (or TLS) and NIO's HTTP/1.1 encoder and decoder.
///
/// - NIO's decoder makes text of field values and would replace each byte that is not UTF-8 by
///   U+FFFD. The handler uses ``FieldBytes`` to make text on the way in, and bytes again on the way
///   out.
/// - NIO's decoder refuses a line that ends with LF alone, and a line that begins with a blank, as
///   it continues the one before. Devices and old servers send such lines. The handler makes CRLF
///   of the LF, and a space of the line break before the blank (RFC 9112 2.2, 5.2).
/// - NIO's decoder refuses an answer for a bad name or a control character in a single field. The
///   handler leaves such a name out, as browsers do, and makes a space of the character.
/// - NIO's decoder refuses a Content-Length that comes twice. The handler leaves the second one out
///   if it is the same (RFC 9110 8.6).
final class ResponseHeadHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private struct Head {
        /// The bytes of its current line, of which none has been passed on, nor the line break
        /// before them.
        var line: [UInt8] = []
        var isStatusLine = true
        var isInformational = false

        var unsent: [UInt8] { isStatusLine ? line : lineBreak + line }
    }

    /// The head that arrives; nil while a body does.
    private var head: Head?
    private var unescapesNext = false
    /// The Content-Length of the head; nil if none has come.
    private var contentLength: [UInt8]?
    /// Whether the line before is left out, and so are the lines that continue it.
    private var isLeftOut = false

    /// A request will be written next, so the next bytes that arrive are a head.
    func requestBegins(hasEscapes: Bool) {
        head = Head()
        unescapesNext = hasEscapes
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard unescapesNext else { return context.write(data, promise: promise) }
        unescapesNext = false
        let buffer = unwrapOutboundIn(data)
        let plain = ByteBuffer(bytes: FieldBytes.unescaped(buffer.readableBytesView))
        context.write(wrapOutboundOut(plain), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard head != nil else { return context.fireChannelRead(data) }
        var buffer = unwrapInboundIn(data)
        let bytes = Array(buffer.readableBytesView)
        var out: [UInt8] = []
        var rest = bytes[...]
        while var current = head {
            guard let end = rest.firstIndex(of: lineFeed) else {
                current.line += rest
                rest = []
                // The decoder refuses a line that is longer than any head may be.
                let isTooLong = current.line.count > Limits.responseHeadBytesMax
                if isTooLong { out += current.unsent }
                head = isTooLong ? nil : current
                break
            }
            current.line += rest[..<end]
            rest = rest[(end + 1)...]
            if current.line.last == carriageReturn { current.line.removeLast() }
            out += decodable(current.line, isStatusLine: current.isStatusLine)
            head = after(current)
        }
        out += rest
        guard !out.isEmpty else { return }
        buffer = ByteBuffer(bytes: out)
        context.fireChannelRead(wrapInboundOut(buffer))
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The incomplete line is the last thing that the peer sent.
        if let head, !head.unsent.isEmpty {
            context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: head.unsent)))
        }
        head = nil
        context.fireChannelInactive()
    }

    /// A line without its line break, after the line break of the line before.
    private func decodable(_ line: [UInt8], isStatusLine: Bool) -> [UInt8] {
        let space = UInt8(ascii: " ")
        let plain = FieldBytes.escaped(
            line.map { byte in
                let isControl = byte < space && !byte.isBlank || byte == 0x7F
                return isControl ? space : byte
            }
        )
        if isStatusLine {
            contentLength = nil
            // No line continues a status line (RFC 9112 2.2).
            isLeftOut = true
            return plain
        }
        guard let first = plain.first else { return lineBreak + lineBreak }
        guard !first.isBlank else {
            return isLeftOut ? [] : [space] + Array(plain.drop(while: \.isBlank))
        }
        isLeftOut = true
        guard let colon = plain.firstIndex(of: UInt8(ascii: ":")) else { return lineBreak + plain }
        var name = plain[..<colon]
        while name.last?.isBlank == true { name.removeLast() }
        guard !name.isEmpty, name.allSatisfy(\.isTokenCharacter) else { return [] }
        if name.map(\.lowercasedASCII).elementsEqual("content-length".utf8) {
            let value = plain[(colon + 1)...].filter { !$0.isBlank }
            guard value != contentLength else { return [] }
            contentLength = value
        }
        isLeftOut = false
        return lineBreak + Array(name) + Array(plain[colon...])
    }

    /// The head after the end of a line.
    private func after(_ head: Head) -> Head? {
        guard head.line.isEmpty else {
            let informs = head.isStatusLine ? Self.isInformational(head.line) : head.isInformational
            return Head(isStatusLine: false, isInformational: informs)
        }
        // After an empty line before the status line, or after the end of a 1xx, a head follows.
        return head.isStatusLine || head.isInformational ? Head() : nil
    }

    /// Whether a status line has a status of 1xx other than 101 (RFC 9110 15.2).
    private static func isInformational(_ line: [UInt8]) -> Bool {
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
        return parts.count >= 2 && parts[1].first == UInt8(ascii: "1")
            && !parts[1].elementsEqual("101".utf8)
    }
}

/// Orders from the upstream to the handler of the connection on which a request goes out.
///
/// async-http-client chooses the connection. So the orders travel in a header field, which
/// ``RequestHandler`` removes before it encodes the request.
struct WireMarks: Equatable {
    /// The request target as it is sent (RFC 9112 3.2.1).
    var target: String
    /// The connection must have been made after this.
    var connectedAfter = NIODeadline.uptimeNanoseconds(0)
    /// How long a reused connection may send no byte of the answer before it counts as dead.
    ///
    /// Nil if the request must not be sent a second time.
    var silence: TimeAmount?

    private static let name = "Larder-Wire"

    func write(to headers: inout HTTPHeaders) {
        let silence = silence.map { String($0.nanoseconds) } ?? "-"
        headers.replaceOrAdd(
            name: Self.name,
            value: "\(connectedAfter.uptimeNanoseconds) \(silence) \(target)"
        )
    }

    /// Reads and removes the field; nil if there is none.
    static func take(from headers: inout HTTPHeaders) -> WireMarks? {
        guard let value = headers.first(name: name) else { return nil }
        headers.remove(name: name)
        let parts = value.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let born = UInt64(parts[0]) else { return nil }
        return WireMarks(
            target: String(parts[2]),
            connectedAfter: .uptimeNanoseconds(born),
            silence: Int64(parts[1]).map { .nanoseconds($0) }
        )
    }
}

/// The reason why a reused connection was given up before a byte of the answer came.
enum StaleConnection: Error {
    /// No byte of the request has left.
    case unused
    /// The request was written, and no byte came back.
    case silent
}

private let lineFeed = UInt8(ascii: "\n")
private let carriageReturn = UInt8(ascii: "\r")
private let lineBreak = [carriageReturn, lineFeed]
