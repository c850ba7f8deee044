import LarderModel
import LarderStore
import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import LarderServer

@Suite("Clients that do not read", .timeLimit(.minutes(5)))
struct SlowClientTests {
    /// Takes a write only when it is told to, like a socket whose buffer is full.
    private final class FullSocket: ChannelOutboundHandler {
        typealias OutboundIn = HTTPServerResponsePart

        let written: Recorder<Int>
        private var held: [EventLoopPromise<Void>] = []

        init(_ written: Recorder<Int>) {
            self.written = written
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if let promise { held.append(promise) }
            guard case .body(.byteBuffer(let bytes)) = unwrapOutboundIn(data) else { return }
            written.record(bytes.readableBytes)
        }

        func flush(context: ChannelHandlerContext) {}

        func takeAll() {
            let taken = held
            held = []
            for promise in taken { promise.succeed() }
        }

        func close(
            context: ChannelHandlerContext,
            mode: CloseMode,
            promise: EventLoopPromise<Void>?
        ) {
            let lost = held
            held = []
            for promise in lost { promise.fail(ChannelError.ioOnClosedChannel) }
            context.close(mode: mode, promise: promise)
        }
    }

    private struct Setting {
        let channel = NIOAsyncTestingChannel()
        let written = Recorder<Int>()
        let socket: NIOLoopBound<FullSocket>
        let writer: ResponseWriter

        init() async throws {
            let written = written
            let channel = channel
            socket = try await channel.testingEventLoop.executeInContext {
                let socket = FullSocket(written)
                try channel.pipeline.syncOperations.addHandler(socket)
                return NIOLoopBound(socket, eventLoop: channel.eventLoop)
            }
            try await channel.connect(to: SocketAddress(unixDomainSocketPath: "/x"))
            writer = ResponseWriter(channel: channel, version: .http1_1, isHeadOnly: false)
        }

        func takeAll() async throws {
            try await channel.testingEventLoop.executeInContext { [socket] in
                socket.value.takeAll()
            }
        }
    }

    @Test("A piece is made only when the socket has taken the one before")
    func backPressure() async throws {
        let setting = try await Setting()
        let writer = setting.writer
        async let sent: Int = {
            var sent = 0
            for size in 1...3 where await writer.send(pattern(size)) { sent += 1 }
            return sent
        }()
        for size in 1...3 {
            #expect(try await setting.written.element(size - 1) == size)
            await setting.channel.testingEventLoop.run()
            #expect(setting.written.all.count == size)
            try await setting.takeAll()
        }
        #expect(await sent == 3)
    }

    @Test("A client that takes nothing for its time is closed, and its answer given up")
    func stalled() async throws {
        let setting = try await Setting()
        let writer = setting.writer
        async let isSent = writer.send(pattern(10))
        _ = try await setting.written.element(0)
        let time = TimeAmount(Limits.stalledResponseTime)
        await setting.channel.testingEventLoop.advanceTime(by: time - .milliseconds(1))
        #expect(setting.channel.isActive)
        await setting.channel.testingEventLoop.advanceTime(by: .milliseconds(1))
        #expect(await !isSent)
        #expect(!setting.channel.isActive)
    }

    /// Takes a part of a write each time that it is told to, and never all of it.
    private final class SlowSocket: ChannelOutboundHandler {
        typealias OutboundIn = HTTPServerResponsePart
        typealias OutboundOut = ByteBuffer

        private let written: Recorder<Bool>
        private var context: ChannelHandlerContext?
        private var left = 100

        init(_ written: Recorder<Bool>) {
            self.written = written
        }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }
        func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            context.channel.closeFuture.cascadeSuccess(to: promise)
            hold()
            written.record(true)
        }

        func flush(context: ChannelHandlerContext) {}

        func takeSome() {
            context?.flush()
            left -= 1
            hold()
        }

        private func hold() {
            context?.write(wrapOutboundOut(ByteBuffer(repeating: 0, count: left)), promise: nil)
        }
    }

    @Test("A client that takes bytes now and then is not closed, and one that stops is")
    func slow() async throws {
        let (channel, written) = (NIOAsyncTestingChannel(), Recorder<Bool>())
        let time = TimeAmount(Limits.stalledResponseTime)
        let socket = try await channel.testingEventLoop.executeInContext {
            let socket = SlowSocket(written)
            try channel.pipeline.syncOperations.addHandler(socket)
            return NIOLoopBound(socket, eventLoop: channel.eventLoop)
        }
        try await channel.connect(to: SocketAddress(unixDomainSocketPath: "/x"))
        let writer = ResponseWriter(channel: channel, version: .http1_1, isHeadOnly: false)
        async let isSent = writer.send(pattern(10))
        _ = try await written.element(0)
        for _ in 0..<9 {
            try await channel.testingEventLoop.executeInContext { socket.value.takeSome() }
            await channel.testingEventLoop.advanceTime(by: .nanoseconds(time.nanoseconds / 3))
            #expect(channel.isActive)
        }
        await channel.testingEventLoop.advanceTime(by: time)
        #expect(!channel.isActive)
        _ = await isSent
    }

    @Test("Clients are served while one does not read a large body, which then arrives whole")
    func othersAreServed() async throws {
        try await ServerFixture.run { server in
            let body = pattern(16 << 20)
            let writer = try await server.connect()
            #expect(try await writer.ask("PUT", "/v1/entries/a", body: body).status == 201)
            var sleepers: [RawClient] = []
            for _ in 0..<4 {
                let client = try await server.connect()
                try await client.send("GET /v1/entries/a HTTP/1.1\r\nHost: x\r\n\r\n")
                try await client.seen("\r\n\r\n")
                sleepers.append(client)
            }
            for index in 0..<20 {
                let path = "/v1/entries/b\(index)"
                #expect(try await writer.ask("PUT", path, body: [1]).status == 201)
                #expect(try await writer.ask("GET", path).body == [1])
            }
            #expect(try await sleepers[0].response().body == body)
            for client in sleepers { await client.hangUp() }
            #expect(try await writer.ask("DELETE", "/v1/entries/a").status == 204)
            try await server.store.settle()
            #expect(server.store.totals.entries == 20)
        }
    }
}
