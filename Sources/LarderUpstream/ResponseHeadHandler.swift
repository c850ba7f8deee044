import LarderModel
import NIOCore

/// Keeps the bytes of field values that are not UTF-8.
///
/// NIO's decoder makes text of field values and would replace each such byte by U+FFFD. The handler
/// is between the socket (or TLS) and NIO's HTTP/1.1 encoder and decoder, and changes only heads.
/// It uses ``FieldBytes`` to make text on the way in, and bytes again on the way out.
final class ResponseHeadHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The position in an answer: in its head or in its body.
    private enum State {
        /// In a head; the bytes of its current line, without the line break.
        case head(line: [UInt8], isStatusLine: Bool, isInformational: Bool)
        case body
    }

    private var state = State.body
    private var unescapesNext = false

    /// A request will be written next, so the next bytes that arrive are a head.
    func requestBegins(hasEscapes: Bool) {
        state = .head(line: [], isStatusLine: true, isInformational: false)
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
        guard case .head = state else { return context.fireChannelRead(data) }
        var buffer = unwrapInboundIn(data)
        let bytes = Array(buffer.readableBytesView)
        var out: [UInt8] = []
        var rest = bytes[...]
        while case .head(var line, let isStatusLine, let isInformational) = state {
            guard let end = rest.firstIndex(of: lineFeed) else {
                line += rest
                rest = []
                // The decoder refuses a line that is longer than any head may be.
                if line.count > Limits.responseHeadBytesMax {
                    out += line
                    state = .body
                } else {
                    state = .head(
                        line: line,
                        isStatusLine: isStatusLine,
                        isInformational: isInformational
                    )
                }
                break
            }
            line += rest[...end]
            rest = rest[(end + 1)...]
            out += FieldBytes.escaped(line)
            state = after(line, isStatusLine: isStatusLine, isInformational: isInformational)
        }
        out += rest
        guard !out.isEmpty else { return }
        buffer = ByteBuffer(bytes: out)
        context.fireChannelRead(wrapInboundOut(buffer))
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The incomplete line is the last thing that the peer sent.
        if case .head(let line, _, _) = state, !line.isEmpty {
            context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: line)))
        }
        state = .body
        context.fireChannelInactive()
    }

    private func after(_ line: [UInt8], isStatusLine: Bool, isInformational: Bool) -> State {
        let isEmpty = line == [carriageReturn, lineFeed] || line == [lineFeed]
        guard isEmpty else {
            let informs = isStatusLine ? Self.isInformational(line) : isInformational
            return .head(line: [], isStatusLine: false, isInformational: informs)
        }
        // After an empty line before the status line, or after the end of a 1xx, a head follows.
        if isStatusLine || isInformational {
            return .head(line: [], isStatusLine: true, isInformational: false)
        }
        return .body
    }

    /// Whether a status line has a status of 1xx other than 101 (RFC 9110 15.2).
    private static func isInformational(_ line: [UInt8]) -> Bool {
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
        return parts.count >= 2 && parts[1].first == UInt8(ascii: "1")
            && !parts[1].elementsEqual("101".utf8)
    }
}

private let lineFeed = UInt8(ascii: "\n")
private let carriageReturn = UInt8(ascii: "\r")
