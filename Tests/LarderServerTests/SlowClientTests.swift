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
