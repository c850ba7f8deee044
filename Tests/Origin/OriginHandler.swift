import NIOCore
import NIOHTTP1

/// One connection: collects a request, and carries out what the ``Origin`` says of it.
final class OriginHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum Phase {
        case idle
        case reading(Request, keepsAlive: Bool)
        case answering(isHead: Bool, keepsAlive: Bool)
    }

    /// The most of a body that is read.
    private static let bodyBytesMax = 64 << 20

    private let state: OriginState
    private var phase = Phase.idle
    private var context: ChannelHandlerContext?

    init(_ state: OriginState) {
        self.state = state
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        if state.held.removeValue(forKey: ObjectIdentifier(self)) != nil {
            state.origin.abandoned()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (phase, unwrapInboundIn(data)) {
        case (.idle, .head(let head)):
            let request = Request(head)
            guard state.origin.headReceived(method: request.method, path: request.path) else {
                context.close(promise: nil)
                return
            }
            phase = .reading(request, keepsAlive: head.isKeepAlive && state.keepsAlive)
        case (.reading(var request, let keepsAlive), .body(let bytes)):
            // Not to be copied with every piece.
            phase = .idle
            request.body.append(contentsOf: bytes.readableBytesView)
            phase = .reading(request, keepsAlive: keepsAlive)
            if request.body.count > Self.bodyBytesMax { context.close(promise: nil) }
        case (.reading(let request, let keepsAlive), .end):
            phase = .answering(isHead: request.method == "HEAD", keepsAlive: keepsAlive)
            take(state.origin.received(request))
        case (.idle, .body), (.idle, .end), (.reading, .head), (.answering, _):
            // A second request before the first is answered.
            context.close(promise: nil)
        }
    }

    private func take(_ turn: Origin.Turn) {
        guard let context else { return }
        do throws(EffectLogError) {
            if let effect = turn.effect { try state.log?.append(effect) }
        } catch {
            send(.refusal(500, error.description))
            return
        }
        switch turn.action {
        case .answer(let reply, afterMilliseconds: 0): send(reply)
        case .answer(let reply, let milliseconds):
            let delay = TimeAmount.milliseconds(Int64(milliseconds))
            context.eventLoop.assumeIsolated().scheduleTask(in: delay) { self.send(reply) }
        case .hold(let held): state.held[ObjectIdentifier(self)] = (self, held)
        case .close: context.close(promise: nil)
        case .release(let answers, let reply):
            release(answers: answers)
            send(reply)
        }
    }

    /// Lets go what all connections hold.
    private func release(answers: Bool) {
        let all = state.held.values
        state.held = [:]
        for (handler, request) in all {
            if answers {
                handler.take(state.origin.released(request))
            } else {
                state.origin.abandoned()
                handler.context?.close(promise: nil)
            }
        }
    }

    private func send(_ reply: Reply) {
        // The client may have gone meanwhile.
        guard let context, case .answering(let isHead, let keepsAlive) = phase else { return }
        phase = .idle
        let status = HTTPResponseStatus(statusCode: reply.status)
        var head = HTTPResponseHead(version: .http1_1, status: status)
        for header in reply.headers { head.headers.add(name: header.name, value: header.value) }
        if status.mayHaveResponseBody {
            head.headers.add(name: "Content-Length", value: String(reply.body.count))
        }
        if !keepsAlive { head.headers.add(name: "Connection", value: "close") }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if status.mayHaveResponseBody, !isHead, !reply.body.isEmpty {
            let body = context.channel.allocator.buffer(bytes: reply.body)
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        }
        let sent = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
        if !keepsAlive { sent.futureResult.assumeIsolated().whenComplete { _ in self.close() } }
    }

    private func close() {
        context?.close(promise: nil)
    }
}

extension Request {
    fileprivate init(_ head: HTTPRequestHead) {
        self.init(
            method: head.method.rawValue,
            path: head.uri,
            key: head.headers.first(name: "Idempotency-Key"),
            type: head.headers.first(name: "Content-Type"),
            authorization: head.headers.first(name: "Authorization"),
            ifNoneMatch: head.headers.first(name: "If-None-Match"),
            ifMatch: head.headers.first(name: "If-Match")
        )
    }
}
