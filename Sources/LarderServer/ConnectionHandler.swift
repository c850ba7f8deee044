import DequeModule
import LarderEngine
import LarderModel
import LarderStore
import LarderWire
import NIOCore
import NIOHTTP1

/// The shell of a ``ConnectionMachine``: one connection on its event loop.
///
/// A read of an entry is answered inline; every other route runs as a job, on this loop too.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: ServerContext
    private let loop: LoopReader
    private let worker: LoopWorker
    private let ready: ResponseCache
    /// Target and user of the present plain read; nil if its answer is not worth keeping.
    private var asked: ResponseCache.Asked?
    private let meter: LoopMeter
    private let spin: LoopSpin
    private let peer: Peer
    private let lines: RequestLines
    private var machine = ConnectionMachine()
    private var held = Deque<(input: ConnectionInput, bytes: Int)>()
    private var heldBytes = 0
    private var current: ConnectionExchange?
    private var isPumping = false
    /// Whether the present client has asked for another protocol, which is its last request.
    private var speaksOtherwise = false
    private var isReading = false
    private var watch: ConnectionWatch
    /// Route family under which the meter counts the present exchange.
    private var family = RouteFamily.none
    /// When the request of a put was whole.
    private var putArrived: NIODeadline?

    init(_ server: ServerContext, _ loop: ServerLoop, _ peer: Peer, _ lines: RequestLines) {
        self.server = server
        self.loop = loop.reader
        worker = loop.worker
        ready = loop.ready
        meter = loop.meter
        spin = loop.spin
        self.peer = peer
        self.lines = lines
        watch = ConnectionWatch(now: .now())
    }

    // MARK: Reading

    func channelActive(context: ChannelHandlerContext) {
        startWatch(context)
        read(context)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if server.takesPlainReads {
            lines.readAhead = { self.takePlainRead($0, $1, context) }
        }
        lines.takesMore = { self.takesMore }
        if context.channel.isActive { channelActive(context: context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        lines.readAhead = { _, _ in nil }
        lines.takesMore = { true }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        lines.saw(part)
        watch.partArrived()
        if case .body(let piece) = part {
            meter.received(piece.readableBytes)
            watch.bodyArrived(piece.readableBytes)
        }
        take(.part(part), context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        watch.readCompleted(isIdle: machine.state == .idle, now: .now())
        context.flush()
        read(context)
    }

    /// Asks the socket for more, unless enough is waiting here.
    private func read(_ context: ChannelHandlerContext) {
        lines.goOn()
        guard !isReading, !lines.holdsBytes, takesMore else { return }
        if case .job(let body, _) = current, !body.wantsMore { return }
        isReading = true
        context.read()
    }

    /// Whether another request may be parsed.
    private var takesMore: Bool {
        machine.wantsMore && heldBytes < Limits.pipelinedBytesMax
    }

    private func take(_ input: ConnectionInput, _ context: ChannelHandlerContext) {
        switch input {
        case .part(.head(let head)):
            let framing = RequestFraming(head)
            switch machine.headArrived(isLast: head.isLast(framing)) {
            case .begin: begin(head, framing, context)
            case .hold: hold(input, bytes: head.heldBytes)
            case .drop: break
            }
        case .part(.body(let piece)):
            switch machine.bodyArrived() {
            case .deliver:
                if case .job(let body, _) = current { body.arrived(piece) }
            case .hold: hold(input, bytes: piece.heldBytes)
            case .drop: break
            }
        case .part(.end):
            switch machine.endArrived() {
            case .deliver: requestEnded(context)
            case .hold: hold(input, bytes: 0)
            case .drop: break
            }
        case .unreadable(let problem):
            switch machine.parsingFailed() {
            case .refuse:
                family = .none
                start(.unreadable, context) { exchange in await exchange.respond(problem) }
            case .breakOff: breakOff(context)
            case .hold: hold(input, bytes: 0)
            case .nothing: break
            }
        case .end:
            switch machine.inputEnded() {
            case .close: close(context, .all)
            case .breakOff: breakOff(context)
            case .hold: hold(input, bytes: 0)
            case .nothing: break
            }
        }
    }

    private func hold(_ input: ConnectionInput, bytes: Int) {
        let bytes = bytes + MemoryLayout<ConnectionInput>.stride
        held.append((input, bytes))
        heldBytes += bytes
    }

    private func breakOff(_ context: ChannelHandlerContext) {
        guard case .job(let body, _) = current else { return context.close(promise: nil) }
        body.hungUp()
    }

    // MARK: Answering

    private func begin(
        _ head: HTTPRequestHead,
        _ framing: RequestFraming,
        _ context: ChannelHandlerContext
    ) {
        speaksOtherwise = framing.asksForAnotherProtocol
        family = .none
        do throws(RouteError) {
            let head = try head.checked(framing)
            let match = try RouteMatch(head.method, path: head.path)
            family = match.family
            if match.name == .readEntry, framing.hasNoBody, let id = try? match.id {
                current = .inline(head, id)
            } else {
                start(head, context) { [worker] exchange in
                    await worker.answer(match, exchange)
                }
            }
        } catch {
            start(head, context) { exchange in await exchange.refuse(error) }
        }
    }

    private func start(
        _ head: HTTPRequestHead,
        _ context: ChannelHandlerContext,
        _ answer: @escaping @Sendable (Exchange) async -> Void
    ) {
        let body = RequestBody(context.eventLoop)
        let writer = ResponseWriter(
            channel: context.channel,
            version: head.version,
            isHeadOnly: head.method == .HEAD
        )
        let cancellation = ClientCancellation()
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        body.hasRoom = { bound.value.handler.read(bound.value.context) }
        if head.expectsContinue { body.isWanted = { writer.goOn() } }
        current = .job(body, cancellation)
        let exchange = Exchange(
            head: head,
            peer: peer,
            body: body,
            writer: writer,
            cancellation: cancellation,
            server: server
        )
        let reading = Reading.asked(by: .uid(peer.uid))
        let isAdded = worker.jobs.add {
            await Reading.$current.withValue(reading) { await answer(exchange) }
        }
        if !isAdded { context.close(promise: nil) }
    }

    private func requestEnded(_ context: ChannelHandlerContext) {
        watch.requestEnded()
        switch current {
        case .inline(let head, let id):
            readEntryTimed(id, head, context)
        case .job(let body, _):
            if family == .put { putArrived = .now() }
            body.ended()
        case nil:
            break
        }
    }

    /// Takes a plain read at the beginning of `bytes` ahead of the parser, if no exchange runs.
    ///
    /// Returns the read's length, or nil where the parser is to see the bytes.
    private func takePlainRead(
        _ bytes: ByteBuffer,
        _ raw: ChannelHandlerContext,
        _ context: ChannelHandlerContext
    ) -> Int? {
        guard machine.state == .idle, held.isEmpty,
            let read = bytes.withUnsafeReadableBytes({ FastPathGet($0) })
        else { return nil }
        watch.partArrived()
        let (engine, now) = (server.engine, server.engine.clock.now())
        let answer = bytes.withUnsafeReadableBytes { bytes in
            ready.find(.init(rebasing: bytes[read.target]), peer.uid, at: now, meter) {
                engine.stillShows($0, loop.reader)
            }
        }
        if let answer {
            send(answer, raw, context)
            return read.length
        }
        let target = bytes.withUnsafeReadableBytes {
            String(decoding: $0[read.target], as: UTF8.self)
        }
        asked = ready.note(target, peer.uid)
        take(.part(.head(.plainRead(of: target))), context)
        take(.part(.end(nil)), context)
        asked = nil
        return read.length
    }

    /// Sends an answer that is ready, past the encoder.
    private func send(
        _ answer: ResponseCache.Answer,
        _ raw: ChannelHandlerContext,
        _ context: ChannelHandlerContext
    ) {
        let began: NIODeadline? = meter.wantsTime() ? .now() : nil
        _ = machine.headArrived(isLast: false)
        _ = machine.endArrived()
        _ = machine.answerBegan()
        raw.write(NIOAny(answer.bytes), promise: nil)
        meter.readyAnswered(answer.bodyBytes)
        spin.answered(ObjectIdentifier(self))
        if let began { meter.hitAnswered(after: .now() - began) }
        answerCompleted(context)
    }

    /// Times few of the reads, as looking at the clock costs more than counting.
    private func readEntryTimed(
        _ id: EntryID,
        _ head: HTTPRequestHead,
        _ context: ChannelHandlerContext
    ) {
        guard meter.wantsTime() else { return readEntry(id, head, context) }
        let began: NIODeadline = .now()
        readEntry(id, head, context)
        meter.hitAnswered(after: .now() - began)
    }

    /// Answers from the row where it lies; a body in chunks, and what is long to put together, goes on
    /// as a job.
    private func readEntry(
        _ id: EntryID,
        _ head: HTTPRequestHead,
        _ context: ChannelHandlerContext
    ) {
        let (reply, stamp) =
            asked == nil
            ? (EntryReply(id, head, peer, loop, server.engine), nil)
            : loop.reader.stamping { EntryReply(id, head, peer, loop, server.engine) }
        guard let reply else {
            return start(head, context) { [worker] exchange in
                await worker.read(id, exchange)
            }
        }
        switch reply {
        case .whole(let status, let headers, let body, at: let moments):
            if let asked, let stamp, let body, status == .ok, !headers.mayHoldFieldBytes {
                let answer = ResponseCache.Answer(asked, stamp, moments, headers, body)
                ready.keep(answer, to: asked)
                meter.readyKept(ready.bytes)
            }
            let responseHead = HTTPResponseHead(
                version: head.version,
                status: status,
                headers: headers
            )
            writeHead(responseHead, context, promise: nil)
            if let body {
                meter.sent(body.readableBytes)
                context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            }
            context.write(wrapOutboundOut(.end(nil)), promise: nil)
            answerCompleted(context)
        case .chunked(let headers, let body, let part, let scope):
            start(head, context) { [worker] exchange in
                do throws(Problem) {
                    if try await exchange.stream(id, headers, body, part, scope) { return }
                    await worker.read(id, exchange)
                } catch {
                    await exchange.respond(error)
                }
            }
        case .problem(let problem, let headers):
            start(head, context) { exchange in await exchange.respond(problem, headers) }
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.status.code >= 200:
            writeHead(head, context, promise: promise)
        case .head:
            context.write(data, promise: promise)
        case .body(let body):
            meter.sent(body.readableBytes)
            context.write(data, promise: promise)
        case .end:
            context.write(data, promise: promise)
            context.flush()
            answerCompleted(context)
        }
    }

    private func writeHead(
        _ head: HTTPResponseHead,
        _ context: ChannelHandlerContext,
        promise: EventLoopPromise<Void>?
    ) {
        meter.answered(family, head.status)
        if head.status.code >= 300 { putArrived = nil }
        var head = head
        head.headers.addGeneral(date: loop.date(at: server.engine.clock.now()))
        if machine.answerBegan() { head.headers.add(name: "Connection", value: "close") }
        if head.headers.mayHoldFieldBytes { FieldBytesHandler.add(to: context.pipeline) }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    private func answerCompleted(_ context: ChannelHandlerContext) {
        if case .job(let body, _) = current { body.hasRoom = {} }
        current = nil
        if let began = putArrived { meter.putAnswered(after: .now() - began) }
        putArrived = nil
        switch machine.answerCompleted(hasRoom: hasRoom(context)) {
        case .goOn: pump(context)
        case .waitForRoom: watch.readingAwaited(now: .now())
        // A client that asked for another protocol may already send it; see `closeInStages`.
        case .close: close(context, speaksOtherwise ? .output : .all)
        case .closeInStages:
            close(context, .output)
            // Reading may have paused while the body was taken; a client that sends all before it
            // reads would never come to the answer.
            read(context)
        case .nothing: break
        }
    }

    /// Whether the client reads as fast as it asks.
    private func hasRoom(_ context: ChannelHandlerContext) -> Bool {
        if context.channel.isWritable { return true }
        context.flush()
        return context.channel.isWritable
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, machine.roomMade() {
            watch.readingSeen()
            pump(context)
        }
        context.fireChannelWritabilityChanged()
    }

    /// Processes held input until an exchange begins that the loop cannot answer immediately.
    private func pump(_ context: ChannelHandlerContext) {
        guard !isPumping else { return }
        guard !held.isEmpty else { return read(context) }
        isPumping = true
        while machine.takesHeld, let (input, bytes) = held.popFirst() {
            heldBytes -= bytes
            take(input, context)
        }
        isPumping = false
        context.flush()
        read(context)
    }

    // MARK: The end

    private func close(_ context: ChannelHandlerContext, _ mode: CloseMode) {
        watch.closingBegan(now: .now())
        // The promise of an empty write completes once all earlier writes are flushed.
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer())))).assumeIsolated()
            .whenComplete { _ in context.close(mode: mode, promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        watch.stop()
        machine.hungUp()
        if case .job(let body, let cancellation) = current {
            body.hasRoom = {}
            body.hungUp()
            cancellation.giveUp()
            current = nil
        }
        held.removeAll()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is DrainBegan:
            drain(context, hasWaited: false)
        // The connection stays; when the client is gone (EPOLLHUP), NIO closes the channel.
        case let event as ChannelEvent where event == .inputClosed: take(.end, context)
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func drain(_ context: ChannelHandlerContext, hasWaited: Bool) {
        switch machine.drainBegan(hasWaited: hasWaited) {
        case .close: close(context, .all)
        case .waitForFirstRequest:
            let time = TimeAmount(Limits.firstRequestTime)
            context.eventLoop.assumeIsolated().scheduleTask(in: time) {
                self.drain(context, hasWaited: true)
            }
        case .nothing: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !(error is IOError) else {
            return context.close(promise: nil)
        }
        take(.unreadable(Problem(parsing: error)), context)
    }

    // MARK: Time

    private func startWatch(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        watch.start(on: context.eventLoop) {
            let (handler, context) = bound.value
            if handler.isOverdue(context) { context.close(promise: nil) }
        }
    }

    private func isOverdue(_ context: ChannelHandlerContext) -> Bool {
        var waitsForClient = false
        if case .exchanging(isRequestWhole: false) = machine.state {
            switch current {
            case .inline: waitsForClient = true
            case .job(let body, _): waitsForClient = body.isAwaited
            case nil: break
            }
        }
        if waitsForClient { watch.bodyAwaited(now: .now()) }
        watch.looked(unsentBytes: context.channel.unsentBytes, now: .now())
        return watch.isOverdue(
            isIdle: machine.state == .idle,
            waitsForRequest: waitsForClient,
            now: .now()
        )
    }
}
