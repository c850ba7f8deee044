import Glibc
package import LarderEngine
import LarderModel
import LarderStore
import LarderWire
package import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// HTTP/1.1 on a Unix socket to one engine.
package final class Server: Sendable {
    /// How many readers of the store it makes: each event loop has one for its inline answers and
    /// one for the longer ones.
    package static var readerCount: Int { 2 * System.coreCount }

    /// Where it listens.
    package struct Configuration: Sendable {
        package var path: String
        /// The rights of the socket's file.
        package var mode: UInt32

        package init(path: String, mode: UInt32) {
            self.path = path
            self.mode = mode
        }
    }

    private let configuration: Configuration
    private let context: ServerContext
    private let group: any EventLoopGroup
    private let stopping: AsyncStream<Void>
    private let stop: AsyncStream<Void>.Continuation

    package init(
        _ configuration: Configuration,
        engine: Engine,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.configuration = configuration
        context = ServerContext(engine: engine)
        group = eventLoopGroup
        (stopping, stop) = AsyncStream.makeStream()
    }

    /// Serves until ``drain()``; then takes no more, lets what runs come to its end within
    /// ``Limits/drainTime``, and returns.
    ///
    /// `isListening` is called once the socket takes clients.
    package func run(isListening: () -> Void = {}) async throws {
        let loops = try await makeLoops()
        let socket = try SocketFile(path: configuration.path, mode: configuration.mode)
        let listener = try await bootstrap(loops).withBoundSocket(socket.descriptor).get()
        isListening()
        await withDiscardingTaskGroup { group in
            let jobs = context.jobs
            group.addTask { await jobs.run(cancellingTheRest: false) }
            for await _ in stopping { break }
            try? await listener.close().get()
            socket.remove()
            await drainConnections()
            jobs.finish()
        }
    }

    /// Has ``run(isListening:)`` come to its end.
    package func drain() {
        stop.yield()
    }

    private func drainConnections() async {
        context.engine.drain()
        context.connections.drain()
        await withDiscardingTaskGroup { group in
            group.addTask { [context] in
                guard (try? await context.engine.clock.sleep(for: Limits.drainTime)) != nil else {
                    return
                }
                context.connections.closeAll()
            }
            await context.connections.waitUntilEmpty()
            group.cancelAll()
        }
    }

    // MARK: Set-up

    /// What each event loop has of its own.
    private struct Loop: Sendable {
        let reader: NIOLoopBoundBox<LoopReader>
        let worker: LoopWorker
    }

    private func makeLoops() async throws -> [ObjectIdentifier: Loop] {
        var loops: [ObjectIdentifier: Loop] = [:]
        for eventLoop in group.makeIterator() {
            let context = context
            let box = try await eventLoop.submit {
                let reader = try context.engine.store.makeReader()
                return NIOLoopBoundBox(LoopReader(reader, eventLoop), eventLoop: eventLoop)
            }.get()
            loops[ObjectIdentifier(eventLoop)] = Loop(
                reader: box,
                worker: LoopWorker(eventLoop, context)
            )
        }
        return loops
    }

    private func bootstrap(_ loops: [ObjectIdentifier: Loop]) -> ServerBootstrap {
        ServerBootstrap(group: group)
            // NIO listens once more on the socket, with 128 unless it is told otherwise.
            .serverChannelOption(ChannelOptions.backlog, value: Int32(SOMAXCONN))
            .childChannelOption(ChannelOptions.autoRead, value: false)
            .childChannelOption(ChannelOptions.maxMessagesPerRead, value: 2)
            .childChannelInitializer { [context] channel in
                guard let loop = loops[ObjectIdentifier(channel.eventLoop)] else {
                    return channel.close()
                }
                return Peer.of(channel).flatMap { peer in
                    guard context.connections.add(channel, uid: peer.uid) else {
                        return channel.close()
                    }
                    return channel.eventLoop.makeCompletedFuture {
                        try Self.configure(channel, context, loop, peer)
                    }
                }
            }
    }

    private static func configure(
        _ channel: any Channel,
        _ context: ServerContext,
        _ loop: Loop,
        _ peer: Peer
    ) throws {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = Limits.requestHeadBytesMax
        limits.maxHeaderListSize = Limits.requestHeadBytesMax
        limits.maxHeaderFieldCount = Limits.headerFieldsMax
        let decoder = HTTPRequestDecoder(
            leftOverBytesStrategy: .dropBytes,
            limitConfiguration: limits
        )
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(
            ByteToMessageHandler(decoder, maximumBufferSize: Limits.requestHeadBytesMax)
        )
        try pipeline.addHandler(HTTPResponseEncoder())
        try pipeline.addHandler(ConnectionHandler(context, loop.reader.value, loop.worker, peer))
    }
}
