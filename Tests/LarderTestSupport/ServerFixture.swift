import Glibc
import LarderAPI
package import LarderEngine
package import LarderModel
package import LarderServer
package import LarderStore
import LarderWire
import NIOCore
import NIOPosix
import Synchronization

/// The real server on a socket in a directory of its own, over a real store and a scripted
/// upstream.
package final class ServerFixture: Sendable {
    package let socketPath: String
    package let store: Store
    package let upstream: ScriptedUpstream
    /// Stands still until a test moves it.
    package let clock: ManualClock
    package let log = LogRecorder()
    package let engine: Engine
    package let server: Server
    /// Opened when ``Server/run(isListening:)`` has returned.
    package let ended = Gate()
    private let clients = Mutex<[RawClient]>([])

    /// Whether the servers that are made take plain reads ahead of the parser.
    @TaskLocal package static var takesPlainReads = true

    /// Serves while `body` runs, then hangs up every client, drains the server, closes the store.
    ///
    /// It has one origin, `example`, at ``baseURL``; where its objects say what they are, `rules`
    /// say how, and `adjust` changes what else is to be another. With `isOneLoop` all connections share
    /// an event loop.
    package static func run(
        maxEntryBytes: Int64 = 64 << 20,
        rules: NormalizeRules.TypeMembers? = nil,
        administrators: Administrators = .members(of: .init(name: "own", number: getgid())),
        isOneLoop: Bool = false,
        adjusting adjust: (inout OriginSettings) throws -> Void = { _ in },
        _ body: (ServerFixture) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        let temporary = try TemporaryStore(
            now: { clock.now() },
            configure: { $0.maxEntryBytes = ByteSize(bytes: maxEntryBytes) }
        )
        let loops = isOneLoop ? oneLoop : MultiThreadedEventLoopGroup.singleton
        var origin = try example(rules)
        try adjust(&origin)
        let fixture = try ServerFixture(temporary, clock, origin, administrators, loops)
        try await withThrowingTaskGroup(of: Void.self) { group in
            let listening = Gate()
            group.addTask { await fixture.engine.run() }
            group.addTask {
                defer {
                    listening.open()
                    fixture.ended.open()
                }
                try await fixture.server.run { listening.open() }
            }
            try await listening.wait()
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(fixture))
            } catch {
                result = .failure(error)
            }
            await fixture.hangUpAll()
            fixture.server.drain()
            try await fixture.ended.wait()
            fixture.engine.stop()
            try await group.waitForAll()
            try result.get()
        }
        try await temporary.close()
    }

    private static let oneLoop = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// Returns once the loop that all connections share has dealt with what was sent before.
    package static func oneLoopTurned() async throws {
        try await oneLoop.next().submit {}.get()
    }

    private init(
        _ temporary: TemporaryStore,
        _ clock: ManualClock,
        _ origin: OriginSettings,
        _ administrators: Administrators,
        _ loops: MultiThreadedEventLoopGroup
    ) throws {
        self.clock = clock
        store = temporary.store
        socketPath = temporary.directory.path("run/api.sock")
        upstream = ScriptedUpstream()
        engine = Engine(
            store: store,
            upstream: upstream,
            origins: OriginTable([KnownOrigin(origin, from: .file("larder.yaml"))]),
            keeping: OriginStore(in: temporary.directory),
            clock: clock,
            random: SeededRandom(seed: 1),
            logger: log.logger,
            version: "1.2.3"
        )
        var configuration = Server.Configuration(
            path: socketPath,
            mode: 0o660,
            administrators: administrators
        )
        configuration.takesPlainReads = Self.takesPlainReads
        configuration.reload = { _ in ReloadReport(.taken, file: nil) }
        server = Server(configuration, engine: engine, eventLoopGroup: loops)
    }

    private static func example(_ rules: NormalizeRules.TypeMembers?) throws -> OriginSettings {
        var settings = OriginSettings(name: try OriginName("example"), baseURL: try url(""))
        settings.normalize = rules.map { NormalizeRules(byType: $0) }
        return settings
    }

    /// An entity of it.
    package func entity(_ key: String) throws -> LarderModel.EntityName {
        EntityName(try EntityKey(key), of: try OriginName("example"))
    }

    package static let baseURL = "https://api.example.com"

    package static func url(_ path: String) throws -> WebURL {
        try WebURL(baseURL + path)
    }

    /// The scope of this process' clients.
    package var scope: ScopeKey {
        store.key(for: .own(uid: getuid(), account: .default))
    }

    /// A new connection, hung up at the end.
    package func connect() async throws -> RawClient {
        let client = try await RawClient(socketPath)
        clients.withLock { $0.append(client) }
        return client
    }

    private func hangUpAll() async {
        for client in clients.withLock({ $0 }) { await client.hangUp() }
    }
}
