import Glibc
import LarderModel
import NIOCore
import NIOHTTP1

/// Refuses a request of another protocol: the parser takes `RTSP/1.0` and `ICE/1.0` for versions of
/// HTTP, and tells only their numbers.
///
/// The handler comes before the parser. It passes input on in pieces that never cross the end of a
/// request, so that it knows where each request line is. The connection tells it each part that the
/// parser read. So the connection can also take plain reads before the parser sees them
/// (``readAhead``). Only the connection's event loop uses the handler.
final class RequestLines: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Where in a request the next byte is.
    private enum RequestOffset {
        case line
        /// Up to an empty line.
        case fields
        case body(left: Int)
        /// Up to an empty line that the parser takes for the end.
        case chunks
        /// Behind what is no request, or where another protocol was asked for.
        case refused
        case nowhere
    }

    private var place = RequestOffset.line
    /// The last bytes of a request line that came in several reads.
    private var lineEnd: [UInt8] = []
    /// Whether the line that the next byte is in has nothing yet.
    private var isBlank = true

    /// Answers a request at the beginning of the bytes, which the parser then never sees.
    ///
    /// The function writes the answer to the context. It returns the request's length, or nil where
    /// the request is the parser's.
    var readAhead: (ByteBuffer, ChannelHandlerContext) -> Int? = { _, _ in nil }

    /// Whether the parser may be given the next request.
    ///
    /// While it may not, what the socket gave stays here as bytes: parsed requests take several
    /// times as much memory.
    var takesMore: () -> Bool = { true }
    /// Bytes not passed on yet; they start at the beginning of a request.
    private var rest = ByteBuffer()
    private var isHandingOn = false
    /// Whether the client's end of input has come, and waits for the rest.
    private var hasEnded = false
    private var context: ChannelHandlerContext?

    var holdsBytes: Bool { isHandingOn || rest.readableBytes > 0 }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        rest = ByteBuffer()
    }

    /// Notes a part that the parser read from the bytes passed on.
    func saw(_ part: HTTPServerRequestPart) {
        switch part {
        case .head(let head): place = Self.place(after: head)
        case .body: break
        case .end:
            if case .nowhere = place { return }
            place = .line
        }
        isBlank = true
    }

    private static func place(after head: HTTPRequestHead) -> RequestOffset {
        let framing = RequestFraming(head)
        if framing.asksForAnotherProtocol { return .nowhere }
        if framing.isCoded { return .chunks }
        guard framing.hasLength else { return .body(left: 0) }
        let digits = head.headers.first(name: "Content-Length")?.filter(\.isNumber)
        return .body(left: digits.flatMap { Int($0) } ?? 0)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if rest.readableBytes > 0 {
            rest.writeBuffer(&bytes)
            bytes = takeRest()
        }
        handOn(&bytes, context)
    }

    /// Hands on what is held, as far as it is taken by now.
    func goOn() {
        guard rest.readableBytes > 0, !isHandingOn, let context else { return }
        var bytes = takeRest()
        handOn(&bytes, context)
    }

    private func takeRest() -> ByteBuffer {
        defer { rest = ByteBuffer() }
        return rest
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed, holdsBytes {
            hasEnded = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func handOn(_ bytes: inout ByteBuffer, _ context: ChannelHandlerContext) {
        // Bytes that are passed on may lead to a call of goOn().
        isHandingOn = true
        handOnRequests(&bytes, context)
        isHandingOn = false
        guard bytes.readableBytes == 0 else {
            rest = bytes
            return
        }
        guard hasEnded else { return }
        hasEnded = false
        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    private func handOnRequests(_ rest: inout ByteBuffer, _ context: ChannelHandlerContext) {
        while rest.readableBytes > 0 {
            if case .line = place, isBlank {
                guard takesMore() else { return }
                if let count = readAhead(rest, context) {
                    rest.moveReaderIndex(forwardBy: count)
                    continue
                }
            }
            let count: Int
            var isHead = false
            switch place {
            case .line, .fields, .chunks:
                if case .chunks = place {} else { isHead = true }
                guard let end = rest.withUnsafeReadableBytes(section) else {
                    place = .refused
                    rest.clear()
                    return context.fireErrorCaught(HTTPParserError.invalidVersion)
                }
                count = end
            case .body(let left):
                count = min(left, rest.readableBytes)
                place = .body(left: left - count)
            case .refused:
                rest.clear()
                return
            case .nowhere: count = rest.readableBytes
            }
            guard count > 0, let piece = rest.readSlice(length: count) else {
                place = .nowhere
                continue
            }
            context.fireChannelRead(wrapInboundOut(isHead ? piece.fieldText : piece))
        }
    }

    /// How many bytes belong to the present head, or to its chunks; nil for a request line of another
    /// protocol.
    private func section(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var start = 0
        while start < bytes.count {
            let end = newline(bytes, from: start)
            let text = bytes[start..<(end ?? bytes.count)]
            isBlank = isBlank && text.allSatisfy { $0 == UInt8(ascii: "\r") }
            if case .line = place, !isBlank {
                guard end == nil || isHTTP(text) else { return nil }
                lineEnd = end == nil ? Array((lineEnd + text.suffix(16)).suffix(16)) : []
            }
            guard let end else { return bytes.count }
            start = end + 1
            switch place {
            // Empty lines before a request count for nothing (RFC 9112 2.2).
            case .line: if !isBlank { place = .fields }
            case .fields, .chunks, .body, .refused, .nowhere: if isBlank { return start }
            }
            isBlank = true
        }
        return start
    }

    private func newline(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress,
            let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }

    /// False for a version of RTSP or ICE; the parser handles text that is not a version.
    private func isHTTP(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
        if text.suffix(9).starts(with: "HTTP/".utf8) { return true }
        let line = lineEnd + text.suffix(16)
        let version = line.split(separator: UInt8(ascii: " ")).last ?? []
        return !["RTSP/", "ICE/"].contains { version.starts(with: $0.utf8) }
    }
}

extension ByteBuffer {
    /// The same as valid UTF-8; the parser would replace other bytes (``FieldBytes``).
    fileprivate var fieldText: ByteBuffer {
        guard readableBytesView.contains(where: { $0 >= 0x80 }) else { return self }
        let bytes = Array(readableBytesView)
        // A character that two reads divide stays as it is: the parser joins its parts.
        let start = bytes.prefix(3).prefix { $0 & 0xC0 == 0x80 }.count
        let tail = bytes.suffix(3).lastIndex { $0 >= 0xC0 }
            .flatMap { bytes[$0...].dropFirst().allSatisfy { $0 & 0xC0 == 0x80 } ? $0 : nil }
        let end = max(start, tail ?? bytes.endIndex)
        let text = FieldBytes.escaped(Array(bytes[start..<end]))
        return ByteBuffer(bytes: bytes[..<start] + text + bytes[end...])
    }
}
