import Glibc
import LarderConfiguration
import LarderEngine
import LarderModel
import LarderServer
import LarderStore
import LarderSystemd
import LarderUpstream
import LarderWire
import Logging
import ServiceLifecycle
import UnixSignals

/// Wires the parts together and runs them until a signal.
struct Daemon {
    private let configuration: Configuration
    private let systemd: ServiceEnvironment
    private let logger: Logger
    private let version: String
    /// When the configuration was read.
    private let readAt = SystemClock().now()
    private let announcer: Announcer
    private let endLimit: EndLimit

    init(
        _ configuration: Configuration,
        systemd: ServiceEnvironment,
        logger: Logger,
        version: String
    ) {
        self.configuration = configuration
        self.systemd = systemd
        self.logger = logger
        self.version = version
        announcer = Announcer(notifier: systemd.notifier, logger: logger)
        endLimit = EndLimit(logger)
    }

    /// Returns after SIGTERM or SIGINT, once everything is written down; within ``Limits/endTime``
    /// the process has ended either way.
    func run() async throws {
        Heap.giveBackLargeBlocks()
        try systemd.socket?.check()
        announcer.tell(.status("opens its files"))
        let clock = SystemClock()
        let store = try CacheStore(storeConfiguration) { clock.now() }
        for sentence in store.files.takeNews() {
            logger.warning("the files", metadata: .larder([.reason: "\(sentence)"]))
        }
        for notice in store.notices {
            logger.notice("a file was migrated", metadata: .larder([.reason: "\(notice)"]))
        }
        for warning in configuration.warnings {
            logger.warning("the configuration", metadata: .larder([.reason: "\(warning)"]))
        }
        let folder = OriginFolder(
            inStateDirectory: configuration.storage.stateDirectory,
            checkTLS: TLSMaterial.fault
        )
        let upstream = HTTPUpstream(userAgent: "larderd/\(version)")
        let engine = Engine(
            store: store,
            upstream: upstream,
            origins: OriginTable(configuration.knownOrigins, owner: owner),
            keeping: OriginKeeping(read: folder.read, save: folder.save, remove: folder.remove),
            clock: clock,
            random: SystemRandomNumberGenerator(),
            logger: logger,
            version: version,
            maxBytes: configuration.cache.maxBytes,
            findings: configuration.warnings
        )
        let services = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services(engine),
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        let result = await Result.catching { try await services.run() }
        endLimit.begin()
        await upstream.shutdown()
        try await store.close()
        try result.get()
        logger.info("ended")
    }

    private var administrators: Administrators {
        let name = configuration.access.adminGroup
        return Administrators(
            daemonUID: geteuid(),
            group: .init(name: name, number: GroupLookup.number(of: name))
        )
    }

    /// Whose public URLs are fetched without an origin that names them.
    private var owner: UInt32? {
        Surroundings.isSystemService ? nil : Surroundings.uid
    }

    /// What runs until the signal; the last one ends first.
    private func services(_ engine: Engine) -> [ServiceGroupConfiguration.ServiceConfiguration] {
        let server = Server(serverConfiguration, engine: engine)
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = [
            .init(
                service: EngineService(engine: engine),
                successTerminationBehavior: .ignore
            ),
            .init(
                service: ServerService(server: server, listening: announce, ending: announceEnd),
                successTerminationBehavior: .gracefullyShutdownGroup,
                failureTerminationBehavior: .gracefullyShutdownGroup
            ),
        ]
        if let watchdog = systemd.watchdog {
            let feeder = WatchdogService(
                watchdog: watchdog,
                engine: engine,
                announcer: announcer,
                logger: logger
            )
            services.insert(.init(service: feeder, successTerminationBehavior: .ignore), at: 0)
        }
        return services
    }

    private var serverConfiguration: Server.Configuration {
        var server = Server.Configuration(
            path: configuration.sockets.api,
            mode: UInt32(configuration.sockets.mode),
            administrators: administrators
        )
        server.told = StatusReport.Configuration(
            file: configuration.file.map(Surroundings.absolutePath),
            readAt: readAt,
            socketMode: configuration.sockets.mode
        )
        server.readyBytes = configuration.cache.readyBytes
        server.spins = configuration.sockets.spin
        server.filesMax = FileLimit.raise()
        server.inherited = systemd.socket?.descriptor
        return server
    }

    /// Where clients find the daemon.
    private var address: String { systemd.socket?.path ?? configuration.sockets.api }

    private func announce() {
        logger.info(
            "listening",
            metadata: .larder([.path: "\(address)", .version: "\(version)"])
        )
        announcer.tell(.ready(status: "serves \(address)"))
    }

    private func announceEnd() {
        endLimit.begin()
        announcer.tell(.stopping(status: "lets what runs come to its end"))
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
        store.memoryBytes = configuration.cache.pageBytes
        store.pinsMaxBytes = configuration.pins.maxBytes
        store.queue.maxModifiers = Int64(configuration.queue.maxModifiers)
        store.queue.maxBytes = configuration.queue.maxBytes.bytes
        store.queue.history = Int64(configuration.queue.history)
        store.queue.userShare = configuration.access.userShare
        store.readers = Server.readerCount
        store.viewChange = TargetViews.change
        store.snapshotAge = Limits.snapshotAge
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
