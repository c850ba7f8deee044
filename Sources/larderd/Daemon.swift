import Glibc
import LarderAPI
import LarderConfiguration
import LarderEngine
import LarderModel
import LarderServer
import LarderStore
import LarderSystemd
import LarderUpstream
import Logging
import ServiceLifecycle
import UnixSignals

/// Wires the parts together and runs them until a signal.
struct Daemon {
    private let configuration: Configuration
    private let systemd: ServiceEnvironment
    private let logger: Logger
    private let version: String
    private let load: Reloader.Load
    /// When the configuration was read.
    private let readAt = SystemClock().now()
    private let announcer: Announcer
    private let endLimit: ShutdownDeadline

    init(
        _ configuration: Configuration,
        systemd: ServiceEnvironment,
        logger: Logger,
        version: String,
        load: @escaping Reloader.Load
    ) {
        self.configuration = configuration
        self.systemd = systemd
        self.logger = logger
        self.version = version
        self.load = load
        announcer = Announcer(notifier: systemd.notifier, logger: logger)
        endLimit = ShutdownDeadline(logger)
    }

    /// Returns after SIGTERM or SIGINT, once everything is written down; within ``Limits/endTime``
    /// the process has ended either way.
    func run() async throws {
        // Until the daemon serves, a reload waits.
        let hangUps = await UnixSignalsSequence(trapping: .sighup)
        Heap.giveBackLargeBlocks()
        try systemd.socket?.check()
        announcer.tell(.status("opens its files"))
        let clock = SystemClock()
        let store = try Store(storeConfiguration) { clock.now() }
        logger.write(store.files.takeNews())
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
            keeping: OriginStore(read: folder.read, save: folder.save, remove: folder.remove),
            clock: clock,
            random: SystemRandomNumberGenerator(),
            logger: logger,
            version: version,
            findings: configuration.warnings,
            readFile: { path throws(Problem) in
                do throws(ConfigurationFinding) {
                    return try SecretFile.line(of: path)
                } catch {
                    throw Problem(.badRequest, "file: \(error.message)")
                }
            }
        )
        let services = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services(engine, hangUps),
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        let result = await Result.catching { try await services.run() }
        endLimit.begin()
        // No SIGHUP cuts the end off.
        defer { withExtendedLifetime(hangUps) {} }
        await upstream.shutdown()
        try await store.close()
        try result.get()
        logger.info("ended")
    }

    /// User whose public URLs are fetched without an origin that names them.
    private var owner: UInt32? {
        ProcessEnvironment.isSystemService ? nil : ProcessEnvironment.uid
    }

    /// Services that run until the signal; the last one ends first.
    private func services(
        _ engine: Engine,
        _ hangUps: UnixSignalsSequence
    ) -> [ServiceGroupConfiguration.ServiceConfiguration] {
        let reloader = Reloader(
            configuration,
            load: load,
            engine: engine,
            announcer: announcer,
            logger: logger,
            status: servingStatus
        )
        var settings = serverConfiguration
        settings.reload = { await reloader.reload($0) }
        let server = Server(settings, engine: engine)
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
            .init(
                service: ReloadService(server: server, hangUps: hangUps),
                successTerminationBehavior: .ignore
            ),
            .init(
                service: CredentialFileService(reloader: reloader, engine: engine),
                successTerminationBehavior: .ignore
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
        let standing = ServerStanding(configuration, readAt: readAt)
        var server = Server.Configuration(
            path: configuration.sockets.api,
            mode: UInt32(configuration.sockets.mode),
            administrators: standing.administrators
        )
        server.told = standing.configuration
        server.readyBytes = configuration.cache.readyBytes
        server.spins = configuration.sockets.spin
        server.filesMax = FileLimit.raise()
        server.inherited = systemd.socket?.descriptor
        return server
    }

    /// Where clients find the daemon.
    private var address: String { systemd.socket?.path ?? configuration.sockets.api }

    private var servingStatus: String { "serves \(address)" }

    private func announce() {
        logger.info(
            "listening",
            metadata: .larder([.path: "\(address)", .version: "\(version)"])
        )
        announcer.tell(.ready(status: servingStatus))
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
        store.limits = StoreLimits(configuration)
        store.memoryBytes = configuration.cache.pageBytes
        store.readers = Server.readerCount
        store.uptime = SystemClock.uptime
        store.viewChange = TargetViews.change
        store.sentBases = .byValue
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
