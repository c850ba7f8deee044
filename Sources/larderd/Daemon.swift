import LarderConfiguration
import LarderEngine
import LarderModel
import LarderServer
import LarderStore
import LarderUpstream
import Logging
import ServiceLifecycle
import UnixSignals

/// Wires the parts together and runs them until a signal.
struct Daemon {
    private let configuration: Configuration
    private let logger: Logger
    private let version: String

    init(_ configuration: Configuration, logger: Logger, version: String) {
        self.configuration = configuration
        self.logger = logger
        self.version = version
    }

    /// Returns after SIGTERM or SIGINT, once everything is written down.
    func run() async throws {
        FileLimit.raise()
        let clock = SystemClock()
        let store = try CacheStore(storeConfiguration) { clock.now() }
        for finding in store.findings {
            logger.warning("a file was made anew", metadata: .larder([.reason: "\(finding)"]))
        }
        let upstream = HTTPUpstream(userAgent: "larderd/\(version)")
        let engine = Engine(
            store: store,
            upstream: upstream,
            origins: configuration.origins,
            clock: clock,
            random: SystemRandomNumberGenerator(),
            logger: logger,
            version: version,
            maxBytes: configuration.cache.maxBytes
        )
        let server = Server(
            Server.Configuration(
                path: configuration.sockets.api,
                mode: UInt32(configuration.sockets.mode)
            ),
            engine: engine
        )
        let services = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: EngineService(engine: engine),
                        successTerminationBehavior: .ignore
                    ),
                    .init(
                        service: ServerService(server: server, listening: announce),
                        successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup
                    ),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        let result = await Result.catching { try await services.run() }
        await upstream.shutdown()
        try await store.close()
        try result.get()
        logger.info("ended")
    }

    private func announce() {
        logger.info(
            "listening",
            metadata: .larder([.path: "\(configuration.sockets.api)", .version: "\(version)"])
        )
    }

    private var storeConfiguration: StoreConfiguration {
        var store = StoreConfiguration(
            cacheDirectory: configuration.storage.cacheDirectory,
            stateDirectory: configuration.storage.stateDirectory
        )
        store.maxBytes = configuration.cache.maxBytes
        store.maxEntryBytes = configuration.cache.maxEntryBytes
        store.lowWatermark = configuration.cache.lowWatermark
        store.minFreeBytes = configuration.cache.minFreeBytes
        store.memoryBytes = configuration.cache.memoryBytes
        store.readers = Server.readerCount
        return store
    }
}

extension Result where Failure == any Error {
    fileprivate static func catching(_ body: () async throws -> Success) async -> Result {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
