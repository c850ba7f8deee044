package import LarderAPI
package import LarderEngine
package import LarderModel
import LarderStore
import Logging
package import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// HTTP/1.1 on a Unix socket to one engine.
package final class Server: Sendable {
    /// How many readers of the store it makes: each event loop has one for its inline answers and
    /// one for the longer ones.
    package static var readerCount: Int { 2 * loopCount }

    /// Number of event loops that serves best.
    ///
    /// On two processors, a second loop takes processor time from the clients, and finds fewer
    /// requests at a time.
    private static var loopCount: Int { System.coreCount > 2 ? System.coreCount : 1 }

    /// Event loops of the process for clients; requests to origins use other loops.
    package static let eventLoops: any EventLoopGroup = MultiThreadedEventLoopGroup(
        numberOfThreads: loopCount
    )

    /// Reads the configuration again, and calls `take` with the new settings if nothing failed.
    package typealias Reload =
        @Sendable (_ take: @escaping @Sendable (ServerStanding) -> Void) async -> ReloadReport

    /// Where it listens, and who may do more than others.
    package struct Configuration: Sendable {
        package var path: String
        package var mode: UInt32
        /// Settings until a reload replaces them.
        package var standing: ServerStanding
        /// A listening socket of the process that started the daemon; replaces one at `path`.
        package var inherited: Int32?
        /// Memory for answers that are ready to be sent, over all event loops.
        package var readyBytes = ByteSize(bytes: 8 << 20)
        /// Whether plain reads are answered ahead of the parser; what is answered is the same.
        package var takesPlainReads = true
        /// How many files the process may have open, which bounds the connections.
        package var filesMax = Int.max
        /// Function that reads the configuration again.
        package var reload: Reload?
        /// Whether a loop stays awake for a moment after a hit of its only client.
        package var spins = false

        package init(path: String, mode: UInt32, administrators: Administrators) {
            self.path = path
            self.mode = mode
            standing = ServerStanding(administrators: administrators)
        }

        /// Throws if another process listens at `path`: call this before the store is opened.
        ///
        /// If that process is systemd, the check makes it start its own daemon, which needs the
        /// store that this one would hold.
        package func checkSocket() throws(ServerError) {
            if inherited == nil { try SocketFile.check(path) }
        }
    }

    private let configuration: Configuration
    let context: ServerContext
    private let group: any EventLoopGroup
    private let stopping: AsyncStream<Void>
    private let stop: AsyncStream<Void>.Continuation

    package init(
        _ configuration: Configuration,
        engine: Engine,
        eventLoopGroup: any EventLoopGroup = Server.eventLoops
    ) {
        self.configuration = configuration
        context = ServerContext(configuration, engine: engine)
        group = eventLoopGroup
        (stopping, stop) = AsyncStream.makeStream()
    }

    /// Serves until ``drain()``; then takes no more, lets what runs come to its end within
    /// ``Limits/drainTime``, and returns.
    ///
    /// `isListening` is called once the socket takes clients.
    package func run(isListening: () -> Void = {}) async throws {
        let loops = try await makeLoops()
        let first = try await listen(on: try ListeningSocket(configuration), loops)
        isListening()
        await withDiscardingTaskGroup { group in
            for loop in loops.values {
                group.addTask(executorPreference: loop.worker.executor) {
                    await loop.worker.jobs.run(cancellingTheRest: false)
                }
            }
            let last = await withTaskGroup(of: Listener.self) { keeper in
                keeper.addTask { await self.keepOpen(first, loops) }
                for await _ in stopping { break }
                keeper.cancelAll()
                return await keeper.next() ?? first
            }
            await last.close()
            last.socket.remove()
            // The kernel has given connections to this process that a loop has yet to set up.
            for loop in loops.values { _ = try? await loop.loop.eventLoop.submit {}.get() }
            await drainConnections()
            for loop in loops.values {
                loop.worker.jobs.finish()
                loop.pipe?.close(promise: nil)
            }
        }
    }

    /// Has the configuration read again, as `POST /v1/reload` does.
    package func reload() async {
        _ = await context.reload()
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

    private typealias Loops = [ObjectIdentifier: LoopPlace]

    /// Parts of an event loop that code outside of the loop uses.
    private struct LoopPlace {
        let loop: NIOLoopBoundBox<ServerLoop>
        /// That of its ``LoopSpin``.
        let pipe: (any Channel)?
        let worker: LoopWorker
    }

    private func makeLoops() async throws -> Loops {
        var loops = Loops()
        let eventLoops = Array(group.makeIterator())
        let readyBytesMax = Int(configuration.readyBytes.bytes) / eventLoops.count
        for eventLoop in eventLoops {
            let context = context
            let worker = LoopWorker(eventLoop, context)
            let loop = try await eventLoop.submit {
                let loop = ServerLoop(
                    reader: LoopReader(try context.engine.store.makeReader(), eventLoop),
                    worker: worker,
                    ready: ResponseCache(bytesMax: readyBytesMax),
                    meter: context.meters.makeMeter(eventLoop),
                    spin: LoopSpin()
                )
                return NIOLoopBoundBox(loop, eventLoop: eventLoop)
            }.get()
            loops[ObjectIdentifier(eventLoop)] = LoopPlace(
                loop: loop,
                pipe: configuration.spins ? try await LoopSpin.open(loop, on: eventLoop) : nil,
                worker: worker
            )
        }
        return loops
    }

    private func listen(on socket: ListeningSocket, _ loops: Loops) async throws -> Listener {
        let channel = try await bootstrap(loops, socket.descriptor)
            .withBoundSocket(socket.descriptor).get()
        try socket.lengthenQueue()
        return Listener(socket: socket, channel: channel)
    }

    /// Looks from time to time whether clients still find the socket, and makes its file again where
    /// it was removed; returns the listener that is open at the end.
    private func keepOpen(_ first: Listener, _ loops: Loops) async -> Listener {
        var listener = first
        var isTold = false
        while (try? await context.engine.clock.sleep(for: Limits.socketCheckTime)) != nil {
            switch listener.socket.fault {
            case .none: isTold = false
            case .inherited(let path)?:
                if !isTold { note("the socket's file is gone", path, "restart the socket unit") }
                isTold = true
            case .replaced(let path)?:
                if !isTold { note("the socket's file was replaced", path, "end this larderd") }
                isTold = true
            case .own(let file)?:
                do {
                    let socket = ListeningSocket.own(try file.madeAgain())
                    let new = try await listen(on: socket, loops)
                    await listener.close()
                    listener = new
                    note("the socket's file was gone and is there again", file.path, nil)
                } catch {
                    if !isTold { note("the socket's file is gone", file.path, "\(error)") }
                    isTold = true
                }
            }
        }
        return listener
    }

    private func note(_ event: Logger.Message, _ path: String, _ reason: String?) {
        context.engine.logger.warning(
            event,
            metadata: .larder([.path: "\(path)", .reason: "\(reason ?? "it was removed")"])
        )
    }

    private func bootstrap(_ loops: Loops, _ descriptor: Int32) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelInitializer { [logger = context.engine.logger] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptGuard(listener: descriptor, logger: logger)
                    )
                }
            }
            .childChannelOption(ChannelOptions.autoRead, value: false)
            .childChannelOption(ChannelOptions.maxMessagesPerRead, value: 2)
            .childChannelOption(ChannelOptions.allowRemoteHalfClosure, value: true)
            .childChannelOption(
                ChannelOptions.writeBufferWaterMark,
                value: .init(low: Limits.unsentBytesMax / 2, high: Limits.unsentBytesMax)
            )
            .childChannelInitializer { [context] channel in
                guard let place = loops[ObjectIdentifier(channel.eventLoop)] else {
                    return channel.close()
                }
                return Peer.of(channel).flatMap { peer in
                    guard context.connections.add(channel, uid: peer.uid) else {
                        Self.refuse(channel, context)
                        return channel.close()
                    }
                    return channel.eventLoop.makeCompletedFuture {
                        try Self.configure(channel, context, place.loop.value, peer)
                    }
                }
            }
    }

    /// Tells a client that there are too many connections, and the log now and then.
    private static func refuse(_ channel: any Channel, _ context: ServerContext) {
        guard !context.connections.isDraining else { return }
        try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { ConnectionRefusal.tooMany.send(to: $0) }
        guard let count = context.connections.takeRefusals(now: channel.eventLoop.now) else {
            return
        }
        context.engine.logger.warning(
            "there are too many connections, clients are refused",
            metadata: .larder([.count: "\(count)"])
        )
    }

    private static func configure(
        _ channel: any Channel,
        _ context: ServerContext,
        _ loop: ServerLoop,
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
        let lines = RequestLines()
        try pipeline.addHandler(lines)
        try pipeline.addHandler(
            ByteToMessageHandler(decoder, maximumBufferSize: Limits.requestHeadBytesMax)
        )
        try pipeline.addHandler(HTTPResponseEncoder())
        try pipeline.addHandler(ConnectionHandler(context, loop, peer, lines))
    }
}

