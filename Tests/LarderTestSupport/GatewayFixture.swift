import Glibc
package import LarderEngine
package import LarderModel
import LarderServer
package import LarderStore
import LarderUpstream
import NIOPosix
import Synchronization

/// The daemon's parts as they work together: the real server on a socket, over a real store and the
/// real upstream, to a real origin on loopback whose answers a test scripts; with the system's
/// clock.
package final class GatewayFixture: Sendable {
    package let socketPath: String
    package let store: Store
    package let origin: OriginServer
    package let engine: Engine
    private let server: Server
    private let upstream: HTTPUpstream
    private let ended = Gate()
    private let clients = Mutex<[RawClient]>([])

    /// What a test may set.
    package struct Setup {
        package var fetch = FetchSettings()
        package var maxEntryBytes: Int64 = 64 << 20
        /// How long an origin's body may be silent.
        package var readTime = Duration.seconds(30)
        package var stallTime: Duration?
        /// What else the origin's settings say.
        package var adjust: (inout OriginSettings) throws -> Void = { _ in }

        package init() {
            // A busy machine may take longer than the defaults.
            (fetch.connectTimeout, fetch.networkWait) = (.seconds(60), .seconds(60))
        }
    }

    /// The name of the one origin.
    package static let name = "origin"

    /// Serves while `body` runs, then takes everything down in order.
    package static func run(
        _ setup: Setup = Setup(),
        _ body: (GatewayFixture) async throws -> Void
    ) async throws {
        let clock = SystemClock()
        let temporary = try TemporaryStore(
            now: { clock.now() },
            configure: { $0.maxEntryBytes = ByteSize(bytes: setup.maxEntryBytes) }
        )
        let origin = try await OriginServer.start(reportingStallsAfter: setup.stallTime)
        let fixture = try GatewayFixture(temporary, origin, setup, clock)
        let result = await fixture.serve(body)
        await fixture.upstream.shutdown()
        await origin.stop()
        try await temporary.close()
        try result.get()
    }

    private init(
        _ temporary: TemporaryStore,
        _ origin: OriginServer,
        _ setup: Setup,
        _ clock: SystemClock
    ) throws {
        self.origin = origin
        store = temporary.store
        socketPath = temporary.directory.path("run/api.sock")
        upstream = HTTPUpstream(
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            userAgent: "larderd/test",
            readTime: setup.readTime
        )
        var settings = OriginSettings(
            name: try OriginName(Self.name),
            baseURL: try origin.url("/base")
        )
        settings.allowPrivate = true
        settings.fetch = setup.fetch
        try setup.adjust(&settings)
        engine = Engine(
            store: store,
            upstream: upstream,
            origins: OriginTable([settings]),
            keeping: OriginStore(in: temporary.directory),
            clock: clock,
            random: SeededRandom(seed: 1),
            logger: LogRecorder().logger,
            version: "1.2.3"
        )
        server = Server(
            Server.Configuration(
                path: socketPath,
                mode: 0o660,
                administrators: .members(of: .init(name: "own", number: getgid()))
            ),
            engine: engine,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton
        )
    }

    private func serve(
        _ body: (GatewayFixture) async throws -> Void
    ) async -> Result<Void, any Error> {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                let listening = Gate()
                group.addTask { await self.engine.run() }
                group.addTask {
                    defer {
                        listening.open()
                        self.ended.open()
                    }
                    try await self.server.run { listening.open() }
                }
                try await listening.wait()
                let result: Result<Void, any Error>
                do {
                    result = .success(try await body(self))
                } catch {
                    result = .failure(error)
                }
                for client in clients.withLock({ $0 }) { await client.hangUp() }
                server.drain()
                try await ended.wait()
                engine.stop()
                try await group.waitForAll()
                try result.get()
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// The origin's URL of a path below its base URL.
    package func url(_ path: String) throws -> WebURL {
        try origin.url("/base" + path)
    }

    /// Answers the next requests for a path below the base URL in this order; the last answer stays.
    package func answer(_ path: String, with answers: OriginAnswer...) {
        origin.answer("/base" + path, with: answers)
    }

    /// A new connection, hung up at the end.
    package func connect() async throws -> RawClient {
        let client = try await RawClient(socketPath)
        clients.withLock { $0.append(client) }
        return client
    }

    /// The raw route of a path below the base URL.
    package func raw(
        _ path: String,
        _ headers: [String] = [],
        method: String = "GET"
    ) async throws -> RawResponse {
        try await connect().ask(method, "/o/\(Self.name)\(path)", headers)
    }
}