final class ServerContext: Sendable {
    let engine: Engine
    private let standing: Mutex<ServerStanding>
    /// Nil where the configuration cannot be read again.
    private let reloadConfiguration: Server.Reload?
    let takesPlainReads: Bool
    let connections: ConnectionList
    /// Places for bodies that are still coming.
    let uploads = UserQuota(max: Limits.uploadsMax, each: Limits.uploadsPerUserMax)
    /// Bytes of bodies and answers that are held as a whole.
    let memory = UserQuota(max: Limits.heldBytesMax, each: Limits.heldBytesPerUserMax)
    let meters = LoopMeters()
    /// Sets request ids of this run apart from those of others.
    private let run: String
    // Relaxed: each number is only ever taken once, and orders nothing.
    private let requests = Atomic<Int64>(0)

    init(_ configuration: Server.Configuration, engine: Engine) {
        connections = ConnectionList(
            connectionsMax: Limits.connectionsMax(files: configuration.filesMax),
            perUserMax: Limits.connectionsPerUserMax(files: configuration.filesMax)
        )
        standing = Mutex(configuration.standing)
        reloadConfiguration = configuration.reload
        takesPlainReads = configuration.takesPlainReads
        self.engine = engine
        run = String(engine.clock.now().milliseconds, radix: 36)
    }

    var administrators: Administrators { standing.withLock { $0.administrators } }

    var configuration: ConfigurationStatus? { standing.withLock { $0.configuration } }

    /// Has the configuration read again; nil where it cannot be.
    func reload() async -> ReloadReport? {
        await reloadConfiguration? { [self] new in standing.withLock { $0 = new } }
    }

    /// Gives a problem a request id of its own, which the log has for a fault of the daemon.
    func named(_ problem: Problem) -> Problem {
        var problem = problem
        problem.requestID = "\(run)-\(requests.wrappingAdd(1, ordering: .relaxed).newValue)"
        if problem.kind == .internal {
            let fields: [LogKey: Logger.MetadataValue] = [
                .requestID: "\(problem.requestID)", .reason: "\(problem.detail)",
            ]
            engine.logger.error("a request failed", metadata: .larder(fields))
        }
        return problem
    }
}

/// Settings of a server that come from the configuration in force.
package struct ServerStanding: Sendable {
    package var administrators: Administrators
    /// Configuration that status reports.
    package var configuration: ConfigurationStatus?

    package init(
        administrators: Administrators,
        configuration: ConfigurationStatus? = nil
    ) {
        self.administrators = administrators
        self.configuration = configuration
    }
}

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias Timestamp = LarderModel.Timestamp
